"""Worlds at the edge: each is solved to the promised accuracy, against extended precision, or refused in a sentence."""

import dataclasses
import functools

import numpy as np
import pytest

from robustirl._jax import in_working_precision, single_precision
from robustirl.errors import ConvergenceError
from robustirl.irl import fit
from robustirl.irl.result import Status
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Temperatures, state_occupancy
from tests.planners import newton, value_iteration
from tests.reliability import reference

SOLVERS = pytest.mark.parametrize("solver", [value_iteration, newton])
SOFT, HARD = Temperatures(1.0, 0.0), Temperatures(0.0, 0.0)
STATES, ACTIONS = 5, 3  # All worlds but the tiniest have this shape, so that every solver compiles once.


@dataclasses.dataclass(eq=False)
class Hard:
    """A world, a reward and all that makes them hard."""

    kernel: np.ndarray
    reward: np.ndarray
    discount: float = 0.9
    alpha: float = 1.0
    temperatures: Temperatures = SOFT
    initial: np.ndarray | None = None
    tied: bool = False  # What the opponent chooses between is within the tie margin, 1e-12 of the largest value.

    @functools.cached_property
    def exact(self) -> reference.Reference:
        return reference.solve_game(
            self.kernel, self.reward, discount=self.discount, alpha=self.alpha, temperatures=self.temperatures
        )

    @property
    def game(self) -> MarkovGame:
        return MarkovGame(MDP(self.kernel, discount=self.discount, initial=self.initial), self.alpha)


def any_kernel(seed=0, states=STATES, actions=ACTIONS):
    return np.random.default_rng(seed).dirichlet(np.full(states, 0.5), size=(states, actions))


def certain(*targets):
    """The kernel in which action a leads from s to targets[s][a] for certain; None is no action."""
    kernel = np.zeros((len(targets), max(map(len, targets)), len(targets)))
    for s, row in enumerate(targets):
        for a, target in enumerate(row):
            if target is not None:
                kernel[s, a, target] = 1
    return kernel


REWARD = np.array([1.0, -2.0, 0.5, 0.0, -1.0])
ANY = any_kernel()
RING = certain(*[[(s + 1) % 5, (s - 1) % 5, s] for s in range(5)])
TERMINALS = certain([1, 2, 0], [3, 0, 1], [4, 0, 2], [3, None, None], [4, None, None])
SPLIT = certain([0, 1, 1], [1, 0, 0], [3, 4, 2], [4, 2, 3], [2, 3, 4])  # 2, 3 and 4 are out of reach of 0 and 1.
TWINS = np.concatenate([ANY[:, :2], ANY[:, 1:2]], 1)

CASES = {
    "γ = 0.9999": Hard(ANY, REWARD, 0.9999),
    "γ = 0.9999 with an opponent": Hard(ANY, REWARD, 0.9999, 0.8),
    "γ = 0.9999 without entropy": Hard(ANY, REWARD, 0.9999, 0.8, HARD),
    "γ = 0": Hard(ANY, REWARD, 0.0, 0.8),
    "rewards of a million": Hard(ANY, 1e6 * REWARD, alpha=0.8),
    "rewards of a million without entropy": Hard(ANY, 1e6 * REWARD, alpha=0.8, temperatures=HARD),
    "rewards of a million at γ = 0.9999": Hard(ANY, 1e6 * REWARD, 0.9999, 0.8),
    "rewards of 1e-12": Hard(ANY, 1e-12 * REWARD, alpha=0.8, tied=True),
    "rewards of 1e-12 without entropy": Hard(ANY, 1e-12 * REWARD, alpha=0.8, temperatures=HARD),
    "no reward at all": Hard(ANY, 0 * REWARD, alpha=0.8),
    "no reward and no entropy": Hard(ANY, 0 * REWARD, alpha=0.8, temperatures=HARD),
    "several terminal states": Hard(TERMINALS, np.array([-1.0, -1, -1, 0, 0]), 0.99, 0.9),
    "terminal states that pay": Hard(TERMINALS, np.array([0.0, 0, 0, 1, -1]), 0.9999, 0.9),
    "terminal states that pay, without entropy": Hard(TERMINALS, np.array([0.0, 0, 0, 1, -1]), 0.99, 0.9, HARD),
    "states out of reach": Hard(SPLIT, REWARD, 0.99, 0.9, initial=np.array([1.0, 0, 0, 0, 0])),
    "a single action": Hard(np.concatenate([ANY[:, :1], 0 * ANY[:, 1:]], 1), REWARD, 0.99, 0.5),
    "identical actions": Hard(TWINS, REWARD, alpha=0.7),
    "identical actions without entropy": Hard(TWINS, REWARD, alpha=0.7, temperatures=HARD),
    "α = 1e-6": Hard(ANY, REWARD, 0.99, 1e-6),
    "α = 1e-6 without entropy": Hard(ANY, REWARD, 0.99, 1e-6, HARD),
    "α = 1e-300": Hard(ANY, REWARD, 0.9, 1e-300),
    "ties everywhere": Hard(RING, np.ones(5), 0.99, 0.8),
    "ties everywhere, without entropy": Hard(RING, np.ones(5), 0.99, 0.8, HARD),
    "a mirror": Hard(RING, np.array([-1.0, 0, 3, 3, 0]), 0.99, 0.8, HARD),
}


@SOLVERS
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_it_is_solved_to_the_promised_accuracy(solver, case):
    exact = case.exact
    found = solver(case.game, case.reward, temperatures=case.temperatures)
    size = np.abs(exact.value).max()
    unit = max(case.temperatures) or np.abs(case.reward).max() / 2 or 1.0
    promised = max(1e-10, 16 * np.finfo(float).eps / (1 - case.discount)) * max(unit, float(size))
    assert exact.bound <= promised / 20  # The reference is good enough to judge.
    error = float(np.abs(np.asarray(found.value, np.longdouble) - exact.value).max())
    assert found.verdict.converged
    assert error <= found.verdict.error_bound + exact.bound
    assert error <= promised + exact.bound
    # A policy is as sharp as the value, measured in temperatures; without entropy it is a choice, or a tie.
    for own, other, temperature in zip(
        (found.player, found.opponent), (exact.player, exact.opponent), case.temperatures, strict=True
    ):
        if case.tied and not temperature:
            continue
        allowed = 2 * promised / temperature if temperature else 1e-12
        np.testing.assert_allclose(np.asarray(own), np.asarray(other, float), rtol=0, atol=max(allowed, 1e-12))


@SOLVERS
def test_a_million_times_the_reward_is_the_same_game_without_entropy(solver):
    small = solver(MarkovGame(CASES["a mirror"].game.mdp, 0.8), CASES["a mirror"].reward, temperatures=HARD)
    for scale in (1e6, 1e-12, 2.0**-300, 2.0**300):
        large = solver(MarkovGame(CASES["a mirror"].game.mdp, 0.8), scale * CASES["a mirror"].reward, temperatures=HARD)
        np.testing.assert_allclose(large.value / scale, small.value, rtol=1e-9)
        assert np.array_equal(large.player, small.player)
        assert np.array_equal(large.opponent, small.opponent)


@SOLVERS
@pytest.mark.parametrize("discount", [0.0, 0.9999])
def test_a_single_state_pays_for_ever(solver, discount):
    found = solver(MDP([[[1.0]]], discount=discount), [2.5])
    assert found.value.item() == pytest.approx(2.5 / (1 - discount), rel=1e-10)


@pytest.mark.parametrize("alpha", [0.0, -0.0, -1e-300])
def test_an_alpha_of_nothing_is_refused(alpha, refused):
    with refused(f"alpha is {alpha!r}, but a number with 0 < alpha <= 1 is needed."):
        MarkovGame(CASES["γ = 0"].game.mdp, alpha)


@SOLVERS
def test_a_tolerance_that_rounding_cannot_keep_is_refused(solver, refused):
    with refused("the tolerance 1e-13 is out of reach of float64 at discount 0.9999"):
        solver(CASES["γ = 0.9999"].game, REWARD, tolerance=1e-13)


@SOLVERS
def test_a_discount_that_leaves_no_digit_is_refused(solver, refused):
    with refused("the discount γ is 0.999999999999999, so close to 1 that float64 leaves no digit of a value"):
        solver(MDP(ANY, discount=1 - 1e-15), REWARD)
    world = MDP(ANY, discount=1 - 1e-6)
    with single_precision(), refused("is so close to 1 that float32 cannot certify a single digit of a value"):
        solver(in_working_precision(world), np.asarray(REWARD, np.float32))


def test_a_discount_very_near_to_one_costs_digits_openly():
    world = MDP(ANY, discount=1 - 1e-10)
    with pytest.raises(ConvergenceError, match=r"at discount 0\.9999999999 float64 can certify values"):
        newton(world, REWARD)
    found = newton(world, REWARD, throw=False)
    exact = reference.solve_game(ANY, REWARD, discount=float(found.value.dtype.type(1 - 1e-10)))
    error = float(np.abs(np.asarray(found.value, np.longdouble) - exact.value).max())
    assert error <= found.verdict.error_bound + exact.bound
    assert found.verdict.error_bound <= 1e-4 * np.abs(found.value).max()


@pytest.mark.parametrize("name", ["γ = 0.9999", "several terminal states", "states out of reach", "ties everywhere"])
def test_occupancies_are_exact_and_vanish_where_no_one_comes(name):
    case = CASES[name]
    mdp = case.game.mdp
    policy = np.asarray(value_iteration(case.game, case.reward).player)
    exact = reference.occupancy(case.kernel, policy, discount=case.discount, initial=mdp.initial)
    found = state_occupancy(mdp, policy)
    np.testing.assert_allclose(np.asarray(found), exact.astype(float), rtol=0, atol=1e-11)
    if name == "states out of reach":
        assert found[2:].tolist() == [0, 0, 0]


FITS = [
    ("γ = 0.9999", 1.0),
    ("γ = 0.9999 with an opponent", 0.8),
    ("several terminal states", 0.9),
    ("terminal states that pay", 0.9),
    ("states out of reach", 0.9),
    ("a single action", 0.5),
    ("identical actions", 0.7),
    ("α = 1e-6", 1e-6),
    ("ties everywhere", 0.8),
    ("no reward at all", 1.0),
]


@pytest.mark.parametrize(("name", "alpha"), FITS)
def test_a_fit_says_truly_how_far_it_came(name, alpha):
    """Whatever the case, the learned game is solved, and the gap is that of the policies that are returned."""
    case = CASES[name]
    mdp = case.game.mdp
    expert = reference.solve_game(case.kernel, case.reward, discount=case.discount)
    target = reference.occupancy(case.kernel, expert.player, discount=case.discount, initial=mdp.initial)
    found = fit(mdp, target.astype(float), alpha=alpha, steps=60, throw=False)
    assert found.verdict.status in (Status.MAX_STEPS, Status.CONVERGED, Status.SETTLED), name
    mixed = alpha * np.asarray(found.player, np.longdouble) + (1 - alpha) * np.asarray(found.opponent)
    own = reference.occupancy(case.kernel, mixed, discount=case.discount, initial=mdp.initial)
    np.testing.assert_allclose(np.asarray(found.occupancy), own.astype(float), rtol=0, atol=1e-9)
    assert float(found.verdict.occupancy_gap) == pytest.approx(float(np.abs(own - target).sum()), abs=1e-8)
    exact = reference.solve_game(case.kernel, found.reward, discount=case.discount, alpha=alpha)
    error = float(np.abs(np.asarray(found.value) - exact.value).max())
    assert error <= float(found.verdict.error_bound) + exact.bound
    duals = np.asarray(found.history.dual)
    assert (
        duals[-1] <= duals[0] + 1e-4
    )  # Adam wobbles; but learning lowers the dual, though with an opponent not the gap.


@pytest.mark.slow
def test_a_fit_without_choices_is_finished_at_once():
    lonely = fit(MDP([[[1.0]]], discount=0.9999), [1.0], alpha=1.0, steps=60, tolerance=1e-9)
    assert lonely.verdict.status == Status.CONVERGED
    assert int(lonely.verdict.steps) == 0


@pytest.mark.parametrize("alpha", [1.0, 0.7])
def test_an_expert_of_zero_probability_states_keeps_rewards_finite(alpha):
    """No policy matches an expert who is nowhere the learner starts: the rewards grow, the verdict tells."""
    case = CASES["states out of reach"]
    mdp = MDP(case.kernel, discount=0.9, initial=[0.5, 0.5, 0, 0, 0])
    found = fit(mdp, [0, 0, 0.5, 0.5, 0], alpha=alpha, steps=60, throw=False)
    assert np.isfinite(found.reward).all()
    assert float(found.verdict.occupancy_gap) == pytest.approx(2.0, abs=1e-9)
    assert found.verdict.status in (Status.MAX_STEPS, Status.SETTLED)
