"""What all tests share: double precision, Hypothesis profiles, and the manners of an error message."""

import contextlib
import os
import signal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # Tests run side by side; see robustirl._runtime.threads.
# A script in the background ignores Ctrl-C, and so would the commands that tests start there and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

import hypothesis
import pytest

import robustirl
from robustirl._runtime import use_compilation_cache
from robustirl.errors import InvalidInputError

robustirl.enable_x64()
# Workers and the commands that tests start share what one of them has compiled, and the next session finds it.
use_compilation_cache()

# The default draws the same examples every time; `pytest --hypothesis-profile=explore` looks for new ones.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=300, print_blob=True)
# For torture/mutants.py: the examples of the default, without the search for a simpler one that fails as well.
hypothesis.settings.register_profile(
    "mutants",
    parent=hypothesis.settings.get_profile("default"),
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
)
hypothesis.settings.load_profile("default")


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
