r"""A chain cut in two, so that one half of its states can be eliminated from a linear system.

On a grid every move leads from a black cell to a white one or back. More generally a set E of states is independent if
no state of E leads to another one of E. With R for all others, P for the moves that do not stay, and D for the diagonal
1 - γ P(s|s), the system (I - γ P) x = b reads

    D_E x_E - γ P_ER x_R = b_E,        D_R x_R - γ P_RE x_E - γ P_RR x_R = b_R.

The first equation gives x_E for any x_R, because D_E is a diagonal. What is left has the states of R alone, and one of
its products does what two products of the whole do, on vectors of half the length (`planning/linear/elimination.py`).

A kernel finds such a set once (`independent.py`), and its chains are cut by it: on diagonals by taking every other
cell, on lists by gathers.
"""

import abc
import collections
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from robustirl._runtime import DeviceModule
from robustirl.mdp.gathers import MOST_UNROLLED, gather_sum, take
from robustirl.mdp.shifts import shifted_sum

Vector = Float[Array, "*A S"]
First = Float[Array, "*A E"]
Second = Float[Array, "*A R"]


class AbstractHalves(eqx.Module):
    """The moves of a chain from E to R, and from R to all states; what stays is kept apart.

    A kernel is cut in the same way: its probabilities have an axis of actions in front, and so has what is returned.

    Attributes:
        stays: P(s|s) of the states of E, and of those of R.
        weights: The probabilities of their other moves, as vectors, one for each entry.
    """

    stays: eqx.AbstractVar[tuple[First, Second]]
    weights: eqx.AbstractVar[tuple[tuple[First, ...], tuple[Second, ...]]]

    @abc.abstractmethod
    def cut(self, vector: Shaped[Array, "*A S"]) -> tuple[Shaped[Array, "*A E"], Shaped[Array, "*A R"]]:
        """Return the parts of a vector that belong to E and to R."""

    @abc.abstractmethod
    def join(self, first: First, second: Second) -> Vector:
        """Return the vector of all states from its parts: the inverse of `cut`."""

    @abc.abstractmethod
    def from_first(self, second: Second) -> First:
        """Return Σ_{s' in R} P(s'|s) x(s') for the states s of E."""

    @abc.abstractmethod
    def from_second(self, first: First, second: Second) -> Second:
        """Return Σ_{s' ≠ s} P(s'|s) x(s') for the states s of R."""

    def scaled(self, first: First, second: Second) -> "AbstractHalves":
        """Return the halves with the moves from E and from R multiplied by a factor for each state."""
        parts = zip(self.weights, (first, second), strict=True)
        weights = tuple(tuple(weight * factor for weight in part) for part, factor in parts)
        return eqx.tree_at(lambda halves: halves.weights, self, weights)

    @abc.abstractmethod
    def of_action(self, action: int) -> "AbstractHalves":
        """Return the halves of a kernel for one action."""


class ShiftedHalves(AbstractHalves):
    """Halves of a banded chain: the cells of one color, and moves as shifts among them.

    The cells of one color are in the order of their numbers.

    Attributes:
        stays: P(s|s), by color.
        weights: The moves of each color, one vector for each distance.
        offsets: These distances, in cells of the other color.
        row: The cells of a row, whose first cells have colors in turn; 1 where colors alternate from state to state.
    """

    stays: tuple[First, Second]
    weights: tuple[tuple[First, ...], tuple[Second, ...]]
    offsets: tuple[tuple[int, ...], tuple[int, ...]] = eqx.field(static=True)
    row: int = eqx.field(static=True)

    def cut(self, vector: Shaped[Array, "*A S"]) -> tuple[Shaped[Array, "*A E"], Shaped[Array, "*A R"]]:
        return _cut(vector, self.row)

    def join(self, first: First, second: Second) -> Vector:
        if self.row == 1:
            longer = jnp.pad(second, (0, first.size - second.size))
            return jnp.stack([first, longer], 1).ravel()[: first.size + second.size]
        one, other = first.reshape(-1, self.row // 2), second.reshape(-1, self.row // 2)
        odd = _odd_rows(one)
        return jnp.stack([jnp.where(odd, other, one), jnp.where(odd, one, other)], -1).ravel()

    def from_first(self, second: Second) -> First:
        return shifted_sum(self.weights[0], self.offsets[0], second)

    def from_second(self, first: First, second: Second) -> Second:
        del second  # Every move changes the color.
        return shifted_sum(self.weights[1], self.offsets[1], first)

    def of_action(self, action: int) -> "ShiftedHalves":
        return jax.tree.map(lambda half: half[action], self)


def shifted_halves(
    weights: Sequence[Vector] | Float[Array, "J *A S"], offsets: tuple[int, ...], row: int
) -> ShiftedHalves:
    """Return the halves of diagonals, for a `row` that `coloring_row` found.

    Cell j of row i has the color of (i + j) mod 2, and stands at place j // 2 among the cells of its color in its row.
    A move by an odd number of columns leads one place further from every other row: its diagonal becomes two.
    """
    stays = _cut(jnp.zeros_like(weights[0]), row)
    moves: tuple[dict[int, Any], dict[int, Any]] = collections.defaultdict(int), collections.defaultdict(int)
    for weight, offset in zip(weights, offsets, strict=True):
        halves = _cut(weight, row)
        if offset == 0:
            stays = halves
            continue
        for color, half in enumerate(halves):
            if row == 1:
                moves[color][(offset - 1) // 2 + color] += half
                continue
            rows, columns = _rows_and_columns(offset, row)
            if columns % 2 == 0:
                moves[color][(rows * row + columns) // 2] += half
                continue
            cells = half.reshape(*half.shape[:-1], -1, row // 2)
            # In every other row the cells of a color stand one column further.
            ahead = _odd_rows(cells) != bool(color)
            near = (rows * row + columns - 1) // 2
            moves[color][near] += jnp.where(ahead, 0, cells).reshape(half.shape)
            moves[color][near + 1] += jnp.where(ahead, cells, 0).reshape(half.shape)
    parts = tuple(tuple(found[distance] for distance in sorted(found)) for found in moves)
    return ShiftedHalves(stays, parts, tuple(tuple(sorted(found)) for found in moves), row)  # pyright: ignore


def coloring_row(offsets: tuple[int, ...], weights: Float[np.ndarray, "J A S"]) -> int | None:
    """Return the number of cells in a row such that every move changes the color of a cell.

    It is 1 for odd moves, and None if there is no such number.

    Example:
        >>> coloring_row((-1, 0, 1), np.ones((3, 1, 9)))
        1
        >>> coloring_row((-1, 0, 2), np.ones((3, 1, 9))) is None
        True
    """
    if not any(offsets):
        return None  # Nothing moves.
    if all(offset % 2 for offset in offsets if offset):
        return 1
    states = weights.shape[2]
    used = [(offset, weight.any(0)) for offset, weight in zip(offsets, weights, strict=True) if offset]
    for row in sorted({abs(offset) for offset in offsets if offset and offset % 2 == 0}):
        if states % row == 0 and all(_changes_color(offset, moving, row) for offset, moving in used):
            return row
    return None


def _changes_color(offset: int, moving: Bool[np.ndarray, " S"], row: int) -> bool:
    """Return whether a move changes each cell's color and never leaves a row by its columns."""
    rows, columns = _rows_and_columns(offset, row)
    target = np.arange(row) + columns
    inside = (target >= 0) & (target < row)
    return (rows + columns) % 2 == 1 and not moving.reshape(-1, row)[:, ~inside].any()


def _rows_and_columns(offset: int, row: int) -> tuple[int, int]:
    """Return a distance as rows and columns, as few of these as can be."""
    rows = round(offset / row)
    return rows, offset - rows * row


def _odd_rows(cells: Shaped[Array, "*A h n"]) -> Bool[Array, "h 1"]:
    return (jnp.arange(cells.shape[-2]) % 2 == 1)[:, None]


def _cut(vector: Shaped[Array, "*A S"], row: int) -> tuple[Shaped[Array, "*A E"], Shaped[Array, "*A R"]]:
    """Return the cells of either color."""
    if row == 1:
        return vector[..., 0::2], vector[..., 1::2]
    *actions, states = vector.shape
    pairs = vector.reshape(*actions, -1, row // 2, 2)
    odd, half = _odd_rows(pairs[..., 0]), (*actions, states // 2)
    even_cells, odd_cells = pairs[..., 0], pairs[..., 1]
    return jnp.where(odd, odd_cells, even_cells).reshape(half), jnp.where(odd, even_cells, odd_cells).reshape(half)


class HalvedLists(DeviceModule):
    """Where the entries of lists `[J, S]` lead, cut by an independent set of states.

    Attributes:
        first: `[E]`, the states of E.
        second: `[R]`, the other states.
        rank: `[S]`, the place of every state among those of E and then of R.
        first_places: `[J, E]`, where the entries of E lead, as places among R.
        second_places: `[J, R]`, where the entries of R lead, as places among E, or among E and then R if `inner`.
        first_stays: `[J, E]`, whether an entry stays where it is,
        second_stays: `[J, R]`, likewise.
        inner: Whether states of R lead to one another.
    """

    first: Int[Array, " E"]
    second: Int[Array, " R"]
    rank: Int[Array, " S"]
    first_places: Int[Array, "J E"]
    second_places: Int[Array, "J R"]
    first_stays: Bool[Array, "J E"]
    second_stays: Bool[Array, "J R"]
    inner: bool = eqx.field(static=True)

    def halves(self, weights: Sequence[Vector] | Float[Array, "J *A S"]) -> "ListedHalves":
        """Return the halves of the chain, or the kernel, with these weights of the entries."""
        parts, stays = [], []
        for states, staying in ((self.first, self.first_stays), (self.second, self.second_stays)):
            rows = [weight.at[..., states].get(mode="promise_in_bounds") for weight in weights]
            stays.append(sum(jnp.where(here, row, 0) for here, row in zip(staying, rows, strict=True)))
            parts.append(tuple(jnp.where(here, 0, row) for here, row in zip(staying, rows, strict=True)))
        return ListedHalves(tuple(stays), tuple(parts), self)  # pyright: ignore


class ListedHalves(AbstractHalves):
    """Halves of a chain of lists.

    Attributes:
        stays: P(s|s), of E and of R.
        weights: The probabilities, one vector for each entry of E and of R; zero for those that stay.
        lists: Where entries lead.
    """

    stays: tuple[First, Second]
    weights: tuple[tuple[First, ...], tuple[Second, ...]]
    lists: HalvedLists

    def cut(self, vector: Shaped[Array, "*A S"]) -> tuple[Shaped[Array, "*A E"], Shaped[Array, "*A R"]]:
        return (
            vector.at[..., self.lists.first].get(mode="promise_in_bounds"),
            vector.at[..., self.lists.second].get(mode="promise_in_bounds"),
        )

    def join(self, first: First, second: Second) -> Vector:
        return take(jnp.concatenate([first, second]), self.lists.rank)

    def from_first(self, second: Second) -> First:
        return gather_sum(self.lists.first_places, self.weights[0], second)

    def from_second(self, first: First, second: Second) -> Second:
        met = jnp.concatenate([first, second]) if self.lists.inner else first
        return gather_sum(self.lists.second_places, self.weights[1], met)

    def of_action(self, action: int) -> "ListedHalves":
        stays, weights = jax.tree.map(lambda half: half[action], (self.stays, self.weights))
        return ListedHalves(stays, weights, self.lists)


def halved_lists(
    places: Int[np.ndarray, "J S"], used: Bool[np.ndarray, "J S"], chosen: Bool[np.ndarray, " S"]
) -> HalvedLists | None:
    """Return lists cut by an independent set of states, built on the host.

    The result is None if the lists are too long for a gain.

    Example:
        >>> ring = halved_lists(np.array([[1, 2, 3, 0]]), np.ones((1, 4), bool), np.array([True, False, True, False]))
        >>> ring.first_places.tolist(), ring.second_places.tolist()
        ([[0, 1]], [[1, 0]])
    """
    if len(places) > MOST_UNROLLED:
        return None
    states = np.arange(places.shape[1])
    first, second = states[chosen], states[~chosen]
    rank = np.empty(states.size, np.int64)
    rank[first], rank[second] = np.arange(first.size), first.size + np.arange(second.size)
    stays = used & (places == states)
    moves = used & ~stays
    inner = bool((moves[:, second] & ~chosen[places[:, second]]).any())
    goals = np.where(moves, rank[places], 0)
    ahead = np.where(moves[:, first], goals[:, first] - first.size, 0)
    return HalvedLists(
        first=_numbers(first),
        second=_numbers(second),
        rank=_numbers(rank),
        first_places=_numbers(ahead),
        second_places=_numbers(goals[:, second]),
        first_stays=jnp.asarray(stays[:, first]),
        second_stays=jnp.asarray(stays[:, second]),
        inner=inner,
    )


def _numbers(array: Int[np.ndarray, "..."]) -> Int[Array, "..."]:
    return jnp.asarray(array, dtype=jnp.int32)
