# pyright: reportArgumentType=false, reportOptionalMemberAccess=false
"""Moves that went astray, from lists of successors: beside loops over the rows written out."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.demonstrations.estimation.lists import as_lists, astray_from_lists

PLACES = np.array(
    [
        [[0, 0, 1], [2, 3, 2]],  # Places that are listed twice, beside each other and apart.
        [[1, 2, 3], [4, 4, 4]],
        [[2, 0, 1], [2, 3, 4]],
        [[3, 3, 0], [0, 1, 2]],
        [[4, 0, 0], [1, 1, 2]],
    ]
)
LISTED = np.array(
    [
        [[0.3, 0.2, 0.5], [0.5, 0.2, 0.3]],
        [[0.6, 0.25, 0.15], [0.2, 0.3, 0.5]],
        [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]],
        [[0.35, 0.45, 0.2], [0.9, 0.05, 0.05]],
        [[0.5, 0.3, 0.2], [0.0, 0.0, 0.0]],  # The last action leads nowhere.
    ]
)
MASK = np.array([[True, True], [True, True], [True, True], [True, False], [True, True]])
WEIGHT = np.array([0.0, 0.1, 0.2, 0.1, 0.05])
ANYWHERE = np.array([0.3, 0.1, 0.1, 0.2, 0.3])


def world(noise, listed=LISTED, places=PLACES, mask=MASK):
    lists = SimpleNamespace(next_states=places, probabilities=listed)
    kernel = SimpleNamespace(successor_lists=lambda: lists, rank_one=lambda: noise)
    return SimpleNamespace(kernel=kernel, mask=mask, num_states=len(places))


def rows_of(noise):
    """T(s'|s,a) as an array, with zeros where there is no action."""
    weight, anywhere = (np.zeros(5), np.zeros(5)) if noise is None else noise
    rows = np.zeros((5, 2, 5))
    for s in range(5):
        for a in range(2):
            if MASK[s, a] and LISTED[s, a].any():
                for place, chance in zip(PLACES[s, a], LISTED[s, a], strict=True):
                    rows[s, a, place] += (1 - weight[s]) * chance
                rows[s, a] += weight[s] * anywhere
    return rows


@pytest.mark.parametrize("noise", [None, (WEIGHT, ANYWHERE)])
def test_lists_hold_the_whole_chance_of_every_place(noise):
    lists, rows = as_lists(world(noise)), rows_of(noise)
    np.testing.assert_allclose(lists.chances, np.take_along_axis(rows, PLACES, -1), rtol=1e-12)
    assert lists.exists.tolist() == [[True, True], [True, True], [True, True], [True, False], [True, False]]
    assert lists.first[:2].tolist() == [[[True, False, True], [True, True, False]], [[True] * 3, [True, False, False]]]
    assert lists.background.tolist() == ([0] * 5 if noise is None else WEIGHT.tolist())
    assert lists.anywhere.tolist() == ([0] * 5 if noise is None else ANYWHERE.tolist())


@pytest.mark.parametrize("noise", [None, (WEIGHT, ANYWHERE)])
def test_moves_with_actions_are_judged_by_the_row_of_their_action(noise):
    moves = [(s, a, t) for s in range(5) for a in range(2) for t in range(5) if (s, a) not in ((3, 1), (4, 1))]
    source, action, target = np.array(moves).T
    counts = SimpleNamespace(sources=source, actions=action, targets=target)
    astray, explained, clear = astray_from_lists(as_lists(world(noise)), counts)
    rows = rows_of(noise)
    for place, (s, a, t) in enumerate(moves):
        row = rows[s, a]
        unlikely = row < 0.5 * row.max()
        assert astray[place] == unlikely[t]
        assert explained[place] == pytest.approx(row[unlikely].sum(), abs=1e-12)
        assert clear[place] == (row.max() >= 0.5)
    assert 0 < astray.sum() < len(moves)
    assert clear.any()


@pytest.mark.parametrize("noise", [None, (WEIGHT, ANYWHERE)])
def test_moves_without_actions_are_judged_by_all_that_can_be_done(noise):
    moves = [(s, t) for s in range(5) for t in range(5)]
    source, target = np.array(moves).T
    counts = SimpleNamespace(sources=source, actions=None, targets=target)
    astray, explained, clear = astray_from_lists(as_lists(world(noise)), counts)
    rows = rows_of(noise)
    for place, (s, t) in enumerate(moves):
        available = [row for row in rows[s] if row.any()]
        vaguest = min(row.max() for row in available)
        likely = np.max(available, 0) >= 0.5 * vaguest
        assert astray[place] == (not likely[t])
        assert explained[place] == pytest.approx(max(row[~likely].sum() for row in available), abs=1e-12)
    assert 0 < astray.sum() < len(moves)
    assert clear.all()


def test_a_background_that_may_be_likely_has_no_lists():
    certain = {"listed": np.ones((3, 1, 1)), "places": np.zeros((3, 1, 1), int), "mask": np.ones((3, 1), bool)}
    anywhere = np.array([0.0, 0.5, 0.5])
    # State 0 has a listed place of chance 1 - w, and every other has w/2: at w = 1/2 that is half of it.
    assert as_lists(world((np.array([0.49, 0, 0]), anywhere), **certain)) is not None
    assert as_lists(world((np.array([0.5, 0, 0]), anywhere), **certain)) is None
    # The vaguest action counts: its places have a quarter of 1 - w each.
    places = np.array([[[0, 0, 0, 0], [0, 1, 2, 3]]] * 4)
    vague = {"listed": np.full((4, 2, 4), 0.25), "places": places, "mask": np.ones((4, 2), bool)}
    anywhere = np.array([0.0, 0.0, 0.0, 1.0])
    assert as_lists(world((np.array([0.2, 0, 0, 0]), anywhere), **vague)) is None
    assert as_lists(world((np.array([0.1, 0, 0, 0]), anywhere), **vague)) is not None
    arrays = SimpleNamespace(successor_lists=lambda: None, rank_one=lambda: None)
    assert as_lists(SimpleNamespace(kernel=arrays)) is None
