"""Tables of Gymnasium read exactly: values against an independent value iteration on the table; vector environments."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.envs import from_gymnasium_vector
from robustirl.envs.gymnasium import VectorWorld, _actions_of, _flattener, from_gymnasium
from robustirl.errors import InvalidInputError
from robustirl.planning import Temperatures
from tests.planners import value_iteration
from tests.strategies import generators, undisturbed_randomness

DISCOUNT = 0.99
GREEDY = Temperatures(0.0, 0.0)


def arrays(table):
    """The table as arrays `[S, A, K]`: probability, successor, reward, flag."""
    depth = max(len(outcomes) for actions in table.values() for outcomes in actions.values())
    empty = [(0.0, 0, 0.0, False)] * depth
    cells = [[(table[s][a] + empty)[:depth] for a in range(len(table[0]))] for s in range(len(table))]
    p, successor, r, ended = (np.array([[[o[i] for o in c] for c in row] for row in cells]) for i in range(4))
    return p, successor, r, ended.astype(bool)


def optimal_values(table):
    """Value iteration on Gymnasium's table, an ended episode being worth nothing."""
    p, successor, r, ended = arrays(table)
    value = np.zeros(len(table))
    while True:
        new = (p * (r + DISCOUNT * np.where(ended, 0, value[successor]))).sum(-1).max(-1)
        if np.abs(new - value).max() <= 1e-12 * (1 - DISCOUNT):
            return new
        value = new


WORLDS = {
    "lake": ("FrozenLake-v1", {}),
    "large lake": ("FrozenLake8x8-v1", {}),
    "large lake, dry": ("FrozenLake8x8-v1", {"is_slippery": False}),
    "lake with prices": ("FrozenLake-v1", {"reward_schedule": (3, -2, -1)}),
    "cliff": ("CliffWalking-v1", {}),
    "slippery cliff": ("CliffWalkingSlippery-v1", {}),
    "taxi": ("Taxi-v4", {}),
    "taxi in rain": ("Taxi-v4", {"is_rainy": True}),
}


@pytest.mark.parametrize(("name", "options"), WORLDS.values(), ids=WORLDS.keys())
def test_optimal_values_are_those_of_the_table(name, options):
    env = from_gymnasium(name, discount=DISCOUNT, **options)
    model = gymnasium.make(name, **options).unwrapped
    expected = optimal_values(model.P)
    found = np.asarray(value_iteration(env.mdp(), env.reward, temperatures=GREEDY).value)
    ends = absorbing(env)[: len(expected)]
    assert ends.sum() == {"FrozenLake-v1": 5, "FrozenLake8x8-v1": 11, "Taxi-v4": 0}.get(name, 1)
    np.testing.assert_allclose(found[: len(expected)][~ends], expected[~ends], atol=1e-9)
    np.testing.assert_allclose(found[absorbing(env)], 0, atol=1e-12)
    assert expected[~ends].max() > expected[~ends].min() + 0.1
    start = np.asarray(env.mdp().initial)
    np.testing.assert_allclose(start[: len(expected)], model.initial_state_distrib, atol=1e-15)
    np.testing.assert_allclose(start.sum(), 1)


def absorbing(env):
    kernel = env.outcomes.dense()
    return np.all(kernel[np.arange(len(kernel)), :, np.arange(len(kernel))] == 1, axis=-1)


def test_outcomes_listed_twice_are_merged():
    env = from_gymnasium("FrozenLake-v1")  # In the corner, left and up both stay.
    row = env.outcomes.dense()[0, 0]
    np.testing.assert_allclose(row[[0, 4]], [2 / 3, 1 / 3])
    assert (env.outcomes.probabilities[0, 0] > 0).sum() == 2


class Tabled(gymnasium.Env):
    """An environment that is its table."""

    def __init__(self, table, start):
        self.P, self.initial_state_distrib = table, np.asarray(start)


@st.composite
def tables(draw, size=6, actions=3):
    rng = draw(generators())
    habit = rng.random(size) < 0.5  # States that mostly end the episode.
    table = {}
    for s in range(size):
        table[s] = {}
        for a in range(actions):
            shares = rng.dirichlet(np.ones(3))
            successors = rng.integers(size, size=3)
            ended = [bool(habit[t] ^ (rng.random() < draw(st.sampled_from([0.0, 0.1])))) for t in successors]
            rewards = np.round(rng.normal(size=3), 1)
            table[s][a] = [
                (float(p), int(t), float(r), e) for p, t, r, e in zip(shares, successors, rewards, ended, strict=True)
            ]
    start = np.zeros(size)
    start[draw(st.integers(0, size - 1))] = 1
    with undisturbed_randomness():
        return Tabled(table, start)


@given(tables())
def test_any_table_is_read_exactly(model):
    env = from_gymnasium(model, discount=0.9)
    kernel, ends, size = env.outcomes.dense(), absorbing(env), len(model.P)
    assert len(ends) - size in (0, 1)
    np.testing.assert_allclose(kernel.sum(-1), 1)
    found = np.linalg.solve(np.eye(len(ends)) - 0.9 * kernel.mean(1), env.reward.mean(1))
    p, successor, r, ended = arrays(model.P)
    value = np.zeros(size)
    for _ in range(400):
        value = (p * (r + 0.9 * np.where(ended, 0, value[successor]))).sum(-1).mean(-1)
    live = ~ends[:size]
    np.testing.assert_allclose(found[:size][live], value[live], atol=1e-11)


def test_an_action_without_outcomes_is_not_available():
    env = from_gymnasium(
        Tabled({0: {0: [(1.0, 1, 2.0, False)], 1: []}, 1: {0: [(1.0, 0, 0.0, False)], 1: []}}, [1.0, 0])
    )
    assert env.mdp().mask.tolist() == [[True, False], [True, False]]
    assert env.name == "Tabled"


spaces = gymnasium.spaces


def test_actions_are_choices_or_numbers_within_bounds():
    choices, low, high = _actions_of(spaces.Discrete(4))
    assert (choices, low.size, high.size) == (4, 0, 0)
    choices, low, high = _actions_of(
        spaces.Box(np.array([[-1.0, -2.0]], np.float32), np.array([[0.5, 3.0]], np.float32))
    )
    assert (choices, low.tolist(), high.tolist()) == (0, [-1, -2], [0.5, 3])
    for space in (spaces.Box(0, 5, (2,), np.int64), spaces.MultiBinary(3), spaces.MultiDiscrete([2, 3])):
        with pytest.raises(InvalidInputError, match="but a Box of real numbers or a Discrete space is needed"):
            _actions_of(space)


def test_observations_become_rows_of_numbers():
    flatten = _flattener(spaces.Discrete(3, start=2))
    np.testing.assert_array_equal(flatten(np.array([2, 4])), [[1, 0, 0], [0, 0, 1]])
    rows = _flattener(spaces.Box(-1, 1, (2, 2)))(np.arange(8.0).reshape(2, 2, 2))
    np.testing.assert_array_equal(rows, [[0, 1, 2, 3], [4, 5, 6, 7]])
    with pytest.raises(InvalidInputError):
        _flattener(spaces.MultiBinary(3))


def test_actions_are_translated_for_the_environments():
    carts = from_gymnasium_vector("CartPole-v1", environments=2)
    assert repr(carts) == "VectorWorld(CartPole-v1: 2 environments, 4 numbers seen, one of 2 actions)"
    assert carts._as_actions(np.array([[0.1, 0.9], [0.3, 0.2]])).tolist() == [1, 0]
    counted = SimpleNamespace(envs=SimpleNamespace(single_action_space=spaces.Discrete(2, start=5)), _choice=2)
    assert VectorWorld._as_actions(counted, np.array([[0.1, 0.9], [0.3, 0.2]])).tolist() == [6, 5]  # pyright: ignore
    poles = from_gymnasium_vector("Pendulum-v1", environments=2)
    assert repr(poles) == "VectorWorld(Pendulum-v1: 2 environments, 3 numbers seen, 1 numbers an action)"
    assert poles._as_actions(np.array([[-5.0], [0.5]])).tolist() == [[-2], [0.5]]
    for world in (carts, poles):
        world.close()


def test_taxi_has_one_more_state_for_ended_episodes_and_the_others_none():
    ends = {"Taxi-v4": 500, "FrozenLake-v1": None, "CliffWalking-v1": None}
    assert {name: from_gymnasium(name).end for name in ends} == ends


REFUSED = {
    "Blackjack-v1, which has no attribute P": (lambda: from_gymnasium("Blackjack-v1"), ["Blackjack-v1", "attribute P"]),
    "no environment": (lambda: from_gymnasium("Lake-v1"), ["'Lake-v1'"]),
    "fickle": (lambda: from_gymnasium("Taxi-v4", fickle_passenger=True), ["fickle", "fickle_passenger=False"]),
    "options of an environment": (
        lambda: from_gymnasium(gymnasium.make("FrozenLake-v1"), is_slippery=False),
        ["is_slippery", "an environment was given"],
    ),
    "row": (
        lambda: from_gymnasium(
            Tabled({0: {0: [(0.5, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}}, [1.0, 0.0])
        ).mdp(),
        ["for state 0, action 0", "0.5"],
    ),
    "states": (
        lambda: from_gymnasium(Tabled({0: {0: [(1.0, 7, 0.0, False)]}, 1: {0: [(1.0, 1, 0.0, False)]}}, [1.0, 0.0])),
        ["3 states from 0 to 7", "0 to 1"],
    ),
    "seed": (lambda: from_gymnasium_vector("CartPole-v1", environments=1, seed=2**32), ["the seed is 4294967296"]),
    "horizon": (lambda: from_gymnasium_vector("CartPole-v1", environments=1, horizon=0), ["the horizon is 0"]),
    "count": (lambda: from_gymnasium_vector("CartPole-v1", environments=10**9), ["environments is 1000000000"]),
}


@pytest.mark.parametrize(("attempt", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_requests_are_named(attempt, words, refused):
    with refused(*words):
        attempt()
