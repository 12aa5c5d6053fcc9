"""Threads: LAPACK has one while small worlds are solved, and what it had before afterwards, whoever ends last."""

import threading

import threadpoolctl

from robustirl._runtime import single_threaded_blas


def limits():
    return {entry["num_threads"] for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas"}


def test_fits_that_overlap_leave_the_threads_as_they_were():
    with single_threaded_blas(10):
        pass  # Whatever is loaded by the first call is loaded now.
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = limits()
        inside, go_on = threading.Event(), threading.Event()

        def first():
            with single_threaded_blas(10):
                inside.set()
                go_on.wait(30)

        thread = threading.Thread(target=first)
        thread.start()
        inside.wait(30)
        with single_threaded_blas(10):  # Begins second, and ends last.
            go_on.set()
            thread.join()
            assert limits() == {1}
        assert limits() == before


def test_large_worlds_keep_all_threads():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = limits()
        with single_threaded_blas(10**6):
            assert limits() == before
