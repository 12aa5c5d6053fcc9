"""Estimated occupancies against their definition, and against the exact ones of known worlds."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.demonstrations import (
    Demonstrations,
    episodes_needed,
    estimate_occupancy,
    l1_radius,
    sample_demonstrations,
    transition_counts,
)
from robustirl.mdp import as_occupancy
from robustirl.planning import state_occupancy
from tests.demonstrations.strategies import demonstrations
from tests.planning.test_sampling import random_task

TAILS = ("renormalize", "hold", "chain")
DISCOUNTS = st.sampled_from([0.0, 0.5, 0.9, 0.99])


def by_the_definition(demos, gamma, tail, steps=4000):
    """Every episode prolonged by thousands of steps, one step at a time."""
    chain = transition_counts(demos, 6).to_matrix().toarray()
    total = np.zeros(6)
    for states, _, terminated in demos:
        shown = np.zeros(6)
        for t, state in enumerate(states):
            shown[state] += (1 - gamma) * gamma**t
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
    found = estimate_occupancy(demos, num_states=6, discount=gamma, tail=tail)
    steps = int(np.ceil(np.log(1e-13) / np.log(gamma))) if gamma else 1
    np.testing.assert_allclose(found.occupancy, by_the_definition(demos, gamma, tail, steps), atol=1e-11)
    np.testing.assert_allclose(found.occupancy.sum(), 1, rtol=1e-12)
    unseen = [0 if e.terminated else 2 * gamma ** len(e.states) for e in demos]
    np.testing.assert_allclose(found.bias, np.mean(unseen), atol=1e-15)
    assert found.episodes == len(demos)
    assert 0 <= found.radius <= 2


@pytest.mark.parametrize("tail", TAILS)
@given(seed=st.integers(0, 2**16), cut=st.integers(0, 12), gamma=DISCOUNTS)
def test_the_bias_bounds_what_cutting_episodes_does(tail, seed, cut, gamma):
    mdp, policy, _ = random_task(seed % 4)
    whole = sample_demonstrations(mdp, policy, episodes=20, horizon=3000, key=jax.random.key(seed))
    assert whole.terminated.all()
    parts = [e.states[: cut + 1] for e in whole]
    ended = [len(e.states) <= cut + 1 for e in whole]
    short = Demonstrations.from_arrays(parts, terminated=ended)
    full = estimate_occupancy(whole, num_states=5, discount=gamma)
    found = estimate_occupancy(short, num_states=5, discount=gamma, tail=tail)
    assert full.bias == 0
    assert np.abs(found.occupancy - full.occupancy).sum() <= found.bias + 1e-12


def test_the_bias_is_attained():
    # The tail goes to a state that the shown part has not seen, at once and for ever.
    whole = Demonstrations.from_arrays([[0, 0, 1]], terminated=True)
    exact = estimate_occupancy(whole, num_states=2, discount=0.8).occupancy
    for tail in TAILS:
        found = estimate_occupancy(Demonstrations.from_arrays([[0, 0]]), num_states=2, discount=0.8, tail=tail)
        np.testing.assert_allclose(np.abs(found.occupancy - exact).sum(), found.bias, rtol=1e-12)


@pytest.mark.parametrize("tail", TAILS)
def test_many_episodes_come_near_the_exact_occupancy(tail):
    mdp, policy, _ = random_task(2)
    exact = np.asarray(state_occupancy(mdp, policy))
    demos = sample_demonstrations(mdp, policy, episodes=20_000, horizon=100, key=jax.random.key(0))
    found = estimate_occupancy(demos, num_states=5, discount=0.9, tail=tail)
    distance = np.abs(found.occupancy - exact).sum()
    assert distance < 0.02
    assert distance <= found.error
    as_occupancy(found.occupancy, mdp)


def test_the_chain_knows_more_than_the_end_does():
    # Two states in turn: short recordings, and only `chain` knows that the walk goes on for ever.
    demos = Demonstrations.from_arrays([[0, 1], [1, 0, 1]])
    exact = 0.5 * np.array([1 / 1.9, 0.9 / 1.9]) + 0.5 * np.array([0.9 / 1.9, 1 / 1.9])
    by_chain = estimate_occupancy(demos, num_states=2, discount=0.9, tail="chain").occupancy
    np.testing.assert_allclose(by_chain, exact, atol=1e-12)


def test_the_radius_falls_with_episodes_and_is_inverted():
    radii = [l1_radius(m, 100) for m in (1, 10, 100, 1000, 10_000)]
    assert radii == sorted(radii, reverse=True)
    assert radii[0] == 2
    for goal in (0.05, 0.3, 1.7):
        for size in (1, 2, 100):
            needed = episodes_needed(goal, size, confidence=0.9)
            assert l1_radius(needed, size, confidence=0.9) <= goal
            assert needed == 1 or l1_radius(needed - 1, size, confidence=0.9) > goal
    assert episodes_needed(2.5, 100) == 1


@pytest.mark.parametrize("spread", ["one state an episode", "many states an episode"])
def test_the_radius_holds_as_often_as_it_says(spread):
    rng, size, episodes = np.random.default_rng(0), 20, 60
    exact = rng.dirichlet(np.full(size, 0.5))
    misses, radii = 0, []
    for _ in range(100):
        if spread == "one state an episode":
            demos = Demonstrations.from_arrays(rng.choice(size, p=exact, size=(episodes, 1)), terminated=True)
        else:
            demos = Demonstrations.from_arrays(rng.choice(size, p=exact, size=(episodes, 200)))
        found = estimate_occupancy(demos, num_states=size, discount=0.99, confidence=0.9)
        radii.append(found.radius)
        misses += np.abs(found.occupancy - exact).sum() > found.error
    assert misses <= 10
    assert max(radii) <= l1_radius(episodes, size, confidence=0.95)  # Half of the risk is for the data's own bound.


def test_data_that_agree_shrink_the_radius():
    demos = Demonstrations.from_arrays(np.tile(np.arange(2500), (1000, 1)))
    found = estimate_occupancy(demos, num_states=2500, discount=0.99)
    assert found.radius < 0.3 < l1_radius(1000, 2500)


def test_requests_that_cannot_be_met_are_refused(refused):
    demos = Demonstrations.from_arrays([[0, 4]])
    with refused("state 4", "4 states"):
        estimate_occupancy(demos, num_states=4, discount=0.9)
    for gamma in (1.0, -0.1, float("nan")):
        with refused("discount", repr(gamma)):
            estimate_occupancy(demos, num_states=5, discount=gamma)
    with refused("tail", "'guess'", "chain, hold, renormalize"):
        estimate_occupancy(demos, num_states=5, discount=0.9, tail="guess")
    for confidence in (0.0, 1.0, float("nan")):
        with refused("confidence", repr(confidence)):
            estimate_occupancy(demos, num_states=5, discount=0.9, confidence=confidence)
    with refused("resamples", "10", "100"):
        estimate_occupancy(demos, num_states=5, discount=0.9, resamples=10)
    with refused("radius", "0"):
        episodes_needed(0.0, 5)


def test_the_radius_of_the_data_by_hand():
    found = estimate_occupancy(
        Demonstrations.from_arrays([[0], [1]] * 200, terminated=True), num_states=1000, discount=0.9
    )
    # Each of two states has 400 shares of zero or one, half of them one: √(200 - 400/4) / 400 each.
    deviation = np.sqrt(2 * np.log(4 / 0.05) / 400)  # Half of the risk, for two events.
    assert found.radius == pytest.approx(2 / (1 - 2 / 20) * (2 * 10 / 400 + deviation) + deviation)


@pytest.mark.parametrize(("terminated", "within"), [(True, 50_000), (False, 10_000)])
def test_more_states_than_memory_holds_are_refused(monkeypatch, refused, terminated, within):
    demos = Demonstrations.from_arrays([[0, 1], [1]], terminated=terminated)
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 2 * 10**6)
    estimate_occupancy(demos, num_states=within, discount=0.5)
    for size in (6 * within, 10**9):
        with refused(f"an occupancy of {size} states needs about", "GiB", "smaller"):
            estimate_occupancy(demos, num_states=size, discount=0.5)
