"""Estimated occupancies against their definition, and their errors against those of known worlds."""

import jax
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from robustirl.demonstrations import Demonstrations, estimate_occupancy, occupancy, sample_demonstrations
from robustirl.demonstrations.concentration import certain_error, l1_radius, occupancy_box
from robustirl.envs import make
from robustirl.mdp import MDP
from tests.demonstrations.strategies import demonstrations

TAILS = ("renormalize", "hold", "chain")
DISCOUNTS = st.sampled_from([0.0, 0.5, 0.9, 0.99])
HALF = MDP(np.full((2, 1, 2), 0.5), discount=0.5)


def chain_of(demos, size):
    """The empirical chain; a state leads to itself if it was never left, or if an episode terminated in it."""
    counts = np.zeros((size, size))
    for states, _, _ in demos:
        np.add.at(counts, (states[:-1], states[1:]), 1)
    counts[demos.last_states[demos.terminated]] = 0
    alone = counts.sum(1) == 0
    counts[alone] = np.eye(size)[alone]
    return counts / counts.sum(1, keepdims=True)


def by_the_definition(demos, gamma, tail, steps):
    """Every episode prolonged by many steps, one step at a time."""
    chain, total = chain_of(demos, 6), np.zeros(6)
    for states, _, terminated in demos:
        shown = np.zeros(6)
        np.add.at(shown, states, (1 - gamma) * gamma ** np.arange(len(states)))
        if tail == "renormalize" and not terminated:
            total += shown / shown.sum()
            continue
        here = np.eye(6)[states[-1]]
        for t in range(len(states), len(states) + steps):
            here = here if terminated or tail == "hold" else here @ chain
            shown += (1 - gamma) * gamma**t * here
        total += shown
    return total / len(demos)


@pytest.mark.parametrize("tail", TAILS)
@given(demos=demonstrations(), gamma=DISCOUNTS)
def test_the_estimate_is_the_definition(tail, demos, gamma):
    found = estimate_occupancy(demos, num_states=6, discount=gamma, tail=tail, resamples=100)
    steps = int(np.ceil(np.log(1e-13) / np.log(gamma))) if gamma else 1
    np.testing.assert_allclose(found.occupancy, by_the_definition(demos, gamma, tail, steps), atol=1e-11)
    np.testing.assert_allclose(found.occupancy.sum(), 1, rtol=1e-12)
    unseen = [0 if e.terminated else 2 * gamma ** len(e.states) for e in demos]
    np.testing.assert_allclose(found.bias, np.mean(unseen), atol=1e-15)
    assert 0 <= found.error <= 2
    assert ((found.lower >= 0) & (found.lower <= found.upper) & (found.upper <= 1)).all()


@pytest.mark.parametrize("tail", TAILS)
@given(demos=demonstrations(), cut=st.integers(1, 6), gamma=DISCOUNTS)
def test_the_bias_bounds_what_cutting_episodes_does(tail, demos, cut, gamma):
    whole = demos.replace(terminated=True)
    ended = [len(e.states) <= cut for e in whole]
    short = Demonstrations.from_arrays([e.states[:cut] for e in whole], terminated=ended)
    full = estimate_occupancy(whole, num_states=6, discount=gamma, resamples=100)
    found = estimate_occupancy(short, num_states=6, discount=gamma, tail=tail, resamples=100)
    assert full.bias == 0
    assert np.abs(found.occupancy - full.occupancy).sum() <= found.bias + 1e-12


def test_the_bias_is_attained():
    # The tail goes to a state that the shown part has not seen, at once and for ever.
    exact = estimate_occupancy(Demonstrations.from_arrays([[0, 0, 1]], terminated=True), num_states=2, discount=0.8)
    for tail in TAILS:
        found = estimate_occupancy(Demonstrations.from_arrays([[0, 0]]), num_states=2, discount=0.8, tail=tail)
        np.testing.assert_allclose(np.abs(found.occupancy - exact.occupancy).sum(), found.bias, rtol=1e-12)


def exact_occupancy(world, policy):
    """By NumPy alone, which has nothing to compile."""
    kernel = world.kernel.to_sparse().toarray().reshape(*policy.shape, -1)
    chain, gamma = np.einsum("sa,sat->st", policy, kernel), float(world.discount)
    return (1 - gamma) * np.linalg.solve(np.eye(len(chain)) - gamma * chain.T, np.asarray(world.initial))


def coverage(name, noise, episodes, repetitions, horizon):
    """How often the error holds, and the interval of each state that is often visited, and of the rest."""
    world = make(name).mdp(noise)
    policy = np.asarray(world.mask) * np.array([3.0, 1.0, 1.0, 3.0])  # It drifts towards the upper left corner.
    policy = policy / policy.sum(-1, keepdims=True)
    exact = exact_occupancy(world, policy)
    demos = sample_demonstrations(
        world, policy, episodes=episodes * repetitions, horizon=horizon, key=jax.random.key(0), with_actions=False
    )
    held, often, seldom = 0, [], []
    for i in range(repetitions):
        part = demos[i * episodes : (i + 1) * episodes]
        found = estimate_occupancy(part, num_states=exact.size, discount=float(world.discount))
        held += np.abs(found.occupancy - exact).sum() <= found.error
        covered = (found.lower <= exact) & (exact <= found.upper)
        often += covered[found.reliable].tolist()
        seldom += covered[~found.reliable].tolist()
    return held / repetitions, np.mean(often), np.mean(seldom or [1.0])


@pytest.mark.parametrize(
    ("name", "noise", "episodes", "horizon", "repetitions"),
    [
        ("gridworld-1", 0.1, 100, 3000, 150),
        pytest.param("gridworld-1", 0.1, 80, 3000, 400, marks=pytest.mark.slow),
        pytest.param("gridworld-1", 0.1, 1000, 3000, 150, marks=pytest.mark.slow),
        pytest.param("gridworld-4", 0.2, 300, 100, 200, marks=pytest.mark.slow),  # Two thirds of a tail unseen.
    ],
)
def test_errors_and_intervals_hold_as_often_as_they_say(name, noise, episodes, horizon, repetitions):
    whole, often, seldom = coverage(name, noise, episodes, repetitions, horizon)
    strays = 2 * np.sqrt(0.95 * 0.05 / repetitions)
    assert 0.93 - strays <= whole <= 0.97 + strays
    assert 0.93 <= often <= 0.97
    assert seldom >= 0.93  # Careful intervals may hold more often.


def test_unseen_states_count_where_states_are_many():
    """A hundred episodes of one of a thousand states each: most of the error is where nobody was."""
    rng, errors, misses = np.random.default_rng(0), [], 0
    exact = rng.dirichlet(np.ones(1000))
    for _ in range(20):
        demos = Demonstrations.from_arrays(rng.choice(1000, p=exact, size=(100, 1)), terminated=True)
        found = estimate_occupancy(demos, num_states=1000, discount=0.9)
        misses += np.abs(found.occupancy - exact).sum() > found.error
        errors.append(found.error)
    assert misses <= 2
    assert np.mean(errors) < 2


def test_the_error_is_that_of_the_data_and_not_of_the_number_of_states():
    demos = Demonstrations.from_arrays([[0], [1]] * 200, terminated=True)
    for size in (2, 5000):
        # Both shares stray by 1/40 at one standard error: 2 · 1.96 / 40 together.
        assert estimate_occupancy(demos, num_states=size, discount=0.9).error == pytest.approx(0.098, rel=0.06)
    agree = Demonstrations.from_arrays(np.tile(np.arange(50), (1000, 1)))
    for part, episodes in ((agree, 1000), (agree[:1], 1)):  # A share of 0.003 of other walks may have been missed.
        error = estimate_occupancy(part, num_states=50, discount=0.99).error
        assert error == pytest.approx(2 * (1 - 0.05 ** (1 / episodes)))


def test_the_studentized_interval_is_near_students_for_many_normal_data():
    import scipy.sparse

    data = np.clip(np.random.default_rng(0).normal(0.5, 0.1, size=(400, 1)), 0, 1)
    sample = occupancy._Sample(scipy.sparse.csr_array(data), None, 400)
    _, low, high = sample.bootstrap(np.array([True]), 0.05, 4000, np.random.default_rng(0))
    expected = scipy.stats.t.interval(0.9, 399, data.mean(), data.std(ddof=1) / 20)
    np.testing.assert_allclose([low[0], high[0]], expected, atol=0.1 * (expected[1] - expected[0]))


def test_many_episodes_are_resampled_in_groups(monkeypatch):
    demos = Demonstrations.from_arrays(np.random.default_rng(0).integers(5, size=(2000, 4)))
    grouped = estimate_occupancy(demos, num_states=5, discount=0.9, resamples=2000)
    monkeypatch.setattr(occupancy, "MOST_GROUPS", 2000)
    single = estimate_occupancy(demos, num_states=5, discount=0.9, resamples=2000)
    np.testing.assert_allclose(grouped.occupancy, single.occupancy, rtol=1e-12)
    assert grouped.error == pytest.approx(single.error, rel=0.1)
    np.testing.assert_allclose(grouped.upper - grouped.lower, single.upper - single.lower, rtol=0.15)


def test_the_tail_of_a_resample_is_that_of_its_counts():
    """Resampled tails are of first order: against estimates from the drawn episodes themselves."""
    demos = Demonstrations.from_arrays(np.random.default_rng(0).integers(4, size=(400, 6)), terminated=False)
    _, unseen = occupancy._contributions(demos, demos.states, 4, 0.9, "chain")
    tail = occupancy._ChainTail(demos, demos.states, 4, 0.9, unseen)
    drawn = np.random.default_rng(1).multinomial(400, np.full(400, 1 / 400), 20)
    for weights, found in zip(drawn, tail.resampled(drawn.T.astype(float)).T, strict=True):
        again = demos.subset(np.repeat(np.arange(400), weights))
        alone = occupancy._ChainTail(again, again.states, 4, 0.9, unseen)
        np.testing.assert_allclose(found, alone.mass, atol=0.25 * np.abs(alone.mass - tail.mass).max() + 1e-6)


def test_chains_too_large_to_factor_are_solved_step_by_step(monkeypatch):
    demos = Demonstrations.from_arrays(np.random.default_rng(0).integers(40, size=(300, 20)), terminated=False)
    factored = estimate_occupancy(demos, num_states=40, discount=0.99)
    monkeypatch.setattr(occupancy, "MOST_FACTORED", 0)
    stepwise = estimate_occupancy(demos, num_states=40, discount=0.99)
    np.testing.assert_allclose(stepwise.occupancy, factored.occupancy, rtol=1e-9)
    assert 0.3 < stepwise.error / factored.error < 3


def test_rare_states_are_flagged_and_get_careful_intervals():
    demos = Demonstrations.from_arrays([[0, 1]] * 3 + [[0]] * 197, terminated=True)
    found = estimate_occupancy(demos, num_states=3, discount=0.5)
    assert found.reliable.tolist() == [False, False, False]
    exact = scipy.stats.binomtest(3, 200).proportion_ci(0.95, method="exact")
    # Three episodes leave half of their mass in state 1; the rest of theirs is in state 0.
    np.testing.assert_allclose([found.lower[1], found.upper[1]], [exact.low / 2, exact.high / 2], rtol=1e-9)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [1 - exact.high / 2, 1 - exact.low / 2], rtol=1e-9)
    # Never seen: the rule of three, for any contribution up to one.
    np.testing.assert_allclose([found.lower[2], found.upper[2]], [0, 1 - 0.025 ** (1 / 200)], rtol=1e-9)


def test_the_same_key_gives_the_same_error():
    demos = Demonstrations.from_arrays(np.random.default_rng(0).integers(3, size=(100, 4)), terminated=True)
    one, again, other = (
        estimate_occupancy(demos, num_states=3, discount=0.9, key=key) for key in (None, None, jax.random.key(1))
    )
    np.testing.assert_array_equal(one.upper, again.upper)
    assert one.error == again.error != other.error


@pytest.mark.parametrize(("episodes", "states"), [(50, 1), (50, 4), (1000, 30)])
def test_the_radius_before_the_data_is_its_formula(episodes, states):
    radius = l1_radius(episodes, states, confidence=0.9)
    assert radius == pytest.approx(np.sqrt((states - 1) / episodes) + np.sqrt(2 * np.log(10) / episodes), rel=1e-12)
    assert l1_radius(1, 1000) == 2


def test_the_certain_error_by_hand():
    world = MDP(np.eye(1000)[:, None], discount=0.9)
    walks = Demonstrations.from_arrays([[0], [1]] * 200, terminated=True)
    # Each of two states has 400 shares of zero or one, half of them one: √(200 - 400/4) / 400 each.
    deviation = np.sqrt(2 * np.log(4 / 0.05) / 400)  # Half of the risk, for two events.
    expected = 2 / (1 - 2 / 20) * (2 * 10 / 400 + deviation) + deviation
    assert certain_error(walks, world) == (pytest.approx(expected), 0)
    assert certain_error(walks[:4], world) == (2, 0)
    assert estimate_occupancy(walks, world).error < expected / 5


def test_the_box_is_bernsteins():
    walks = [[0, 1, 0, 1], [0], [1, 1, 0], [0, 0], [1, 0]] * 40
    # An episode shows (1-γ) Σ γ^t of its states; what follows it, γ^n in all, may be in any state.
    shown = np.array([[0.5 * sum(0.5**t for t, at in enumerate(walk) if at == s) for s in (0, 1)] for walk in walks])
    above = shown + np.array([0.5 ** len(walk) for walk in walks])[:, None]
    log = np.log(2 / (0.05 / 2 / 2))  # Two sides of two states share the risk.

    def bound(samples):
        rest = 7 * log / (3 * (len(samples) - 1))
        return np.sqrt(2 * samples.var(0, ddof=1) * log / len(samples)) + rest

    box = occupancy_box(Demonstrations.from_arrays(walks, terminated=False), HALF)
    np.testing.assert_allclose(box.lower, np.clip(shown.mean(0) - bound(shown), 0, 1), rtol=1e-12)
    np.testing.assert_allclose(box.upper, np.clip(above.mean(0) + bound(above), 0, 1), rtol=1e-12)
    assert 0 < box.lower.min() < box.upper.max() < 1  # Nothing was cut off.
    alone = occupancy_box(Demonstrations.from_arrays([[0, 1]], terminated=True), HALF)
    assert (alone.lower.tolist(), alone.upper.tolist()) == ([0, 0], [1, 1])
