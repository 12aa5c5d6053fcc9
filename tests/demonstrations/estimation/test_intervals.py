"""Intervals cover as often as they say."""

import jax
import numpy as np
import pytest
import scipy.sparse
import scipy.stats

from robustirl.demonstrations import Demonstrations, estimate_occupancy, sample_demonstrations
from robustirl.demonstrations.estimation import intervals as module
from robustirl.demonstrations.estimation.intervals import ENOUGH, bootstrap_intervals
from robustirl.envs import make
from robustirl.planning import expert_policy


def drifting(world):
    """A policy that drifts towards the goal in the upper left corner."""
    weights = np.asarray(world.mask) * np.array([3.0, 1.0, 1.0, 3.0])
    return weights / weights.sum(-1, keepdims=True)


def exact_occupancy(world, policy):
    """By NumPy alone, which has nothing to compile."""
    kernel = world.kernel.to_sparse().toarray().reshape(*policy.shape, -1)
    chain, gamma = np.einsum("sa,sat->st", policy, kernel), float(world.discount)
    return (1 - gamma) * np.linalg.solve(np.eye(len(chain)) - gamma * chain.T, np.asarray(world.initial))


def coverage(world, policy, episodes, repetitions):
    """Of each state: how often its interval covers the exact occupancy, and how many episodes visit it on average."""
    policy = np.asarray(policy)
    exact = exact_occupancy(world, policy)
    demos = sample_demonstrations(
        world, policy, episodes=episodes * repetitions, horizon=3000, key=jax.random.key(0), with_actions=False
    )
    assert demos.terminated.all()
    covered, visitors = np.zeros(exact.size), np.zeros(exact.size)
    for i, key in enumerate(jax.random.split(jax.random.key(1), repetitions)):
        part = demos[i * episodes : (i + 1) * episodes]
        found = estimate_occupancy(part, num_states=exact.size, discount=float(world.discount), key=key)
        assert found.lower is not None
        assert found.upper is not None
        assert (found.lower <= found.occupancy + 1e-12).all()
        assert (found.occupancy <= found.upper + 1e-12).all()
        covered += (found.lower <= exact) & (exact <= found.upper)
        pairs = np.unique(np.stack([part.episodes, part.states]), axis=1)
        visitors += np.bincount(pairs[1], minlength=exact.size)
    return covered / repetitions, visitors / repetitions


def test_intervals_cover_as_often_as_they_say():
    world = make("gridworld-1").mdp(0.1)
    covered, visitors = coverage(world, drifting(world), episodes=100, repetitions=60)
    often = visitors >= ENOUGH
    assert 10 <= often.sum() <= 90
    assert 0.93 <= covered[often].mean() <= 0.97
    assert covered[~often].mean() >= 0.93  # Careful ones may cover more often.


@pytest.mark.slow
@pytest.mark.parametrize(("name", "noise", "episodes"), [("gridworld-1", 0.1, 200), ("gridworld-4", 0.2, 500)])
def test_intervals_cover_state_by_state(name, noise, episodes):
    env = make(name)
    world = env.mdp(noise)
    covered, visitors = coverage(world, expert_policy(world, env.reward), episodes=episodes, repetitions=500)
    often = visitors >= ENOUGH
    assert often.sum() >= 20
    assert 0.93 <= covered[often].mean() <= 0.97
    # A share of 500 strays by 0.01, and of many states some stray by thrice that.
    assert covered[often].min() >= 0.91
    assert np.append(covered[~often], 0.95).mean() >= 0.93


def test_the_studentized_interval_is_near_students_for_many_normal_data():
    data = np.clip(np.random.default_rng(0).normal(0.5, 0.1, size=(2000, 1)), 0, 1)
    found = bootstrap_intervals(scipy.sparse.csr_array(data), confidence=0.9, resamples=4000, key=jax.random.key(0))
    low, high = scipy.stats.t.interval(0.9, 1999, data.mean(), data.std(ddof=1) / np.sqrt(2000))
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [low, high], atol=0.1 * (high - low))


def test_rare_states_are_flagged_and_get_careful_intervals():
    episodes = 200
    demos = Demonstrations.from_arrays([[0, 1]] * 3 + [[0]] * (episodes - 3), terminated=True)
    found = estimate_occupancy(demos, num_states=3, discount=0.5, key=jax.random.key(0))
    assert found.reliable is not None
    assert found.reliable.tolist() == [False, False, False]
    exact = scipy.stats.binomtest(3, episodes).proportion_ci(0.95, method="exact")
    assert found.lower is not None
    assert found.upper is not None
    # Three episodes leave half of their mass in state 1; the rest of theirs is in state 0.
    np.testing.assert_allclose([found.lower[1], found.upper[1]], [exact.low / 2, exact.high / 2], rtol=1e-9)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [1 - exact.high / 2, 1 - exact.low / 2], rtol=1e-9)
    # Never seen: the rule of three, for any contribution up to one.
    np.testing.assert_allclose([found.lower[2], found.upper[2]], [0, 1 - 0.025 ** (1 / episodes)], rtol=1e-9)


def test_a_single_episode_says_next_to_nothing():
    found = estimate_occupancy(Demonstrations.from_arrays([[0]]), num_states=2, discount=0.5, key=jax.random.key(0))
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower.max() <= 0.03
    assert found.upper.min() >= 0.97


def test_no_key_no_intervals_and_the_same_key_the_same_ones():
    demos = Demonstrations.from_arrays(np.random.default_rng(0).integers(3, size=(100, 4)), terminated=True)
    assert estimate_occupancy(demos, num_states=3, discount=0.9).lower is None
    one, again, other = (
        estimate_occupancy(demos, num_states=3, discount=0.9, key=jax.random.key(k)).upper for k in (0, 0, 1)
    )
    assert one is not None
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize("tail", ["renormalize", "hold", "chain"])
def test_intervals_lie_around_the_estimate_whatever_the_tail(tail):
    demos = Demonstrations.from_arrays(np.random.default_rng(0).integers(4, size=(100, 5)))
    found = estimate_occupancy(demos, num_states=4, discount=0.9, tail=tail, key=jax.random.key(0))
    assert found.lower is not None
    assert found.upper is not None
    assert (found.lower < found.occupancy).all()
    assert (found.occupancy < found.upper).all()


def test_blocks_of_states_change_nothing_but_memory(monkeypatch):
    demos = Demonstrations.from_arrays(np.random.default_rng(0).integers(30, size=(300, 40)), terminated=True)

    def estimate():
        return estimate_occupancy(demos, num_states=30, discount=0.9, key=jax.random.key(0), resamples=100)

    # With one resample at a time in either case, states stand together in one block, then in blocks of four.
    monkeypatch.setattr(module, "WEIGHTS", 300)
    whole = estimate()
    monkeypatch.setattr(module, "RATIOS", 400)
    parts = estimate()
    np.testing.assert_array_equal(parts.lower, whole.lower)
    np.testing.assert_array_equal(parts.upper, whole.upper)


def test_the_entries_that_differ_from_the_usual_one_are_counted():
    # A column that never varies, one that is mostly zero, one whose usual entry is 0.4, one that nobody visits.
    columns = np.array(
        [[0.5, 0.0, 0.4, 0], [0.5, 0.3, 0.4, 0], [0.5, 0.0, 0.1, 0], [0.5, 0.0, 0.4, 0], [0.5, 0.0, 0.9, 0]]
    )
    # Two more: seldom visited and not alike, and usual entries that are above others, one of them by a millionth.
    columns = np.hstack([columns, [[0.6, 0.1], [0.0, 0.4], [0.0, 0.1], [0.2, 0.4], [0.0, 0.4 - 1e-6]]])
    common, telling, least, largest = module._deviants(scipy.sparse.csc_array(columns))
    assert common.tolist() == [0.5, 0, 0.4, 0, 0, 0.4 - 1e-6]
    assert telling.tolist() == [0, 1, 2, 0, 2, 4]
    assert least.tolist() == [0, 0.3, 0.1, 0, 0.2, 0.1]
    assert largest.tolist() == [1, 0.3, 0.9, 1, 0.6, 0.4]


def test_the_studentized_bootstrap_is_that_of_the_formulas(monkeypatch):
    """Four episodes, so that some resamples hold one of them alone and have no error; drawn in blocks of 64."""
    monkeypatch.setattr(module, "ENOUGH", 1)
    monkeypatch.setattr(module, "WEIGHTS", 4 * 64)
    data = np.array([[0.1, 0.5, 1.0], [0.6, 0.5001, 1.0], [0.3, 0.4999, 0.2], [0.2, 0.5002, 0.9]])
    found = bootstrap_intervals(scipy.sparse.csr_array(data), confidence=0.8, resamples=200, key=jax.random.key(0))
    blocks = [module._resamples(4, min(64, 200 - first), first, jax.random.key(0)) for first in range(0, 200, 64)]
    weights = np.concatenate(blocks, 1)
    assert weights.shape == (4, 200)
    assert (weights.sum(0) == 4).all()
    assert (weights.max(0) == 4).any()
    for column, lower, upper in zip(data.T, found.lower, found.upper, strict=True):
        error, ratios = column.std(ddof=1) / 2, []
        for drawn in weights.T:
            again = np.repeat(column, drawn.astype(int))
            spread = again.std(ddof=1) / 2
            ratios.append((again.mean() - column.mean()) / spread if spread > 1e-9 else 0.0)
        low, high = np.quantile(ratios, [0.1, 0.9])
        np.testing.assert_allclose(
            [lower, upper], np.clip(column.mean() - error * np.array([high, low]), 0, 1), rtol=1e-6
        )
    assert found.lower[2] == 0  # Cut off.


def test_careful_intervals_at_their_ends():
    """One of forty episodes differs, or all of them do: the exact ends for one success, and for no failure."""
    zero, half = np.zeros(2), np.full(2, 0.5)
    lower, upper = module._careful(zero, np.array([1, 40]), half, half, 40, 0.9)
    np.testing.assert_allclose(lower, [0.5 * (1 - 0.95 ** (1 / 40)), 0.5 * 0.05 ** (1 / 40)])
    np.testing.assert_allclose(upper, [0.5 * scipy.stats.beta.ppf(0.95, 2, 39), 0.5])


def test_a_state_that_all_episodes_visit_alike_is_known_up_to_those_that_were_not_seen():
    # None of 40 episodes differs: at 90 % a share of up to 1 - 0.05^(1/40) might, which may be anywhere in [0, 1].
    alike = scipy.sparse.csr_array(np.full((40, 1), 0.25))
    found = bootstrap_intervals(alike, confidence=0.9, resamples=100, key=jax.random.key(0))
    share = 1 - 0.05 ** (1 / 40)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [0.25 - 0.25 * share, 0.25 + 0.75 * share])
    assert not found.reliable[0]
