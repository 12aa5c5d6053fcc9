r"""One function for all solvers, and the choice between them.

| method | how | where it wins |
| --- | --- | --- |
| `value-iteration` | repeated backups | short-sighted worlds; far-sighted ones on a GPU up to γ ≈ 0.99 |
| `newton` | steps with the inverse of I - γ P_mix | up to 200 states; on a GPU up to 1000 with γ beyond 0.9995 |
| `newton-krylov` | steps with BiCGStab, no matrix | large worlds |
| `newton-sparse` | steps with sparse factorisations, on the processor | large grids with γ beyond 0.999 |

`docs/benchmarks.md` has the measurements behind the choice.
"""

import equinox as eqx
import jax

from robustirl._runtime import WORKING_BYTES, require_memory, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame, as_action_reward, as_count, as_game, concrete
from robustirl.planning.linear.dense import writes_matrices
from robustirl.planning.operators import Temperatures, as_temperatures
from robustirl.planning.solvers.newton import DEFAULT_MAX_STEPS, matrix_steps
from robustirl.planning.solvers.newton_krylov import newton_krylov_steps
from robustirl.planning.solvers.newton_sparse import newton_sparse
from robustirl.planning.solvers.value_iteration import value_iteration
from robustirl.planning.verdict import Solution, as_start, checked, stopping_rule
from robustirl.types import ArrayLike

METHODS = ("auto", "value-iteration", "newton", "newton-krylov", "newton-sparse")
SHORT_SIGHTED = 0.6  # Discounts up to which fifty sweeps suffice for ten digits.
FAR_SIGHTED = 0.9995  # Discounts from which on direct methods win: on a GPU inverses
LARGEST_INVERTED = 1000  # up to this size, and on the processor sparse factorisations
LARGEST_FACTORED = 300_000  # up to this.


@working_precision
def solve(
    game: MarkovGame | MDP,
    reward: ArrayLike,
    *,
    method: str = "auto",
    temperatures: Temperatures = Temperatures(),
    initial_value: ArrayLike | None = None,
    tolerance: float | None = None,
    max_steps: int | None = None,
    throw: bool = True,
) -> Solution:
    """Solve the game by the method asked for, or by the one that should be fastest here.

    Args:
        game: The world and α; a world alone stands for α = 1.
        reward: R(s), `[S]`, or R(s,a), `[S, A]`.
        method: `auto`, or one of the methods above.
        temperatures: Entropy weights of player and opponent; the paper's by default.
        initial_value: Where to start, `[S]`.
        tolerance: As in `value_iteration`: all methods keep the same promise and give the same verdict.
        max_steps: The largest number of backups or Newton steps; by default as many as can be needed.
        throw: Raise `ConvergenceError` if the tolerance is not reached.

    Example:
        >>> world = MDP([[[1.0]]], discount=0.5)
        >>> [round(solve(world, [1.0], method=method).value.item(), 6) for method in METHODS]
        [2.0, 2.0, 2.0, 2.0, 2.0]
    """
    if method not in METHODS:
        raise InvalidInputError(f"there is no method {method!r}; choose one of {', '.join(METHODS)}.")
    game = as_game(game)
    chosen = choose_method(game) if method == "auto" else method
    common = {
        "temperatures": temperatures,
        "initial_value": initial_value,
        "tolerance": tolerance,
        "throw": throw,
    }
    if concrete(game) and not writes_matrices(game.mdp):
        needed = WORKING_BYTES * float(game.mdp.num_states)
        require_memory(needed, f"solving a world of {game.mdp.num_states} states", "use a smaller one")
    if chosen == "value-iteration":
        return value_iteration(game, reward, max_steps=max_steps, **common)
    most = DEFAULT_MAX_STEPS if max_steps is None else as_count("max_steps", max_steps, 1)
    if chosen == "newton-sparse":
        return newton_sparse(game, reward, max_steps=most, **common)
    temperatures = as_temperatures(temperatures)
    reward, start = as_action_reward(reward, game.mdp), as_start(initial_value, game.mdp, "the initial value")
    rule = stopping_rule(game, reward, tolerance, temperatures)
    if chosen == "newton":
        solution, _ = _matrix(game, reward, start, None, rule, temperatures, most)
        return checked(solution, throw=throw, solver="Newton's method")
    solution = _krylov(game, reward, start, rule, temperatures, most, cold=initial_value is None)
    return checked(solution, throw=throw, solver="Newton's method with BiCGStab")


def choose_method(game: MarkovGame) -> str:
    """The method that should be fastest for this game on this device.

    Example:
        >>> choose_method(MarkovGame(MDP([[[1.0]]], discount=0.99)))
        'newton'
    """
    mdp = game.mdp
    discount = float(mdp.discount) if concrete(mdp.discount) else 0.99
    far, on_gpu = discount >= FAR_SIGHTED, jax.default_backend() != "cpu"
    if writes_matrices(mdp) or (far and on_gpu and mdp.num_states <= LARGEST_INVERTED):
        return "newton"
    if discount <= SHORT_SIGHTED:
        return "value-iteration"
    banded = mdp.kernel.diagonals is not None
    if far and not on_gpu and concrete(game) and banded and mdp.num_states <= LARGEST_FACTORED:
        return "newton-sparse"
    return "newton-krylov"


_matrix, _krylov = eqx.filter_jit(matrix_steps), eqx.filter_jit(newton_krylov_steps)
