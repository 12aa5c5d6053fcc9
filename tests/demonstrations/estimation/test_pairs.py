"""Bounds from pairs of states and recorded actions, beside loops over the pairs."""

import numpy as np
import pytest
from scipy import stats

from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.estimation import pairs
from robustirl.demonstrations.estimation.pairs import bound_pairs, count_array, learner_rows, resembled_actions
from robustirl.mdp import MDP

# Three states and an end. In state 0 the recorded actions are exchanged; state 1 is noisier than the world says.
ROWS = np.zeros((4, 2, 4))
ROWS[0] = [[0.1, 0.8, 0.1, 0.0], [0.1, 0.1, 0.8, 0.0]]
ROWS[1] = [[0.0, 0.0, 0.9, 0.1], [0.9, 0.0, 0.1, 0.0]]
ROWS[2, 0] = [0.0, 0.0, 0.0, 1.0]
ROWS[3, :, 3] = 1.0
MASK = np.array([[True, True], [True, True], [True, False], [True, True]])
WORLD = MDP(ROWS, discount=0.9, mask=MASK)


def _walks(episodes=60):
    """Walks of an expert whose actions in state 0 are exchanged, and who slips in state 1 half of the time."""
    rng = np.random.default_rng(1)
    states, actions = [], []
    for _ in range(episodes):
        path, taken = [0], []
        while path[-1] != 3 and len(taken) < 12:
            here = path[-1]
            action = int(rng.integers(2)) if MASK[here, 1] else 0
            row = ROWS[here, 1 - action] if here == 0 else ROWS[here, action]
            if here == 1 and rng.random() < 0.5:
                row = np.array([0.5, 0.5, 0.0, 0.0])
            taken.append(action)
            path.append(int(rng.choice(4, p=row)))
        states.append(path)
        actions.append(taken)
    return Demonstrations.from_arrays(states, actions)


def _bounds(walks, confidence):
    """The definition, pair by pair."""
    halves = [count_array(part, (4, 2)) for part in (walks[0::2], walks[1::2])]
    halves = [half * np.array([1, 1, 1, 0])[:, None, None] for half in halves]  # The end is left out.
    counts = halves[0] + halves[1]
    relabel = np.tile([0, 1], (4, 1))
    for state in range(3):
        for action in range(2):
            likelihoods = [
                counts[state, action] @ np.log(0.9 * ROWS[state, b] + 0.1 / 4) if MASK[state, b] else -np.inf
                for b in range(2)
            ]
            if max(likelihoods) - likelihoods[action] > 3:
                relabel[state, action] = int(np.argmax(likelihoods))
    tested = int((halves[1].sum(-1) > 0).sum())
    level = (1 - confidence) / 2 / tested
    best, upper = (-np.inf, 0.0, (0, 0)), 0.0
    for state in range(3):
        for action in range(2):
            near, total = ROWS[state, relabel[state, action]], counts[state, action].sum()
            share = halves[0][state, action] / max(halves[0][state, action].sum(), 1)
            gained = (near < near.max() - 1e-9) & (share > near)
            seen, hits = halves[1][state, action].sum(), halves[1][state, action][gained].sum()
            whole = counts[state, action] / max(total, 1)
            if seen:
                least = stats.beta.ppf(level, hits, seen - hits + 1) if hits else 0.0
                found = least - near[gained].sum()
                if found > best[0]:
                    best = (found, (whole - near)[gained].sum(), (state, action))
            if MASK[state, action]:
                radius = np.sqrt(2 * (4 * np.log(2) - np.log(level)) / max(total, 1)) / 2
                distance = np.maximum(whole - near, 0).sum()
                upper = max(upper, min(distance + radius, 1.0) if total else 1.0)
    moved = sum(counts[s, a].sum() for s in range(4) for a in range(2) if relabel[s, a] != a)
    return best, upper, relabel, moved / counts.sum()


@pytest.mark.parametrize(("episodes", "confidence"), [(60, 0.95), (61, 0.8), (400, 0.9)])
def test_the_bounds_are_those_of_the_definition(episodes, confidence):
    walks = _walks(episodes)
    found = bound_pairs(WORLD, walks, confidence)
    (lower, estimate, pair), upper, relabel, relabeled = _bounds(walks, confidence)
    assert (found.lower, found.estimate, found.upper) == pytest.approx((lower, estimate, upper), rel=1e-9)
    assert found.pair == pair
    assert found.relabel.tolist() == relabel.tolist()
    assert relabel[0].tolist() == [1, 0]
    assert found.relabeled == pytest.approx(relabeled)
    assert found.unseen == 0
    if episodes == 400:
        assert found.pair[0] == 1  # The noisy state is found,
        assert 0 < found.lower < found.estimate < found.upper < 1  # and both bounds say something.


def test_pairs_that_nobody_saw_leave_the_upper_bound_at_one():
    walks = Demonstrations.from_arrays([[0, 1, 2, 3]] * 4, [[0, 0, 0]] * 4)
    found = bound_pairs(WORLD, walks, 0.95)
    assert (found.unseen, found.upper) == (2, 1.0)
    assert bound_pairs(WORLD, walks[:1], 0.95) is None  # One episode has no halves.


def test_large_worlds_are_not_looked_at(monkeypatch):
    walks = _walks(10)
    monkeypatch.setattr(pairs, "MOST_ENTRIES", 32)
    assert bound_pairs(WORLD, walks, 0.95) is not None
    monkeypatch.setattr(pairs, "MOST_ENTRIES", 31)
    assert bound_pairs(WORLD, walks, 0.95) is None


def test_rows_and_resemblance():
    np.testing.assert_allclose(learner_rows(WORLD), ROWS)
    counts = np.zeros((4, 2, 4))
    counts[0, 0, 2] = 1.60  # log(0.745 / 0.115) is 1.868 nats: 1.6 moves are too little,
    assert resembled_actions(counts, ROWS, MASK)[0].tolist() == [0, 1]
    counts[0, 0, 2] = 1.61  # and a hundredth more is enough.
    assert resembled_actions(counts, ROWS, MASK)[0].tolist() == [1, 1]
    counts[2, 0, 0] = 50.0  # No other action is to be had there.
    assert resembled_actions(counts, ROWS, MASK)[2].tolist() == [0, 0]


def test_each_action_resembles_its_own():
    """Of three actions to three states the first does what the third should, and the third what the second should."""
    rows = np.eye(3)[None].repeat(3, 0)
    counts = np.zeros((3, 3, 3))
    counts[0] = [[0, 0, 9], [0, 9, 0], [0, 9, 0]]
    assert resembled_actions(counts, rows, np.ones((3, 3), bool)).tolist() == [[2, 1, 1], [0, 1, 2], [0, 1, 2]]


def fork(row):
    """State 0 has one action, with these outcomes; 1 and 2 are never left."""
    rows = np.array([[row], [[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]])
    return MDP(rows, discount=0.9)


def walks_to(*places):
    return Demonstrations.from_arrays([[0, place] for place in places], [[0]] * len(places))


def test_one_pair_by_hand():
    world = fork([0.0, 0.7, 0.3])
    # All that propose go to 2, and a half of those that test: one of two, or twenty of forty.
    for times in (1, 20):
        found = bound_pairs(world, walks_to(*[2, 2, 2, 1] * times), 0.8)
        level = 0.1  # Of one pair, and one of two sides.
        assert found.lower == pytest.approx(stats.beta.ppf(level, times, times + 1) - 0.3)
        assert found.estimate == pytest.approx(0.75 - 0.3)
        radius = np.sqrt(2 * (3 * np.log(2) - np.log(level)) / (4 * times)) / 2
        assert found.upper == pytest.approx(min(0.45 + radius, 1))
        assert (found.pair, found.unseen, found.relabeled) == ((0, 0), 0, 0)
    # One move proposes and one tests; or nobody tests.
    assert bound_pairs(world, walks_to(2, 2), 0.8).lower == pytest.approx(0.1 - 0.3)
    alone = Demonstrations.from_arrays([[0, 2], [0]], [[0], []])
    assert bound_pairs(world, alone, 0.8).estimate == pytest.approx(0.7)
    # The likeliest outcome may gain as much as it likes: a calmer expert asks for no opponent.
    assert bound_pairs(world, walks_to(*[1] * 40), 0.8).lower == 0
    # A single move, which the world makes for certain, bounds nothing.
    alone = Demonstrations.from_arrays([[0, 1], [0]], [[0], []])
    found = bound_pairs(fork([0.0, 1.0, 0.0]), alone, 0.5)
    assert (found.upper, found.lower, found.estimate) == (1.0, -np.inf, 0.0)
    assert found.relabeled == 0
    # Where nothing can be left there is no pair.
    assert bound_pairs(MDP(np.eye(2)[:, None], discount=0.9), walks_to(0, 0), 0.8).upper == 0


def test_a_single_move_that_another_action_would_make():
    rows = np.zeros((3, 2, 3))
    rows[0, 0, 1] = rows[0, 1, 2] = rows[1, :, 1] = rows[2, :, 2] = 1
    alone = Demonstrations.from_arrays([[0, 2], [0]], [[0], []])
    found = bound_pairs(MDP(rows, discount=0.9), alone, 0.8)  # log(0.933 / 0.033) is 3.3 nats.
    assert found.relabel[0].tolist() == [1, 1]
    assert (found.relabeled, found.unseen) == (1.0, 1)
