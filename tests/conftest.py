"""What all tests share: precision, Hypothesis profiles, and the form of an error message.

Tests run with the defaults of JAX, as a user does. Files that import jax.numpy compute expected values with it, and
they do so in double precision.
"""

import contextlib
import functools
import gc
import importlib.metadata
import os
import pathlib
import signal
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # Tests run side by side, and its threads wait actively.
# A script in the background ignores Ctrl-C, and so would the commands that tests start there and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Where Python keeps no bytecode, every command that a test starts would compile the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Nearly all time of the fast suite is compilation, and its programs run for milliseconds: compile them without
# optimization, by the shortest way, here and in the commands that tests start. `make test-all` uses the defaults.
QUICK_COMPILATION = "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
if importlib.metadata.version("jaxlib").startswith("0.10."):  # Gone in 0.11, and an unknown flag ends the process.
    QUICK_COMPILATION += " --xla_cpu_use_fusion_emitters=false"
os.environ.setdefault("XLA_FLAGS", QUICK_COMPILATION)

import hypothesis
import jax
import jaxtyping
import pytest

from robustirl._jax import enable_cache
from robustirl.errors import InvalidInputError

# Workers and the commands that tests start share what one of them has compiled, and the next session finds it.
enable_cache()
gc.set_threshold(100_000, 50, 100)  # Walking through all objects of JAX every so often takes a tenth of the time.

# The default and `thorough` (`make test-all`) draw the same examples every time; `pytest --hypothesis-profile=explore`
# looks for new ones.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True, max_examples=10)
hypothesis.settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=300, print_blob=True)
hypothesis.settings.load_profile("default")


@functools.cache
def computes_with_jax(path: pathlib.Path) -> bool:
    """Return whether a test file computes with jax.numpy itself."""
    return "jax.numpy" in path.read_text()


@functools.cache
def has_stand_ins(path: pathlib.Path) -> bool:
    """Return whether a test file has stand-ins, which are not of the types that they stand for."""
    return "SimpleNamespace" in path.read_text()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Look for examples in the package alone: to look through all tests for some takes every worker half a second."""
    return [one for one in (yield) if type(one).__name__ != "DoctestModule"]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Import such files in double precision, for the arrays that they make at their top."""
    if isinstance(collector, pytest.Module) and computes_with_jax(collector.path):
        with jax.enable_x64(True):
            return (yield)
    return (yield)


@pytest.fixture(scope="module", autouse=True)
def precision(request):
    """Run the tests of such files in double precision."""
    with jax.enable_x64(computes_with_jax(request.path)):  # Whatever an earlier test may have left behind.
        yield


@contextlib.contextmanager
def types_not_checked():
    """Switch the run-time type checker of `make test-all` off."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def mistyped():
    """Check no types during a test that gives values of wrong types on purpose, for the sentences that refuse them."""
    with types_not_checked():
        yield


@pytest.fixture(scope="module", autouse=True)
def stand_ins(request):
    """Check no types in files with stand-ins."""
    with types_not_checked() if has_stand_ins(request.path) else contextlib.nullcontext():
        yield


MANY_MAPS = 35_000  # Of the 65,530 memory maps that Linux gives a process; every compiled program takes some hundred.


@pytest.fixture(scope="module", autouse=True)
def few_programs():
    """Release compiled programs after a module once there are many: a process without free maps is killed."""
    yield
    maps = pathlib.Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > MANY_MAPS:
        jax.clear_caches()


@pytest.fixture
def refused():
    """A context in which an InvalidInputError must be raised that names the culprit in one plain sentence."""

    @contextlib.contextmanager
    def context(*culprits):
        with pytest.raises(InvalidInputError) as caught:
            yield
        message = str(caught.value)
        for culprit in culprits:
            assert culprit in message
        assert "\n" not in message
        assert message.endswith(".")

    return context


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of the test's own, which it stands in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
