"""Rewards of states and actions `[S, A]` wherever a planner or an evaluation takes one of states."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.errors import ConvergenceError
from robustirl.mdp import MDP, MarkovGame, mixture
from robustirl.mdp.policy import as_action_reward
from robustirl.planning import (
    Temperatures,
    discounted_return,
    expert_policy,
    policy_value,
    sampled_total_return,
    total_return,
)
from robustirl.planning.evaluation import state_action_occupancy
from robustirl.planning.operators import hard_backup, soft_backup, two_player_backup
from robustirl.planning.value_iteration import backward_induction
from tests.planners import newton, value_iteration
from tests.strategies import TEMPERATURES, games, generators, policies, tasks, vectors

SHAPES = ((5, 4),)  # JAX compiles anew for every shape and temperature.
SOFT, HARD = Temperatures(1.0, 0.0), Temperatures(0.0, 0.0)
SOLVERS = pytest.mark.parametrize(("solver", "temperatures"), [(value_iteration, SOFT), (newton, SOFT), (newton, HARD)])
MODERATE = (0.0, 0.5, 0.9, 0.99)
backup = eqx.filter_jit(two_player_backup)
induct = eqx.filter_jit(backward_induction)


@st.composite
def action_games(draw, **options):
    """A game and a reward of states and actions, with anything at all where there is no action."""
    game, _ = draw(games(shapes=SHAPES, discounts=MODERATE, **options))
    mask = np.asarray(game.mdp.mask)
    reward = draw(generators()).normal(size=mask.shape) * draw(st.sampled_from([1.0, 30.0]))
    if draw(st.booleans()):
        reward = np.round(reward)
    junk = draw(st.sampled_from([0.0, 1e6, -1e6, np.nan, np.inf, -np.inf]))
    return game, np.where(mask, reward, junk)


def extremum(q, mask, temperature, sign):
    """max^τ (sign 1) or min^β (sign -1) over the available actions, a state at a time."""
    out = []
    for row, available in zip(q, mask, strict=True):
        best = np.max(sign * row[available])
        spread = np.exp((sign * row[available] - best) / temperature).sum() if temperature else 1.0
        out.append(sign * (best + temperature * np.log(spread)))
    return np.array(out)


def reference(game, reward, value, temperatures):
    """V(s) = max^τ α q + (1-α) min^β q with q = R(s,a) + γ Σ T V, in plain NumPy."""
    mdp, alpha = game.mdp, float(game.alpha)
    mask = np.asarray(mdp.mask)
    q = np.where(mask, reward, 0) + float(mdp.discount) * np.asarray(mdp.kernel.probabilities) @ value
    return extremum(alpha * q, mask, temperatures.player, 1) + (1 - alpha) * extremum(
        q, mask, temperatures.opponent, -1
    )


@given(action_games(), st.sampled_from(TEMPERATURES), st.data())
def test_one_backup_is_the_formula(drawn, temperatures, data):
    game, reward = drawn
    value = data.draw(vectors(game.mdp.num_states))
    found = backup(game, jnp.asarray(reward), jnp.asarray(value), temperatures)
    np.testing.assert_allclose(found.value, reference(game, reward, value, temperatures), rtol=1e-11, atol=1e-11)
    for policy in (found.player, found.opponent):
        np.testing.assert_allclose(policy.sum(-1), 1, atol=1e-12)
        assert not np.asarray(policy)[~np.asarray(game.mdp.mask)].any()


@given(action_games(alphas=(0.9, 0.5)), st.data())
def test_one_backup_is_the_joint_game_of_executed_actions(drawn, data):
    # Q(s, a_pl, a_op): with probability α the player's action is executed and paid, otherwise the opponent's.
    game, reward = drawn
    mdp, alpha = game.mdp, float(game.alpha)
    value = data.draw(vectors(mdp.num_states))
    found = backup(game, jnp.asarray(reward), jnp.asarray(value))
    kernel, mask = np.asarray(mdp.kernel.probabilities), np.asarray(mdp.mask)
    for s in range(mdp.num_states):
        q = {a: reward[s, a] + float(mdp.discount) * kernel[s, a] @ value for a in np.flatnonzero(mask[s])}
        joint = {(a, b): alpha * q[a] + (1 - alpha) * q[b] for a, b in itertools.product(q, repeat=2)}
        worst = np.array([min(joint[a, b] for b in q) for a in q])
        np.testing.assert_allclose(found.value[s], np.logaddexp.reduce(worst), rtol=1e-11, atol=1e-11)


@given(action_games())
def test_hard_and_soft_backups_are_those_of_a_game_without_opponent(drawn):
    game, reward = drawn
    alone, value = MarkovGame(game.mdp), np.linspace(-1, 1, game.mdp.num_states)
    for function, temperature in ((hard_backup, 0.0), (soft_backup, 1.0)):
        found, _ = function(game.mdp, jnp.asarray(reward), jnp.asarray(value))
        expected = reference(alone, reward, value, Temperatures(temperature, 0.0))
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@SOLVERS
@given(action_games())
def test_solvers_find_the_fixed_point(solver, temperatures, drawn):
    game, reward = drawn
    solution = solver(game, reward, temperatures=temperatures)
    value = np.asarray(solution.value)
    residual = np.abs(reference(game, reward, value, temperatures) - value).max()
    # The reference contracts, so that its fixed point is within residual / (1-γ).
    assert residual / (1 - float(game.mdp.discount)) <= 2e-10 * max(1, np.abs(value).max())


@pytest.mark.parametrize(("solver", "temperatures"), [(value_iteration, SOFT), (newton, HARD)])
@given(games(shapes=SHAPES, discounts=MODERATE))
def test_a_reward_of_states_repeated_for_every_action_changes_nothing(solver, temperatures, drawn):
    game, reward = drawn
    repeated = np.repeat(reward[:, None], game.mdp.num_actions, axis=1)
    plain, pairs = (solver(game, r, temperatures=temperatures) for r in (reward, repeated))
    np.testing.assert_allclose(pairs.value, plain.value, atol=2e-10 * max(1, np.abs(plain.value).max()))
    if temperatures.player:  # Without entropy, which actions tie is a matter of the last digits.
        np.testing.assert_allclose(pairs.player, plain.player, atol=1e-6)


@given(action_games())
def test_backward_induction_is_as_many_backups(drawn):
    game, reward = drawn
    solution = induct(game, reward, 3)
    assert solution.value.shape == (4, game.mdp.num_states)
    value = np.zeros(game.mdp.num_states)
    for stage in reversed(range(3)):
        value = reference(game, reward, value, Temperatures())
        np.testing.assert_allclose(solution.value[stage], value, rtol=1e-11, atol=1e-11)


@given(action_games(), st.data())
def test_policies_are_valued_by_what_their_actions_pay(drawn, data):
    game, reward = drawn
    mdp = game.mdp
    policy = data.draw(policies(mdp))
    paid = (policy * np.where(mdp.mask, reward, 0)).sum(-1)
    chain = np.einsum("sa,sat->st", policy, mdp.kernel.probabilities)
    value = np.linalg.solve(np.eye(mdp.num_states) - float(mdp.discount) * chain, paid)
    scale = max(1, np.abs(value).max())
    np.testing.assert_allclose(policy_value(mdp, policy, reward), value, atol=1e-11 * scale)
    found = discounted_return(mdp, policy, reward)
    pairs = np.asarray(state_action_occupancy(mdp, policy))
    np.testing.assert_allclose(found, mdp.initial @ value, atol=1e-11 * scale)
    along = (pairs * np.where(mdp.mask, reward, 0)).sum() / (1 - float(mdp.discount))
    np.testing.assert_allclose(found, along, atol=1e-10 * scale)
    now, total = np.asarray(mdp.initial), 0.0
    for _ in range(8):
        now, total = now @ chain, total + now @ paid
    np.testing.assert_allclose(total_return(mdp, policy, reward, horizon=7), total, rtol=1e-11, atol=1e-11 * scale)


@given(tasks(shapes=SHAPES))
def test_returns_under_a_repeated_reward_are_those_under_the_reward_of_states(task):
    mdp, policy, reward = task
    repeated = np.repeat(reward[:, None], mdp.num_actions, axis=1)
    for function in (policy_value, total_return):
        plain, pairs = (function(mdp, policy, r) for r in (reward, repeated))
        np.testing.assert_allclose(pairs, plain, rtol=1e-9, atol=1e-9 * max(1, np.abs(np.asarray(plain)).max()))


@given(action_games(alphas=(1.0,)))
def test_the_optimal_expert_attains_the_optimal_value(drawn):
    game, reward = drawn
    expert = expert_policy(game.mdp, reward, kind="optimal")
    best = newton(game, reward, temperatures=Temperatures(0.0, 0.0)).value
    found = policy_value(game.mdp, expert, reward)
    np.testing.assert_allclose(found, best, atol=1e-9 * max(1, np.abs(best).max()))


TOLL = MDP(np.ones((1, 2, 1)), discount=0.5)  # One state and two actions, which differ in what they pay.


def test_the_better_paid_of_two_actions_that_lead_alike_is_taken():
    assert expert_policy(TOLL, [[1.0, 2.0]], kind="optimal").tolist() == [[0.0, 1.0]]
    game = newton(MarkovGame(TOLL, 0.75), [[1.0, 2.0]], temperatures=Temperatures(0.0, 0.0))
    np.testing.assert_allclose(game.value, [(0.75 * 2 + 0.25 * 1) / 0.5])
    assert game.opponent.tolist() == [[1.0, 0.0]]


def test_an_action_nobody_would_take_does_not_blunt_the_accuracy():
    # The unit of the stopping rule is what a step is worth, not the largest number in the table.
    world = MDP(np.array([[[0.7, 0.3], [1.0, 0.0]], [[0.2, 0.8], [0.0, 1.0]]]), discount=0.9)
    solution = value_iteration(world, [[1e-3, -1e9], [2e-3, -1e9]], temperatures=HARD)
    exact = np.linalg.solve(np.eye(2) - 0.9 * np.array([[0.7, 0.3], [0.2, 0.8]]), [1e-3, 2e-3])
    np.testing.assert_allclose(solution.value, exact, rtol=2e-10)


def test_an_accuracy_lost_to_canceling_rewards_is_admitted():
    # Half of 1e15 and half of -1e15 cancel to something of order one, of which few digits are left.
    game = MarkovGame(TOLL, 0.5)
    with pytest.raises(ConvergenceError, match="error bound"):
        newton(game, [[1e15, -1e15 + 3]], temperatures=Temperatures(0.0, 0.0))


@pytest.mark.parametrize("temperatures", [SOFT, HARD])
def test_the_derivative_is_still_the_discounted_chain_of_the_mixture(temperatures):
    rng = np.random.default_rng(4)
    mask = np.ones((5, 3), bool)
    mask[1, 2] = False
    world = MDP(rng.dirichlet(np.ones(5), size=(5, 3)) * mask[..., None], discount=0.9)
    game, reward = MarkovGame(world, 0.6), jnp.asarray(np.where(mask, rng.normal(size=(5, 3)), np.nan))
    value = jnp.asarray(rng.normal(size=5))
    found = backup(game, reward, value, temperatures)
    jacobian = jax.jit(jax.jacobian(lambda v: two_player_backup(game, reward, v, temperatures).value))(value)
    chain = world.kernel.chain(mixture(found.player, found.opponent, game.alpha)).dense()
    np.testing.assert_allclose(jacobian, 0.9 * chain, atol=1e-12)


def test_compiled_code_ignores_unavailable_actions_too():
    world = MDP([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.9)
    clean, junk = (jnp.array([[1.0, 2.0], [3.0, x]]) for x in (0.0, jnp.nan))
    solve = eqx.filter_jit(lambda reward: policy_value(world, [[0.5, 0.5], [1.0, 0.0]], reward))
    np.testing.assert_array_equal(solve(clean), solve(junk))
    np.testing.assert_array_equal(as_action_reward(junk, world), clean)


FUNCTIONS = {
    "value iteration": lambda reward: value_iteration(TOLL, reward),
    "newton": lambda reward: newton(TOLL, reward),
    "backward induction": lambda reward: backward_induction(TOLL, reward, 2),
    "expert": lambda reward: expert_policy(TOLL, reward, temperature=1.0),
    "value": lambda reward: policy_value(TOLL, [[0.5, 0.5]], reward),
    "total return": lambda reward: total_return(TOLL, [[0.5, 0.5]], reward),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_bad_rewards_are_refused(function, refused):
    with refused("the reward", "state 0, action 1", "nan"):
        function([[1.0, float("nan")]])
    with refused("the reward", "(1, 3)", "(1, 2)", "states, actions"):
        function([[1.0, 2.0, 3.0]])
    with refused("the reward", "rectangular"):
        function([[1.0], [1.0, 2.0]])
    with refused("the reward", "(1, 2, 1)"):
        function([[[1.0], [2.0]]])


def test_a_start_is_of_states_alone(refused):
    with refused("the initial value", "(1, 2)"):
        newton(TOLL, [[1.0, 2.0]], initial_value=[[1.0, 2.0]])


def test_sampling_wants_a_reward_of_states(refused):
    # Its trajectories are of the policy's chain: they name no actions.
    with refused("the reward", "(1, 2)", "(1,)"):
        sampled_total_return(TOLL, [[0.5, 0.5]], [[1.0, 2.0]], key=jax.random.key(0))
