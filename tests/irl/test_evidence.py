"""What a fit rests on, and when the data and the world do not go together."""

import dataclasses

import numpy as np
import pytest

from robustirl.demonstrations import Choices, Demonstrations, OccupancyEstimate
from robustirl.demonstrations.concentration import l1_radius
from robustirl.irl.evidence import collect_choices, collect_with_selection
from robustirl.mdp import MDP

WORLD = MDP(np.array([[[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]], [[0.0, 0.0, 1.0]]]), discount=0.9, initial=[0.5, 0.5, 0.0])


def collected(data, alpha: float | str = 0.9):
    return collect_with_selection(WORLD, data, alpha=alpha, tail="hold", confidence=0.95)[0]


def estimate(discount):
    return OccupancyEstimate(np.full(3, 1 / 3), None, None, None, 0.1, 0.0, 7, discount, "hold", 0.95)


def test_an_estimate_is_for_its_own_discount(refused):
    found = collected(estimate(0.9 + 9e-7))
    assert (found.episodes, found.transitions, found.has_actions, found.discount) == (7, None, False, 0.9)
    with refused("the occupancy was estimated at discount 0.9005, but the world's is 0.9", "estimate it anew"):
        collected(estimate(0.9005))


def test_an_exact_occupancy_comes_without_episodes():
    found = collected(np.full(3, 1 / 3))
    assert (found.episodes, found.transitions, found.occupancy_estimate, found.cautions) == (None, None, None, ())
    assert (found.alpha, found.alpha_estimate) == (0.9, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.alpha = 0.5  # pyright: ignore[reportAttributeAccessIssue]


def test_episodes_are_counted():
    found = collected(Demonstrations.from_arrays([[0, 1, 2], [1, 2]], [[0, 0], [0]], terminated=True))
    assert (found.episodes, found.transitions, found.has_actions, found.cautions) == (2, 3, True, ())
    assert not collected(Demonstrations.from_arrays([[0, 1, 2], [1, 2]], terminated=True)).has_actions


def test_episodes_that_end_for_good_where_the_world_goes_on_are_told():
    walks = Demonstrations.from_arrays([[0, 1, 2], [0, 0]], terminated=True)
    assert collected(walks).cautions == (
        "1 of 2 episodes end for good in states that can be left in the learner's world (the first in state 0), so"
        " their occupancy may be out of its reach.",
    )
    assert collected(Demonstrations.from_arrays([[0, 1], [1, 1, 1]], terminated=False)).cautions == (
        "what truncated episodes do not show may move the expert's occupancy by up to 1.5 in l1, where 2 is the most"
        " possible; record longer episodes, or say which ones terminated.",
    )


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_starts_are_compared_as_far_as_chance_allows(share):
    count = 1000
    first = round(count * (0.5 + share * l1_radius(count, 3, confidence=0.95) / 2))
    walks = Demonstrations.from_arrays([[0, 1, 2]] * first + [[1, 2]] * (count - first), terminated=True)
    apart = 2 * (first / count - 0.5)
    expected = (
        "the demonstrations start elsewhere than the learner's world does: the two start distributions are"
        f" {apart:.3g} apart in l1, more than chance explains."
    )
    assert collected(walks).cautions == ((expected,) if share > 1 else ())


def test_ends_that_nobody_recorded_are_read_off_the_world_and_told():
    walks = Demonstrations.from_arrays([[0, 1, 2], [0, 1], [1, 2]])
    found, recorded = (
        collected(walks),
        collected(Demonstrations.from_arrays([e.states for e in walks], terminated=[True, False, True])),
    )
    assert found.notes == (
        "the demonstrations do not say how episodes ended: 2 of 3 end in a state that the world never leaves, and count"
        " as terminated.",
    )
    assert recorded.notes == ()
    assert found.occupancy_estimate is not None
    assert recorded.occupancy_estimate is not None
    np.testing.assert_array_equal(found.occupancy_estimate.occupancy, recorded.occupancy_estimate.occupancy)
    assert found.occupancy_estimate.bias == recorded.occupancy_estimate.bias


def test_alpha_is_one_if_an_occupancy_is_all_there_is():
    found = collected(np.full(3, 1 / 3), alpha="auto")
    assert (found.alpha, found.alpha_estimate) == (1.0, None)


def test_choices_are_counted_with_their_groups(refused):
    rows = Choices([0, 1, 0], [0, 0, 0], [4, 4, 9])
    found = collect_choices(WORLD, rows, alpha=0.9, options={})
    assert (found.episodes, found.transitions, found.has_actions, found.discount) == (2, 3, True, 0.9)
    assert (found.alpha, found.alpha_estimate, found.occupancy_estimate, found.cautions) == (0.9, None, None, ())
    for collect in (
        lambda: collect_choices(WORLD, rows, alpha="all", options={}),
        lambda: collected(np.ones(3), "all"),
    ):
        with refused("alpha is 'all', but a number with 0 < alpha <= 1 or 'auto' is needed."):
            collect()
