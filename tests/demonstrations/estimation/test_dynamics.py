"""The expert's world from recorded actions: the posterior by hand, and the kind of mismatch where it is known."""

import jax
import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, describe_mismatch, estimate_dynamics, sample_demonstrations
from robustirl.mdp import MDP, uniform_policy

CLEAR = np.array([[[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]]] * 3)
NOISY = 0.6 * CLEAR + 0.4 / 3
WINDY = 0.7 * CLEAR + 0.3 * np.eye(3)[[2, 0, 1]][:, None]  # From every state a wind of its own.


SAID = {
    "none": "no mismatch",
    "noisier": "which an opponent explains",
    "calmer": "an opponent is the wrong tool",
    "drift": "the expert's world drifts",
    "relabeled": "of the moves use an action that has the outcomes of another one",
}


def walks_in(rows, episodes=100):
    world = MDP(rows, discount=0.9)
    return sample_demonstrations(
        world, uniform_policy(world.mask), episodes=episodes, horizon=30, key=jax.random.key(0)
    )


def test_the_posterior_mean_of_a_row():
    world = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.9)
    walks = Demonstrations.from_arrays([[0, 1], [0, 1], [0, 0]], [[0], [0], [0]])
    found = estimate_dynamics(world, walks, strength=2.0)
    # Three moves out of state 0, two of them to state 1; the prior adds one to either. State 1 keeps its prior.
    assert found.world.kernel.to_array()[:, 0].tolist() == [pytest.approx([2 / 5, 3 / 5]), pytest.approx([0.5, 0.5])]
    assert found.visits.tolist() == [[3.0], [0.0]]
    assert found.deviation[0, 0, 0] == pytest.approx(np.sqrt(0.4 * 0.6 / 6))
    assert found.kind == "none"


@pytest.mark.parametrize(
    ("learner", "expert", "kind"),
    [
        (CLEAR, CLEAR, "none"),
        (CLEAR, NOISY, "noisier"),
        (NOISY, CLEAR, "calmer"),
        (CLEAR, WINDY, "drift"),
        (CLEAR, CLEAR[:, [1, 2, 0]], "relabeled"),
        (CLEAR, NOISY[:, [1, 0, 2]], "relabeled"),
    ],
)
def test_the_kind_of_mismatch_and_the_world_are_found(learner, expert, kind):
    found = estimate_dynamics(MDP(learner, discount=0.9), walks_in(expert))
    assert found.kind == kind
    assert SAID[kind] in found.note
    assert np.abs(np.asarray(found.world.kernel.to_array()) - expert).max() < 0.1
    if kind == "relabeled":
        assert (found.relabel == found.relabel[0]).all()
        assert found.relabel[0].tolist() == ([1, 2, 0] if expert.max() == 0.9 else [1, 0, 2])


def test_states_that_are_never_left_stay_so_and_unseen_pairs_follow_the_names():
    rows = np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]] * 2])
    # In state 0 the expert's actions are swapped; state 1 was never left by action 0.
    walks = Demonstrations.from_arrays([[0, 0, 0, 0, 1, 2]] * 10, [[0, 0, 0, 1, 1]] * 10, terminated=True)
    found = estimate_dynamics(MDP(rows, discount=0.9), walks)
    assert found.relabel[0].tolist() == [1, 0]
    assert found.relabel[1, 0] == 1
    assert found.world.kernel.to_array()[2].tolist() == rows[2].tolist()


def test_what_cannot_be_estimated_is_refused(refused):
    world = MDP(CLEAR, discount=0.9)
    with refused("cannot be estimated from states alone; record the actions too"):
        estimate_dynamics(world, walks_in(CLEAR).without_actions())
    with refused("the strength of the prior is 0"):
        estimate_dynamics(world, walks_in(CLEAR), strength=0.0)


def test_only_what_speaks_against_an_opponent_is_told():
    world = MDP(CLEAR, discount=0.9)
    assert describe_mismatch(world, walks_in(NOISY)) is None
    assert describe_mismatch(world, walks_in(WINDY).without_actions()) is None
    assert "the expert's world drifts" in str(describe_mismatch(world, walks_in(WINDY)))


def test_noise_of_seen_pairs_is_expected_of_unseen_ones():
    # Action 0 leads from 0 to 1 and from 1 to 2; of a hundred moves out of 0, half go to 2. Nobody left 1 or 2.
    rows = np.eye(3)[[1, 2, 0]][:, None]
    walks = Demonstrations.from_arrays([[0, 1], [0, 2]] * 50, [[0], [0]] * 50)
    found = estimate_dynamics(MDP(rows, discount=0.9), walks)
    noise = found.alpha.excess
    assert noise == pytest.approx(0.5)
    expected = (1 - noise) * rows[1:, 0] + noise / 3
    np.testing.assert_allclose(found.world.kernel.to_array()[1:, 0], expected, rtol=1e-6)
