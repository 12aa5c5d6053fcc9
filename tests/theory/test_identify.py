"""What experts leave open about a reward, by hand, by rank, and for Rust's buses."""

import numpy as np
import pytest

from robustirl import envs
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.planning import solve
from robustirl.theory import identify
from robustirl.theory.identify import principal_angles, rank_worlds

STAY, SWAP = np.eye(2), np.eye(2)[::-1]


def two_states(stays, swaps, discount=0.9):
    """Action 0 stays with this probability, action 1 changes the state with that one."""
    return MDP(np.stack([stays * STAY + (1 - stays) * SWAP, swaps * SWAP + (1 - swaps) * STAY], 1), discount=discount)


def test_one_expert_leaves_a_potential_for_every_state():
    rng = np.random.default_rng(0)
    world = MDP(rng.dirichlet(np.ones(5), size=(5, 3)), discount=0.8)
    found = identify([world])
    assert found.dimensions == (5,)
    assert not found.identified
    assert found.constant


@pytest.mark.parametrize("second", [two_states(0.9, 1.0), two_states(1.0, 0.7), two_states(1.0, 1.0, discount=0.5)])
def test_two_different_worlds_leave_the_constant(second):
    found = identify([two_states(1.0, 1.0), second])
    assert found.dimensions == (2, 1)
    assert found.identified
    assert np.ptp(found.directions[:, 0]) == pytest.approx(0, abs=1e-9)  # The constant itself.


def test_the_rank_condition_of_two_worlds_agrees():
    """dim = 2 S - rank [E - γ T₁, E - γ T₂] (Rolland et al., 2022)."""
    rng = np.random.default_rng(1)
    first = rng.dirichlet(np.ones(4), size=(4, 2))
    for changed in (1, 2, 3, 4):
        second = first.copy()
        second[:changed] = rng.dirichlet(np.ones(4), size=(changed, 2))
        shaped = [np.eye(4)[:, None] - 0.9 * kernel for kernel in (first, second)]
        rank = np.linalg.matrix_rank(np.concatenate([s.reshape(-1, 4) for s in shaped], 1))
        worlds = [MDP(kernel, discount=0.9) for kernel in (first, second)]
        assert identify(worlds).dimensions[-1] == 8 - rank


def test_strengths_grow_with_every_expert_and_name_a_world_that_hardly_differs():
    found = identify([two_states(1.0, 1.0), two_states(0.999, 1.0), two_states(0.5, 1.0)])
    assert (np.diff(found.strengths, axis=0) > -1e-12).all()
    assert found.strengths[0] == pytest.approx([0, 0, 1, 1])  # A projection.
    assert found.dimensions == (2, 1, 1)
    assert found.nearly_open(0.01) == (2, 2, 1)


def test_what_is_left_open_changes_no_policy_and_what_is_not_does():
    worlds = [two_states(1.0, 1.0), two_states(1.0, 1.0)]
    found = identify(worlds)
    reward = np.array([[0.3, -1.0], [2.0, 0.5]])
    base = np.asarray(solve(worlds[0], reward).player)
    for direction in found.directions.T:
        assert np.asarray(solve(worlds[0], reward + 3 * direction.reshape(2, 2)).player) == pytest.approx(
            base, abs=1e-8
        )
    other = two_states(0.6, 1.0)
    moved = [np.asarray(solve(other, reward + 3 * d.reshape(2, 2)).player) for d in found.directions.T]
    assert max(np.abs(policy - np.asarray(solve(other, reward).player)).max() for policy in moved) > 0.01


def test_a_reward_of_states_is_identified_by_one_expert_who_can_choose_where_to_go():
    assert identify([two_states(1.0, 1.0)], np.eye(2)).identified
    idle = MDP(np.stack([STAY, STAY], 1), discount=0.9)  # No choice makes a difference.
    assert identify([idle], np.eye(2)).dimensions == (2,)


def test_the_costs_of_buses_are_identified_by_one_group():
    env = envs.buses(4)
    found = identify([env.mdp()], env.features)
    assert found.dimensions == (0,)
    assert found.identified
    assert not found.constant
    # Any reward of states and actions is not; a second group leaves the constant alone.
    assert identify([env.mdp()]).dimensions == (90,)


def test_the_world_that_tells_most_comes_first():
    here = two_states(1.0, 1.0)
    order = rank_worlds([here], [two_states(0.999, 1.0), here, two_states(0.5, 1.0)])
    assert [place for place, _ in order] == [2, 0, 1]
    assert order[0][1].sharpness > order[1][1].sharpness


def test_angles_between_potentials():
    """E - γ T of staying and of swapping: constants in common, and (1-γ, 1+γ) against (1+γ, 1-γ) for the rest."""
    stay, swap = MDP(STAY[:, None], discount=0.9), MDP(SWAP[:, None], discount=0.9)
    assert principal_angles(stay, swap) == pytest.approx([0, 0], abs=1e-9)  # One action: potentials are everything.
    one, two = two_states(1.0, 1.0), two_states(0.0, 0.0)
    v = np.array([1.0, -1.0])
    first, second = (
        np.concatenate([(1 - 0.9 * sign) * v, (1 + 0.9 * sign) * v]) for sign in (1, -1)
    )  # Rows of the two actions.
    angle = np.arccos(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
    assert principal_angles(one, two) == pytest.approx([0, angle], abs=1e-9)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: identify([]), "no world was given"),
        (
            lambda: identify([two_states(1, 1), MDP(STAY[:, None], discount=0.9)]),
            "world 1 has other states or available actions",
        ),
        (lambda: identify([two_states(1, 1)], np.ones((3, 1))), r"shape \(3, 1\), but \(2, d\) or \(2, 2, d\)"),
    ],
)
def test_bad_requests_are_one_sentence(attempt, message):
    with pytest.raises(InvalidInputError, match=message):
        attempt()
