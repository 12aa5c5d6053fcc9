r"""Sweeps of value iteration, V ← B(V), in a large world.

Where states can be cut into E, which do not lead to one another, and R (`mdp/halves.py`), a sweep updates first those
of E and then those of R, which see the new values of E already (Gauss and Seidel). It costs as much as a sweep of all
states at once, and values spread by two moves instead of one.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array, Float, Int, Shaped

from robustirl._runtime import unfused
from robustirl.mdp import AbstractHalves
from robustirl.planning.columns import MOST_COLUMNS, Column, ColumnGame

Halves = tuple[Float[Array, " E"], Float[Array, " R"]]
Sweep = Callable[[Int[Array, ""] | int, Column], Column]


def plain_sweeper(columns: ColumnGame) -> Sweep:
    """Return a function that sweeps over all states at once.

    Few sweeps do not pay for cutting a world.
    """
    return lambda count, value: jax.lax.fori_loop(0, count, lambda _, v: columns.values(v), value)


def sweeper(columns: ColumnGame) -> Sweep:
    """Return a function that sweeps so many times, for use inside compiled code."""
    halves = columns.kernel.halves() if len(columns.mask) <= MOST_COLUMNS else None
    if halves is None:
        return plain_sweeper(columns)
    first, second = (_half(columns, halves, part) for part in (False, True))

    def sweep(_: Any, value: Halves) -> Halves:
        new = unfused(columns.discount >= 0, first, value)
        return new, second((new, value[1]))

    def several(count: Int[Array, ""] | int, value: Column) -> Column:
        return halves.join(*jax.lax.fori_loop(0, count, sweep, halves.cut(value)))

    return several


def _half(columns: ColumnGame, halves: AbstractHalves, second: bool) -> Callable[[Halves], Column]:
    """Return a function that takes the values of both halves and returns new ones of one half."""

    def own(array: Shaped[Array, "*A S"]) -> Array:
        return halves.cut(array)[second]

    alpha = own(columns.alpha) if columns.alpha.ndim else columns.alpha
    game = dataclasses.replace(columns, mask=own(columns.mask), reward=own(columns.reward), alpha=alpha)

    def expected(both: Halves, action: int) -> Column:
        moves = halves.of_action(action)
        moved = moves.from_second(*both) if second else moves.from_first(both[1])
        return moved + moves.stays[second] * both[second]

    return lambda both: game.values_of([expected(both, action) for action in range(len(columns.mask))])
