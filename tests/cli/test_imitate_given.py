"""What `robustirl imitate` makes of words and numbers it is given."""

import numpy as np

from robustirl.cli.imitate import _last_return, _parameters


def test_experts_are_compared_by_the_end_of_their_training():
    assert _last_return([9.0] * 5 + [1.0] * 19 + [21.0]) == 2.0  # The last twenty.
    assert _last_return([9.0] * 5 + [np.nan] * 20) == -np.inf
    assert _last_return([np.nan, 4.0]) == 4.0


def test_parameters_are_names_and_numbers(refused):
    assert _parameters("--physics", ("mass=0.2", "length=-1e3")) == {"mass": 0.2, "length": -1000.0}
    for word in ("mass", "mass=x", "=1", "self=1", "discount=0.5"):
        with refused(f"--physics has {word!r}, but name=number is needed"):
            _parameters("--physics", (word,))
