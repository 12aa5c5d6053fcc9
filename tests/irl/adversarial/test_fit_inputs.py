# pyright: reportArgumentType=false
"""What robust imitation takes as demonstrations, and what it refuses."""

import jax
import numpy as np
import pytest

from robustirl.control import Episodes, PPOConfig
from robustirl.demonstrations import Demonstrations, Recordings, as_recordings
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from robustirl.irl import RobustImitation, clone_behavior, fit_imitation

KEY = jax.random.key(0)
WALK = np.arange(6.0).reshape(3, 2)


@pytest.mark.usefixtures("mistyped")
def test_demonstrations_are_taken_as_they_are_at_hand(tmp_path):
    whole = Recordings.from_arrays([WALK, WALK + 1])
    assert as_recordings(whole) is whole
    whole.save(tmp_path / "seen.npz")
    found = [as_recordings(x) for x in ([WALK, WALK + 1], np.stack([WALK, WALK + 1]), str(tmp_path / "seen.npz"))]
    for one in found:
        np.testing.assert_array_equal(np.concatenate(one.observations), np.concatenate(whole.observations))
    seen, done = np.zeros((5, 2, 3)), np.zeros((4, 2, 1))
    sampled = Episodes(seen, seen, done, done, np.ones((4, 2), bool), np.ones((4, 2), bool), np.zeros(2, bool))
    assert repr(as_recordings(sampled)) == "Recordings(2 episodes, 8 steps of 3 numbers, with actions)"
    with pytest.raises(
        InvalidInputError, match="the demonstrations are of the type ndarray, but Recordings are needed; give Re"
    ):
        as_recordings(WALK)
    with pytest.raises(InvalidInputError, match=r"they are numbered states, for robustirl\.RobustIRL"):
        as_recordings(Demonstrations.from_arrays([[0, 1, 2]]))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"seed": -1}, "seed is -1, but a whole number of at least 0"),
        ({"seed": 1.5}, "seed is 1.5, but a whole number"),
        ({"alpha": "auto"}, "alpha is 'auto', but a number above 0 and up to 1 is needed; states alone"),
        ({"alpha": True}, "alpha is True, but a number above 0"),
        ({"attempts": 0}, "attempts is 0"),
        ({"config": PPOConfig()}, "but an ImitationConfig is needed"),
    ],
)
@pytest.mark.usefixtures("mistyped")
def test_parameters_are_looked_at_before_anything_is_trained(given, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        RobustImitation(**given).fit(physics.make("pendulum"), [np.zeros((9, 3))] * 2)


@pytest.mark.usefixtures("mistyped")
def test_what_a_fit_cannot_use_is_refused():
    world, seen = physics.make("pendulum"), [np.zeros((9, 3))]
    with pytest.raises(InvalidInputError, match="the demonstrations have 2 numbers an observation, but the world sh"):
        fit_imitation(world, [WALK], key=KEY)
    with pytest.raises(InvalidInputError, match="key is 0, but a key of JAX"):
        fit_imitation(world, seen, key=0)
    with pytest.raises(InvalidInputError, match=r"callbacks is .*print.*, but a list of functions is needed"):
        fit_imitation(world, seen, callbacks=print, key=KEY)
    with pytest.raises(InvalidInputError, match="world 1 is of another kind"):
        fit_imitation([world, physics.make("cart-pole")], seen, key=KEY)
    with pytest.raises(InvalidInputError, match="the demonstrations have no actions"):
        clone_behavior(seen, key=KEY)
    with pytest.raises(InvalidInputError, match="learning_rate is -1"):
        clone_behavior(Recordings.from_arrays([WALK], [WALK[:2]]), learning_rate=-1, key=KEY)
