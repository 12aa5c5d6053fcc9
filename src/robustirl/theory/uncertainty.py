r"""Sets of kernels around a world's kernel T, and the member that makes an expected value lowest.

Three sets, all of one strength 1-α = δ/2, each contained in the one before (Section 4.1 and the appendix
on robust MDPs and Markov games); the strength may also differ from pair to pair:

    ball     { T' : ‖T'(·|s,a) - T(·|s,a)‖₁ <= δ }
    mixture  { α T + (1-α) T̄ : T̄ any kernel }                                     T^{L,α}
    game     { α T + (1-α) T̄ : T̄(s'|s) = Σ_a π_op(a|s) T(s'|s,a), π_op any policy }   the smaller T^{L,α}

Their inner problems, the lowest expected next value m(s,a) = min Σ_s' T'(s'|s,a) V(s'), have closed forms:

    ball     move δ/2 of the mass, from the highest-valued successors down, to the lowest-valued state
    mixture  α T(·|s,a)·V + (1-α) min_s' V(s')
    game     α T(·|s,a)·V + (1-α) min_a' T(·|s,a')·V     over the available actions a'

One kernel attains all of these minima at once, so that an adversary needs no memory and a policy's
worst case is the fixed point of a Bellman equation (`robustirl.theory.certificate`).

The paper calls ball and mixture the same set. They are when every row of T is certain, and for 0 < α < 1 only
then: a mixture leaves every successor at least the share α of its mass, where a ball of the same strength may take
all of it. The world that is missing is not a strange one: if T spreads mass where an expert's world puts
none, no α > 0 brings the expert's kernel into the mixture, though the ball of radius d_dyn holds it.

**Two further sets.** `kl` holds the kernels with KL(T'(·|s,a) ‖ T(·|s,a)) <= η at every pair. The member with the
lowest expected value is an exponential tilt, T'(s') ∝ T(s') exp(-β V(s')), with β >= 0 as large as η allows: KL of the
tilt grows with β, from 0 to -log T(argmin V). No mass goes where T has none, unlike in the ℓ1 ball.

`shared` is an ℓ1 budget that the actions of a state share: Σ_a ‖T'(·|s,a) - T(·|s,a)‖₁ <= δ, an s-rectangular set. The
adversary divides the budget among the actions before the player draws one, so that the player gains from being
unpredictable even without an entropy bonus. The robust soft backup of a state is, by the minimax theorem,

    max_π min_T' Σ_a π(a) γ T'_a·V + τ H(π)  =  min_T' τ log Σ_a exp(γ T'_a·V / τ).

On the right, let mass be taken off the successors of an action from the highest value down and put on the lowest. The
n-th bit of mass of action a, taken from a successor that is worth g more than the lowest, lowers the sum of
exponentials at the rate ω_a g, ω_a = exp(γ (T_a·V - G_a) / τ), G_a what action a has lost so far, which falls along the
way. So all bits whose rate is above a level t are taken, and those of a successor j of value g_j above the lowest come
to

    clip( (T_a·V - (τ/γ) log(t / g_j) - G_{a,<j}) / g_j,  0,  T_a(j) )

of mass, where G_{a,<j} is the loss through all higher successors. The level at which the budget is spent is found by
halving, one number a state.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._check import as_floats, as_number, concrete, place, require_shape, short_repr, sum_tolerance
from robustirl._jax import DeviceModule, as_float, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.game import as_local_alpha
from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.mdp import as_world
from robustirl.types import ArrayLike

HALVINGS = 64
SMALLEST, LARGEST = 1e-8, 1e12  # β times the range of V: from no tilt at all to one that leaves the lowest alone.
NO_GAIN = 1e-12  # Of the range of values: successors this close to the lowest are left alone.


class AbstractUncertainty(DeviceModule):
    """A set of kernels around that of a world, by the lowest expected values it allows.

    Highest expected values need no methods of their own: they are -lowest(-V), attained by kernel(-V).

    Attributes:
        mdp: The world in the middle.
        strength: `[S, A]`, 1-α = δ/2 in [0, 1]: how much mass of a row may be moved.
    """

    mdp: eqx.AbstractVar[MDP]
    strength: eqx.AbstractVar[Float[Array, "S A"]]

    @abc.abstractmethod
    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        """m(s,a), the lowest expected next value of every pair."""

    @abc.abstractmethod
    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        """Return a kernel of the set that attains `lowest` for every pair."""


class Ball(AbstractUncertainty):
    """All kernels within ℓ1 distance δ = 2·strength of T at every pair."""

    mdp: MDP
    strength: Float[Array, "S A"]

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return self.kernel(value).expect(value)

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        return self.mdp.kernel.worst_case(value, 2 * self.strength)


class Mixture(AbstractUncertainty):
    """T^{L,α}: with probability α the world moves, otherwise anything may happen (Section 4.1)."""

    mdp: MDP
    strength: Float[Array, "S A"]

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        kernel = self.mdp.kernel
        return (1 - self.strength) * kernel.expect(value) + self.strength * kernel.row_sums() * jnp.min(value)

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        lowest = jax.nn.one_hot(jnp.argmin(value), value.size, dtype=value.dtype)
        return _blended(self, jnp.broadcast_to(lowest, (value.size, value.size)))


class Game(AbstractUncertainty):
    """The smaller class: with probability α the player's action counts, otherwise an opponent's.

    It is the class of the appendix. The opponent sees the state but not the player's action, and has the actions that
    are available there.
    """

    mdp: MDP
    strength: Float[Array, "S A"]

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        expected = self.mdp.kernel.expect(value)
        opposed = jnp.min(expected, axis=-1, keepdims=True, where=self.mdp.mask, initial=jnp.inf)
        return (1 - self.strength) * expected + self.strength * opposed

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        expected = jnp.where(self.mdp.mask, self.mdp.kernel.expect(value), jnp.inf)
        opponent = jax.nn.one_hot(jnp.argmin(expected, axis=-1), self.mdp.num_actions, dtype=value.dtype)
        return _blended(self, self.mdp.kernel.chain(opponent).dense())


def _blended(uncertainty: AbstractUncertainty, other: Float[Array, "S S"]) -> DenseKernel:
    """α T(·|s,a) + (1-α) T̄(·|s) for every action that exists."""
    kernel, strength = uncertainty.mdp.kernel, uncertainty.strength[..., None]
    exists = kernel.row_sums()[..., None]
    return DenseKernel((1 - strength) * kernel.dense() + strength * exists * other[:, None, :])


class KLBall(AbstractUncertainty):
    """All kernels whose relative entropy to T is at most `strength` at every pair.

    Here the strength is η itself.

    Example:
        >>> from robustirl.mdp import MDP
        >>> coin = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)
        >>> ball = KLBall(coin, jnp.full((2, 1), float(jnp.log(2.0))))  # -log T(argmin V): all mass may go there.
        >>> round(ball.lowest(jnp.array([1.0, 0.0]))[0, 0].item(), 6)
        0.0
    """

    mdp: MDP
    strength: Float[Array, "S A"]

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return self.kernel(value).expect(value)

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        rows = self.mdp.kernel.dense()
        there = rows > 0
        least = jnp.min(jnp.where(there, value, jnp.inf), -1, keepdims=True)
        above = jnp.where(there, value - least, 0.0)  # Rows of zeros stay.
        span = jnp.max(above, -1)
        scale = jnp.where(span > 0, span, 1)

        def tilted(log_factor: Float[Array, "S A"]) -> tuple[Float[Array, "S A S"], Float[Array, "S A"]]:
            """Return the rows at β = exp(log_factor) / range, and their relative entropy to T."""
            beta = (jnp.exp(log_factor) / scale)[..., None]
            weights = rows * jnp.exp(-beta * above)
            total = weights.sum(-1, keepdims=True)
            shares = weights / jnp.where(total > 0, total, 1)
            entropy = -(beta * shares * above).sum(-1) - jnp.log(jnp.where(total > 0, total, 1))[..., 0]
            return shares, entropy

        def halve(_, ends: tuple[Float[Array, "S A"], Float[Array, "S A"]]):
            low, high = ends
            middle = (low + high) / 2
            within = tilted(middle)[1] <= self.strength
            return jnp.where(within, middle, low), jnp.where(within, high, middle)

        ends = tuple(jnp.full(self.strength.shape, jnp.log(end), value.dtype) for end in (SMALLEST, LARGEST))
        low, _ = jax.lax.fori_loop(0, HALVINGS, halve, ends)
        found = jnp.where((self.strength > 0)[..., None], tilted(low)[0], rows)
        return DenseKernel(found, leaky=self.mdp.kernel.leaky)


class SharedBall(AbstractUncertainty):
    """Kernels within an ℓ1 budget 2·strength of T, shared by the actions of a state.

    The player against them is soft. `lowest` is not the lowest of every pair, but what the saddle point with the player
    at this temperature leaves.

    Attributes:
        mdp: The world in the middle.
        strength: `[S, A]`, half of the budget of a state; the largest over its actions counts.
        temperature: τ of the player.
    """

    mdp: MDP
    strength: Float[Array, "S A"]
    temperature: float = eqx.field(static=True, default=1.0)

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return self.kernel(value).expect(value)

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        falling = jnp.argsort(-value)  # One order of the states serves all rows.
        mass = self.mdp.kernel.dense()[..., falling]
        gains = value[falling] - jnp.min(value)
        useful = gains > NO_GAIN * jnp.max(gains)
        safe = jnp.where(useful, gains, 1)
        lost = jnp.cumsum(mass * gains, -1) - mass * gains
        expected = mass @ value[falling]
        rate = self.mdp.discount / self.temperature
        budget = jnp.max(self.strength, -1, where=self.mdp.mask, initial=0)

        def taken(level: Float[Array, " S"]) -> Float[Array, "S A S"]:
            """Return the mass taken off every successor at t = exp(level)."""
            reach = expected[..., None] - (level[:, None, None] - jnp.log(safe)) / rate - lost
            wanted = jnp.clip(reach / safe, 0, mass)
            return jnp.where(useful & self.mdp.mask[..., None], wanted, 0)

        def halve(_, ends: tuple[Float[Array, " S"], Float[Array, " S"]]):
            low, high = ends
            middle = (low + high) / 2
            within = taken(middle).sum((-2, -1)) <= budget
            return jnp.where(within, low, middle), jnp.where(within, middle, high)

        size = jnp.log(jnp.maximum(jnp.max(gains), jnp.finfo(value.dtype).tiny))
        highest = rate * jnp.max(value) + size + 1
        least = rate * jnp.min(value) + size + jnp.log(NO_GAIN) - 1
        ends = (jnp.full_like(value, least), jnp.full_like(value, highest))
        _, level = jax.lax.fori_loop(0, HALVINGS, halve, ends)
        moved = taken(level)
        rows = (mass - moved).at[..., -1].add(moved.sum(-1))
        return DenseKernel(rows[..., jnp.argsort(falling)], leaky=self.mdp.kernel.leaky)


KINDS: dict[str, type[AbstractUncertainty]] = {"ball": Ball, "mixture": Mixture, "game": Game}


@working_precision
def as_uncertainty(
    mdp: MDP,
    *,
    radius: ArrayLike | None = None,
    alpha: ArrayLike | None = None,
    kind: str = "ball",
    temperature: float = 1.0,
) -> AbstractUncertainty:
    """Return the set of kernels of a kind around a world, of radius δ or of α = 1 - δ/2.

    One of the two is given.

    Args:
        mdp: The world in the middle.
        radius: δ, one number for all pairs or one each, `[S, A]`, as `row_distances` of two kernels gives; for `kl` the
            relative entropy.
        alpha: α in place of the radius, likewise, or one a state, `[S]`; not for `kl`.
        kind: `ball`, `mixture` or `game`; `kl` (relative entropy); or `shared`.
        temperature: Of the player whom `shared` is against.

    Example:
        >>> as_uncertainty(MDP([[[1.0]]], discount=0.5), radius=0.5, kind="mixture").strength.tolist()
        [[0.25]]
    """
    kinds = (*KINDS, "kl", "shared")
    if kind not in kinds:
        raise InvalidInputError(f"the kind of uncertainty is {kind!r}, but one of {', '.join(kinds)} is needed.")
    number = as_number("the temperature", temperature)
    if not 0 <= number < np.inf or (number == 0 and kind == "shared"):  # What is shared is shared out by the policy.
        least = "above 0" if kind == "shared" else "of at least 0"
        raise InvalidInputError(f"the temperature is {short_repr(temperature)}, but a finite number {least} is needed.")
    for name, given in (("radius", radius), ("alpha", alpha)):
        if isinstance(given, bool | np.bool_):
            raise InvalidInputError(f"{name} is {given!r}, but a number is needed.")
    if as_world(mdp).kernel.leaky:
        raise InvalidInputError(
            "a leaky world cannot be the middle of a set of kernels, because its rows sum to less than 1;"
            " use the evaluation world of the same environment instead."
        )
    if radius is not None and alpha is not None:
        raise InvalidInputError(
            f"both radius {radius!r} and alpha {alpha!r} are given, but one says it all: radius = 2 (1 - alpha)."
        )
    if kind == "kl":
        return KLBall(mdp, _as_entropy(radius, alpha, mdp))
    if alpha is not None:
        strength = jnp.broadcast_to(1 - as_local_alpha(alpha, mdp), mdp.mask.shape)
    elif radius is None:
        raise InvalidInputError(
            "neither radius nor alpha is given; say how far kernels may be from the world's by one of them."
        )
    else:
        strength = _as_radius(radius, mdp) / 2
    if kind == "shared":
        return SharedBall(mdp, strength, number)
    return KINDS[kind](mdp, strength)


def _as_entropy(radius: ArrayLike | None, alpha: ArrayLike | None, mdp: MDP) -> Float[Array, "S A"]:
    """Return the relative entropy of a KL ball as checked numbers of at least 0."""
    if radius is None or alpha is not None:
        raise InvalidInputError("a KL ball is given by a radius, the relative entropy in nats, and not by alpha.")
    if np.shape(radius):
        require_shape("the radius", radius, mdp.mask.shape, "states, actions, or one number for all")
    if concrete(radius):
        radius = as_floats("the radius", radius)
        if not np.all((radius >= 0) & np.isfinite(radius)):
            raise InvalidInputError("the radius of a KL ball has an entry that is not a finite number of at least 0.")
    return jnp.broadcast_to(as_float(radius), mdp.mask.shape)


def _as_radius(radius: ArrayLike, mdp: MDP) -> Float[Array, "S A"]:
    """Return δ as checked numbers in [0, 2].

    The largest ℓ1 distance of two distributions is 2.
    """
    if np.shape(radius):
        require_shape("the radius", radius, mdp.mask.shape, "states, actions, or one number for all")
    if concrete(radius):
        radius = as_floats("the radius", radius)
        bad = ~((radius >= 0) & (radius <= 2 + sum_tolerance(radius.dtype)))  # Distances are sums, with rounding.
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            where = f" at {place(index)}" if index else ""
            raise InvalidInputError(
                f"the radius{where} is {float(radius[index])!r}, but ℓ1 distances of distributions are from 0 to 2."
            )
    return jnp.broadcast_to(jnp.minimum(as_float(radius), 2), mdp.mask.shape)
