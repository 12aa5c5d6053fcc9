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

One kernel attains all of these minima at once, so that whoever chooses kernels needs no memory and a policy's
worst case is the fixed point of a Bellman equation (`robustirl.theory.certificate`).

The paper calls ball and mixture the same set. They are when every row of T is certain, and for 0 < α < 1 only
then: a mixture leaves every successor at least the share α of its mass, where a ball of the same strength may take
all of it. The world that is missing is not a strange one: if T spreads mass where an expert's world puts
none, no α > 0 brings the expert's kernel into the mixture, though the ball of radius d_dyn holds it.

Example:
    >>> from robustirl.mdp import MDP
    >>> coin = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)
    >>> value = jnp.array([1.0, 0.0])
    >>> {kind: as_uncertainty(coin, alpha=0.5, kind=kind).lowest(value)[0, 0].item() for kind in KINDS}
    {'ball': 0.0, 'mixture': 0.25, 'game': 0.5}
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import DeviceModule, as_float, sum_tolerance, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, AbstractKernel, DenseKernel, as_local_alpha, as_world, checks
from robustirl.types import ArrayLike


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
    """The smaller class: with probability α the player's action counts, otherwise an opponent's (appendix).

    The opponent sees the state but not the player's action, and has the actions that are available there.
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
        return _blended(self, self.mdp.kernel.policy_matrix(opponent))


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
    """Return the set of kernels of a kind around a world, of radius δ or of α = 1 - δ/2: one of the two is given.

    Args:
        mdp: The world in the middle.
        radius: δ, one number for all pairs or one each, `[S, A]`, as `row_distances` of two kernels gives; for `kl` the
            relative entropy.
        alpha: α in place of the radius, likewise, or one a state, `[S]`; not for `kl`.
        kind: `ball`, `mixture` or `game`; `kl` (`kl_ball.py`); or `shared`, an ℓ1 budget that the actions of a state
            share (`shared_ball.py`).
        temperature: Of the player whom `shared` is against.

    Example:
        >>> as_uncertainty(MDP([[[1.0]]], discount=0.5), radius=0.5, kind="mixture").strength.tolist()
        [[0.25]]
    """
    from robustirl.theory.kl_ball import KLBall  # Those files are built on this one.
    from robustirl.theory.shared_ball import SharedBall

    kinds = (*KINDS, "kl", "shared")
    if kind not in kinds:
        raise InvalidInputError(f"the kind of uncertainty is {kind!r}, but one of {', '.join(kinds)} is needed.")
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
        return SharedBall(mdp, strength, checks.as_positive("the temperature", temperature))
    return KINDS[kind](mdp, strength)


def _as_entropy(radius: ArrayLike | None, alpha: ArrayLike | None, mdp: MDP) -> Float[Array, "S A"]:
    """Return the relative entropy of a KL ball as checked numbers of at least 0."""
    if radius is None or alpha is not None:
        raise InvalidInputError("a KL ball is given by a radius, the relative entropy in nats, and not by alpha.")
    if np.shape(radius):
        checks.require_shape("the radius", radius, mdp.mask.shape, "states, actions, or one number for all")
    if checks.concrete(radius):
        radius = checks.as_floats("the radius", radius)
        if not np.all((radius >= 0) & np.isfinite(radius)):
            raise InvalidInputError("the radius of a KL ball has an entry that is not a finite number of at least 0.")
    return jnp.broadcast_to(as_float(radius), mdp.mask.shape)


def _as_radius(radius: ArrayLike, mdp: MDP) -> Float[Array, "S A"]:
    """δ as checked numbers in [0, 2], 2 being the largest ℓ1 distance of two distributions."""
    if np.shape(radius):
        checks.require_shape("the radius", radius, mdp.mask.shape, "states, actions, or one number for all")
    if checks.concrete(radius):
        radius = checks.as_floats("the radius", radius)
        bad = ~((radius >= 0) & (radius <= 2 + sum_tolerance(radius.dtype)))  # Distances are sums, with rounding.
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            where = f" at {checks.place(index)}" if index else ""
            raise InvalidInputError(
                f"the radius{where} is {float(radius[index])!r}, but ℓ1 distances of distributions are from 0 to 2."
            )
    return jnp.broadcast_to(jnp.minimum(as_float(radius), 2), mdp.mask.shape)


def _blended(uncertainty: AbstractUncertainty, other: Float[Array, "S S"]) -> DenseKernel:
    """α T(·|s,a) + (1-α) T̄(·|s) for every action that exists."""
    kernel, strength = uncertainty.mdp.kernel, uncertainty.strength[..., None]
    # The chain of "always a" holds the rows of action a, whatever way the kernel stores them.
    always = jnp.eye(kernel.num_actions, dtype=other.dtype)[:, None, :].repeat(kernel.num_states, axis=1)
    rows = jnp.stack([kernel.policy_matrix(policy) for policy in always], axis=1)
    exists = kernel.row_sums()[..., None]
    return DenseKernel((1 - strength) * rows + strength * exists * other[:, None, :])
