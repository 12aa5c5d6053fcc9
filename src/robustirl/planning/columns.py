r"""The game as one vector for each action, for large worlds.

The operators of `operators.py` hold a `[S, A]` array, whose rows of a few actions a processor can neither load nor
reduce fast. Here every action is a vector `[S]`, the sums and maxima over actions are written out, and a sweep that
needs no policies does not make them: the same numbers, in a few passes over memory. A game may also be cast to a
lower precision, where only the way to the solution matters and not its last digits.

With many actions, sums written out would take longer to compile than to compute. They are then rows of one `[A, S]`
array.
"""

import dataclasses
import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from robustirl._runtime import epsilon, tie_tolerance, unfused
from robustirl.mdp import AbstractChain, AbstractKernel, MarkovGame
from robustirl.planning.operators import Reward, Temperature, Temperatures, is_zero
from robustirl.types import Tree

LOW_TIES = 8  # Times the rounding unit: the margin of ties in low precision. They are found again in full precision.
MOST_COLUMNS = 32  # Actions. With more of them columns are rows of one array, which compiles in a fraction of the time.
Column = Float[Array, " S"]
Columns = list[Column] | Float[Array, "A S"]
AnyColumns = list[Shaped[Array, " S"]] | Shaped[Array, "A S"]  # Masks, too.


class ColumnGame(eqx.Module):
    """A game and a reward, one vector for each action.

    Attributes:
        kernel: T.
        mask: `[A, S]`, which actions are available.
        reward: R(s) `[S]`, or R(s,a) as `[A, S]`.
        discount: γ.
        alpha: α, or α(s,a) as `[A, S]`.
        temperatures: Entropy weights of player and opponent.
        low: Whether this is a copy in low precision.
    """

    kernel: AbstractKernel
    mask: Bool[Array, "A S"]
    reward: Float[Array, " S"] | Float[Array, "A S"]
    discount: Float[Array, ""]
    alpha: Float[Array, ""] | Float[Array, "A S"]
    temperatures: Temperatures
    low: bool = eqx.field(static=True, default=False)

    def values(self, value: Column) -> Column:
        """Return B(V), without policies."""
        return self.values_of(self._expected(value))

    def values_of(self, expected: Columns) -> Column:
        """Return B(V), without policies, from the expected next value of each action."""
        return self._attained(expected, policies=False)[0]

    def backup(self, value: Column) -> tuple[Column, AbstractChain]:
        """Return B(V) and the chain of the mixture α π_pl + (1-α) π_op of policies that attain it."""
        result, shares = unfused(self.discount >= 0, self._backup, value)
        return result, self.kernel.chain(shares)

    def policies(self, value: Column) -> tuple[Float[Array, "S A"], Float[Array, "S A"]]:
        """Return the policies of player and opponent that attain B(V)."""
        _, player, opponent = self._attained(self._expected(value), policies=True)
        return _table(player), _table(opponent)

    def lowered(self) -> "ColumnGame":
        """Return this game in float32."""
        return dataclasses.replace(lower(self), low=True)

    def _backup(self, value: Column) -> tuple[Column, Columns]:
        """Return B(V) and the shares of the actions in the mixture."""
        result, player, opponent = self._attained(self._expected(value), policies=True)
        if not self.alpha.ndim:
            return result, _each(lambda p, o: self.alpha * p + (1 - self.alpha) * o, player, opponent)
        weights = self._by_action(self.alpha)
        pushed = _total(_each(lambda weight, share: (1 - weight) * share, weights, player))
        return result, _each(lambda w, p, o: w * p + pushed * o, weights, player, opponent)

    def _expected(self, value: Column) -> Columns:
        """Return the expected next value of each action."""
        many = len(self.mask) > MOST_COLUMNS
        return self.kernel.expect(value).T if many else self.kernel.columns(value)

    def _by_action(self, array: Shaped[Array, "A S"]) -> AnyColumns:
        """Return an array `[A, S]` as columns."""
        return list(array) if len(self.mask) <= MOST_COLUMNS else array

    def _attained(self, expected: Columns, *, policies: bool) -> tuple[Column, Columns, Columns]:
        """Return B(V) and the policies of player and opponent."""
        q = _each(lambda column: self.discount * column, expected)
        sure: Column | float = self.reward if self.reward.ndim == 1 else 0.0
        if self.reward.ndim == 2:
            q = _each(lambda reward, column: reward + column, self._by_action(self.reward), q)
        mask = self._by_action(self.mask)
        high = _each(lambda mask, column: jnp.where(mask, column, -jnp.inf), mask, q)
        low = _each(lambda mask, column: jnp.where(mask, column, jnp.inf), mask, q)
        best, worst = _highest(high), _lowest(low)
        margin = jnp.asarray(0.0, best.dtype)
        if policies and any(is_zero(t) for t in self.temperatures):
            largest = jnp.max(jnp.maximum(jnp.abs(best), jnp.abs(worst)))
            margin = largest * (LOW_TIES * epsilon(best) if self.low else tie_tolerance(best))
        if self.alpha.ndim:
            return self._local(high, low, worst, sure, margin)
        gain, player = _soft_maximum(high, best, self.alpha, self.temperatures.player, margin)
        loss, opponent = _soft_maximum(low, worst, -jnp.ones_like(self.alpha), self.temperatures.opponent, margin)
        return sure + gain - (1 - self.alpha) * loss, player, opponent

    def _local(
        self, high: Columns, low: Columns, worst: Column, sure: Column | float, margin: Float[Array, ""]
    ) -> tuple[Column, Columns, Columns]:
        """Return the backup and both policies where α differs by state and action.

        See `operators.py`.
        """
        one = jnp.ones((), worst.dtype)
        loss, opponent = _soft_maximum(low, worst, -one, self.temperatures.opponent, margin)
        weights = self._by_action(self.alpha)
        left = _each(lambda weight, column: weight * column - (1 - weight) * loss, weights, high)
        gain, player = _soft_maximum(left, _highest(left), one, self.temperatures.player, jnp.max(self.alpha) * margin)
        return sure + gain, player, opponent


def _soft_maximum(
    q: Columns, best: Column, factor: Float[Array, ""], temperature: Temperature, margin: Float[Array, ""]
) -> tuple[Column, Columns]:
    """Return max^τ of the factor times q over the actions, and the shares that attain it.

    This is `operators.soft_maximum` without the `[S, A]` array; q is infinite where there is no action. `best` is the
    q whose product with the factor is largest: for the opponent, whose factor is negative, the lowest.
    """
    if is_zero(temperature):
        weights = _each(lambda column: (jnp.abs(column - best) <= margin).astype(best.dtype), q)
        total = _total(weights)
        return factor * best, _each(lambda weight: weight / total, weights)
    weights = _each(lambda column: jnp.exp((factor / temperature) * (column - best)), q)
    total = _total(weights)
    return factor * best + temperature * jnp.log(total), _each(lambda weight: weight / total, weights)


def _each(function: Callable[..., Array], *columns: AnyColumns) -> Columns:
    """Return the function of every column, or of all of them as one array."""
    if isinstance(columns[0], list):
        return [function(*parts) for parts in zip(*columns, strict=True)]
    return function(*columns)


def _total(columns: Columns) -> Column:
    return sum(columns[1:], columns[0]) if isinstance(columns, list) else columns.sum(0)


def _highest(columns: Columns) -> Column:
    return functools.reduce(jnp.maximum, columns) if isinstance(columns, list) else columns.max(0)


def _lowest(columns: Columns) -> Column:
    return functools.reduce(jnp.minimum, columns) if isinstance(columns, list) else columns.min(0)


def _table(columns: Columns) -> Float[Array, "S A"]:
    return jnp.stack(columns, -1) if isinstance(columns, list) else columns.T


def column_game(game: MarkovGame, reward: Reward, temperatures: Temperatures) -> ColumnGame:
    """Return a game and its reward as one vector for each action."""
    mdp = game.mdp
    by_action = reward if reward.ndim == 1 else reward.T
    alpha = game.alpha.T if game.alpha.ndim else game.alpha
    return ColumnGame(mdp.kernel, mdp.mask.T, by_action, mdp.discount, alpha, temperatures)


def lower(tree: Tree) -> Tree:
    """Return a copy of a tree with its floating-point arrays in float32."""
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32) if eqx.is_inexact_array(leaf) else leaf, tree)
