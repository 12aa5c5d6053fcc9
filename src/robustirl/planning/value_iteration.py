r"""Value iteration for the two-player game (Algorithm 2), without and with a horizon.

V_{k+1} = B(V_k). B is a γ-contraction in the maximum norm, so the error of V_k is at most ‖B(V_k) - V_k‖ / (1-γ). The
sweeps stop when that guarantees the tolerance. They reach any tolerance above rounding within
log(tolerance (1-γ) / ‖first residual‖) / log γ sweeps, which is the default limit. Over a finite horizon as many
backups from the terminal value are exact.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl._check import as_count
from robustirl._jax import PlainModule, as_float, jit, working_precision
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.game import as_game
from robustirl.mdp.policy import as_action_reward
from robustirl.planning.operators import Backup, Reward, Temperatures, as_temperatures, two_player_backup
from robustirl.planning.problem import AbstractSolver, Memory, Operator, PlanningProblem, Vector
from robustirl.planning.verdict import Solution, StoppingRule, as_start
from robustirl.types import ArrayLike


class ValueIteration(AbstractSolver):
    """Repeat backups, about log(1/tolerance) / (1-γ) of which are needed.

    Each costs one product with the kernel.

    Example:
        >>> from robustirl.mdp import MDP
        >>> from robustirl.planning import solve
        >>> round(solve(MDP([[[1.0]]], discount=0.5), [1.0], solver=ValueIteration()).value.item(), 6)
        2.0
    """

    description: ClassVar[str] = "value iteration"

    def steps(self, problem: PlanningProblem, memory: Memory, max_steps: Int[Array, ""]) -> tuple[Solution, Memory]:
        entropies = sum(problem.temperatures) * jnp.log(problem.game.mdp.num_actions)
        first = jnp.max(jnp.abs(problem.reward)) + 2 * jnp.max(jnp.abs(problem.start)) + entropies
        cap = jnp.where(max_steps < 0, most_sweeps(problem.rule, first), max_steps)
        value, backup, swept = sweep(problem, problem.start, cap)
        return problem.solution(value, backup, swept), memory

    def occupancy(
        self, mdp: MDP, policy: Float[Array, "S A"], start: Vector, tolerance: Float[Array, ""], memory: Memory
    ) -> tuple[Vector, Bool[Array, ""], Memory]:
        from robustirl.planning.krylov import NewtonKrylov  # It uses this module.

        return NewtonKrylov().occupancy(mdp, policy, start, tolerance, memory)

    def products(self, mdp: MDP, policy: Float[Array, "S A"], memory: Memory) -> tuple[Operator, Operator]:
        from robustirl.planning.krylov import NewtonKrylov  # It uses this module.

        return NewtonKrylov().products(mdp, policy, memory)


def sweep(problem: PlanningProblem, start: Vector, cap: Int[Array, ""]) -> tuple[Vector, Backup, Int[Array, ""]]:
    """Back up from `start` until the rule is satisfied or `cap` backups are spent.

    Returns the last value, its backup, and the number of backups that led to it.
    """
    nothing = jnp.zeros(problem.game.mdp.mask.shape, start.dtype)

    def unfinished(state) -> Bool[Array, ""]:
        value, backup, steps = state
        residual = jnp.max(jnp.abs(backup.value - value))
        going = (steps < cap) & ~problem.rule.satisfied(residual, value) & jnp.isfinite(residual)
        return going | (steps < 0)

    def step(state):
        value, backup, steps = state
        following = jnp.where(steps < 0, value, backup.value)
        return following, problem.backup(following), steps + 1

    begin = (start, Backup(start, nothing, nothing), jnp.asarray(-1))
    return jax.lax.while_loop(unfinished, step, begin)


def most_sweeps(rule: StoppingRule, residual: Float[Array, ""]) -> Int[Array, ""]:
    """Return how many sweeps the contraction can need from this first residual.

    A tenth and ten more are added as a margin.
    """
    ratio = jnp.maximum(residual / (rule.tolerance * rule.unit * (1 - rule.discount)), 1)
    sweeps = jnp.log(ratio) / -jnp.log(jnp.maximum(rule.discount, 1e-3))
    return jnp.where(jnp.isfinite(sweeps), 1.1 * sweeps + 10, 0).astype(int)


class FiniteHorizonSolution(PlainModule):
    """Values and policies by stage, first stage first.

    Attributes:
        value: `[H+1, S]`; the last row is the terminal value.
        player: `[H, S, A]`.
        opponent: `[H, S, A]`.
    """

    value: Float[Array, "H1 S"]
    player: Float[Array, "H S A"]
    opponent: Float[Array, "H S A"]


@working_precision
def backward_induction(
    game: MarkovGame | MDP,
    reward: ArrayLike,
    horizon: int,
    *,
    temperatures: Temperatures = Temperatures(),
    terminal_value: ArrayLike | None = None,
) -> FiniteHorizonSolution:
    """Solve the game over `horizon` decisions exactly.

    This takes as many backups from the terminal value.

    Example:
        >>> from robustirl.mdp import MDP
        >>> game = MarkovGame(MDP([[[1.0]]], discount=0.5))
        >>> backward_induction(game, [1.0], horizon=2).value[:, 0].tolist()
        [1.5, 1.0, 0.0]
    """
    horizon, temperatures = as_count("the horizon", horizon, 1), as_temperatures(temperatures)
    game = as_game(game)
    reward, last = as_action_reward(reward, game.mdp), as_start(terminal_value, game.mdp, "the terminal value")
    return _stages(game, reward, as_float(last), temperatures, horizon)


@jit
def _stages(
    game: MarkovGame, reward: Reward, last: Vector, temperatures: Temperatures, horizon: int
) -> FiniteHorizonSolution:
    def stage(value: Vector, _: None) -> tuple[Vector, Backup]:
        backup = two_player_backup(game, reward, value, temperatures)
        return backup.value, backup

    _, stages = jax.lax.scan(stage, last, length=horizon, reverse=True)
    return FiniteHorizonSolution(jnp.concatenate([stages.value, last[None]]), stages.player, stages.opponent)
