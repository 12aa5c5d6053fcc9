r"""Newton's method with sparse factorisations, on the processor: for worlds that see very far.

Near γ = 1 a Krylov method needs as many products as the world is long, and loses digits on the way; a factorisation
of I - γ P does not care. SuperLU's (through SciPy) is taken where a world is nearly planar, as grids are, so that the
factors stay sparse. The loop runs in Python: SuperLU cannot be compiled into a JAX program.

Rank-one noise P = B + w uᵀ is not written out but put in by the Sherman-Morrison formula.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, AbstractChain, MarkovGame, as_action_reward, as_count, as_game, concrete
from robustirl.planning.columns import ColumnGame, column_game
from robustirl.planning.operators import Reward, Temperatures, as_temperatures, two_player_backup
from robustirl.planning.solvers.newton_krylov import SWEEPS, approach
from robustirl.planning.solvers.value_iteration import most_sweeps, sweep
from robustirl.planning.verdict import Solution, Verdict, as_start, checked, stopping_rule
from robustirl.types import ArrayLike

PATIENCE = 30  # Steps that may pass before the best residual is halved.


@working_precision
def newton_sparse(
    game: MarkovGame | MDP,
    reward: ArrayLike,
    *,
    temperatures: Temperatures = Temperatures(),
    initial_value: ArrayLike | None = None,
    tolerance: float | None = None,
    max_steps: int = 500,
    throw: bool = True,
) -> Solution:
    """Solve the game by Newton steps with sparse factorisations; the arguments are those of `value_iteration`.

    Not for use inside `jit`, and not for worlds whose states are all connected: the factors would fill up.

    Example:
        >>> from robustirl.mdp import SuccessorKernel
        >>> ring = SuccessorKernel([[[1]], [[0]]], [[[1.0]], [[1.0]]])
        >>> newton_sparse(MDP(ring, discount=0.5), [3.0, 0.0]).value.round(6).tolist()
        [4.0, 2.0]
    """
    game, temperatures = as_game(game), as_temperatures(temperatures)
    if not concrete(game, reward):
        raise InvalidInputError("newton_sparse cannot run inside jit; use newton there.")
    reward, value = as_action_reward(reward, game.mdp), as_start(initial_value, game.mdp, "the initial value")
    rule = stopping_rule(game, reward, tolerance, temperatures)
    most = as_count("max_steps", max_steps, 1)
    columns = column_game(game, reward, temperatures)
    steps, milestone, waiting, best = 0, np.inf, 0, value
    if initial_value is None:
        lower, done = _approach(columns, value, most)
        value, steps = lower.astype(value.dtype), int(done)
    while True:
        backup, chain, residual, satisfied = _look(columns, value, rule)
        if float(residual) <= milestone / 2:
            milestone, waiting, best = float(residual), 0, value
        else:
            waiting += 1
        if bool(satisfied) or not np.isfinite(float(residual)) or steps >= most or waiting > PATIENCE:
            break
        change = solve_sparse(chain, float(game.mdp.discount), np.asarray(backup - value))
        value = value + jnp.asarray(change, value.dtype)
        if waiting:
            value = _sweeps(columns, value, jnp.asarray(SWEEPS * 2 ** min(waiting, 8)))
        steps += 1
    value = value if bool(satisfied) or milestone == np.inf else best
    solution = _finish(game, columns, value, rule, temperatures, jnp.asarray(steps))
    return checked(solution, throw=throw, solver="Newton's method with sparse factorisations")


def solve_sparse(chain: AbstractChain, discount: float, right: np.ndarray) -> np.ndarray:
    """(I - γ P)⁻¹ b by SuperLU, refined once."""
    import scipy.sparse  # Here, so that `import robustirl` stays light.
    import scipy.sparse.linalg

    matrix = scipy.sparse.csc_array(scipy.sparse.eye_array(len(right)) - discount * chain.sparse_part())
    # The pattern of I - γP is nearly symmetric and its diagonal never small, so no pivots need to be looked for.
    factors = scipy.sparse.linalg.splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )

    def solve(b: np.ndarray) -> np.ndarray:
        x = factors.solve(b)
        return x + factors.solve(b - matrix @ x)

    noise = chain.rank_one()
    if noise is None:
        return solve(right)
    through, plain = solve(np.asarray(noise.weights)), solve(right)
    u = discount * np.asarray(noise.distribution)
    return plain + through * ((u @ plain) / (1 - u @ through))


@eqx.filter_jit
def _approach(columns: ColumnGame, start: Float[Array, " S"], most: int):
    return approach(columns.lowered(), start.astype(jnp.float32), most)


@eqx.filter_jit
def _look(columns: ColumnGame, value: Float[Array, " S"], rule):
    backup, chain = columns.backup(value)
    residual = jnp.max(jnp.abs(backup - value))
    return backup, chain, residual, rule.satisfied(residual, value)


@eqx.filter_jit
def _sweeps(columns: ColumnGame, value: Float[Array, " S"], count) -> Float[Array, " S"]:
    return jax.lax.fori_loop(0, count, lambda _, v: columns.values(v), value)


@eqx.filter_jit
def _finish(game: MarkovGame, columns: ColumnGame, value, rule, temperatures: Temperatures, steps) -> Solution:
    residual = jnp.max(jnp.abs(columns.values(value) - value))
    value, residual, swept = sweep(columns, value, rule, most_sweeps(rule, residual))
    backup = two_player_backup(game, reward_of(columns), value, temperatures)
    verdict = Verdict(rule.satisfied(residual, value), steps + swept, residual, rule.error_bound(residual, value))
    return Solution(value, backup.player, backup.opponent, game.alpha, verdict)


def reward_of(columns: ColumnGame) -> Reward:
    """The reward as it was given, `[S]` or `[S, A]`."""
    return columns.reward if columns.reward.ndim == 1 else columns.reward.T
