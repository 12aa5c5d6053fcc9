r"""Sweeps of value iteration, V ← B(V), in a large world.

Where states can be cut into E, which do not lead to one another, and R (`mdp/halves.py`), a sweep updates first those
of E and then those of R, which see the new values of E already (Gauss and Seidel). It costs as much as a sweep of all
states at once, and values spread by two moves instead of one.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Int

from robustirl._runtime import unfused
from robustirl.mdp import AbstractHalves
from robustirl.planning.columns import MOST_COLUMNS, Column, ColumnGame

Sweep = Callable[[Int[Array, ""] | int, Column], Column]


class HalfKernel(eqx.Module):
    """The moves from one half of the states, as far as a sweep asks for them."""

    halves: AbstractHalves
    actions: int = eqx.field(static=True)
    second: bool = eqx.field(static=True)

    def columns(self, value: tuple[Column, Column]) -> list[Column]:
        """Return the expected next value of each action, given the values of both halves."""
        found = []
        for action in range(self.actions):
            own = self.halves.of_action(action)
            moved = own.from_second(*value) if self.second else own.from_first(value[1])
            found.append(moved + own.stays[self.second] * value[self.second])
        return found


def plain_sweeper(columns: ColumnGame) -> Sweep:
    """Return a function that sweeps over all states at once: few sweeps do not pay for cutting a world."""
    return lambda count, value: jax.lax.fori_loop(0, count, lambda _, v: columns.values(v), value)


def sweeper(columns: ColumnGame) -> Sweep:
    """Return a function that sweeps so many times, for use inside compiled code."""
    halves = columns.kernel.halves() if len(columns.mask) <= MOST_COLUMNS else None
    if halves is None:
        return plain_sweeper(columns)
    first, second = (_half(columns, halves, part) for part in (False, True))

    def sweep(_: Any, value: tuple[Column, Column]) -> tuple[Column, Column]:
        new = unfused(columns.discount >= 0, first, value)
        return new, second((new, value[1]))

    def several(count: Int[Array, ""] | int, value: Column) -> Column:
        return halves.join(*jax.lax.fori_loop(0, count, sweep, halves.cut(value)))

    return several


def _half(columns: ColumnGame, halves: AbstractHalves, second: bool) -> Callable[[Any], Column]:
    """Return a function that takes the values of both halves and returns new ones of one half."""

    def own(array: Array) -> Array:
        return halves.cut(array)[second]

    kernel: Any = HalfKernel(halves, len(columns.mask), second)
    alpha = own(columns.alpha) if columns.alpha.ndim else columns.alpha
    game = dataclasses.replace(columns, kernel=kernel, mask=own(columns.mask), reward=own(columns.reward), alpha=alpha)
    return lambda both: game.values(both)
