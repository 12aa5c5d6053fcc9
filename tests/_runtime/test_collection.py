"""Garbage collection: rarer for a while, as far as new objects go."""

import gc

from robustirl._runtime.collection import RARELY, collect_rarely


def test_only_the_number_of_new_objects_changes_and_only_for_a_while():
    before = gc.get_threshold()
    gc.set_threshold(700, 11, 12)
    try:
        with collect_rarely(5000):
            assert gc.get_threshold() == (5000, 11, 12)
        assert gc.get_threshold() == (700, 11, 12)
        with collect_rarely():
            assert gc.get_threshold() == (RARELY, 11, 12)
    finally:
        gc.set_threshold(*before)
