r"""Bellman operators as pure functions: hard, soft, and two-player soft.

Write e(s,a) = γ Σ_s' T(s'|s,a) V(s'). The paper's joint Q-function (Algorithm 2) is

    Q(s, a_pl, a_op) = R(s) + α e(s, a_pl) + (1-α) e(s, a_op),

a sum of a term of the player's action and a term of the opponent's. So the minimum over the opponent's
action does not depend on the player's, and one backup costs O(S·A) rather than O(S·A²):

    V(s) = R(s) + max^τ_{a_pl} α e(s, a_pl) + (1-α) min^β_{a_op} e(s, a_op)

where max^τ q = τ log Σ exp(q/τ) and min^β q = -β log Σ exp(-q/β). Their limits at τ = 0, β = 0 are
max and min. The paper has τ = 1 for the player and β = 0 for the opponent. The opponent's entropy is
weighted by its chance of control 1-α, so that α = 1 is the single-player operator whatever β is.

A reward of states and actions `[S, A]` is that of the action which is executed, so that it joins e in both terms:

    q(s,a) = R(s,a) + e(s,a),    V(s) = max^τ_{a_pl} α q(s, a_pl) + (1-α) min^β_{a_op} q(s, a_op),

which for a reward of states alone is the formula above. What it holds for unavailable actions does not matter.

Where α(s,a) differs by the player's action, the opponent's answer m(s) = min^β_b q(s,b) still does not depend on it:

    V(s) = max^τ_a { α(s,a) q(s,a) + (1-α(s,a)) m(s) }.

Each operator is a γ-contraction in the maximum norm, and its derivative is γ times the chain of the
mixture α π_pl + (1-α) π_op of the two policies it returns, which Newton's method uses.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from robustirl._check import as_number, concrete, short_repr
from robustirl._jax import epsilon, tie_tolerance, working_dtype, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.policy import opposed

LOW_TIES = 8
"""Times the rounding unit: the margin of ties in low precision."""
Reward = Float[Array, " S"] | Float[Array, "S A"]
"""R(s) or R(s,a)."""
Temperature = float | Float[Array, ""]
"""A number, or an array inside compiled code; zero is always a number, because it changes the program."""


class Temperatures(NamedTuple):
    """The weights of the two players' entropies: τ and β above. The paper's are 1 and 0."""

    player: float = 1.0
    opponent: float = 0.0


class Backup(NamedTuple):
    """What one application of a Bellman operator gives.

    Attributes:
        value: `[S]`, the operator's result.
        player: `[S, A]`, π_pl, the maximizer.
        opponent: `[S, A]`, π_op, the minimizer.
    """

    value: Float[Array, " S"]
    player: Float[Array, "S A"]
    opponent: Float[Array, "S A"]


@working_precision
def soft_maximum(
    q: Float[Array, "S A"],
    mask: Bool[Array, "S A"],
    temperature: Temperature,
    tie_margin: Float[Array, ""],
) -> tuple[Float[Array, " S"], Float[Array, "S A"]]:
    """Return max^τ over the available actions, and the policy that attains it.

    At temperature 0 the maximizers share the probability evenly, and actions within `tie_margin` of the
    best count as maximizers: which of two equal actions is a rounding error larger must not matter.
    """
    # The derivative of jnp.max looks for the entries that equal it. Where a compiler computes them a second time, with
    # other roundings, there is none, and the derivative is NaN.
    best = jax.lax.stop_gradient(jnp.max(q, axis=-1, where=mask, initial=-jnp.inf))
    if is_zero(temperature):
        weights = (mask & (q >= best[:, None] - tie_margin)).astype(q.dtype)
        policy = weights / weights.sum(-1, keepdims=True)
        return _attained(best, q, policy), policy
    # Masked twice: an exponential that overflows where there is no action would make the derivative NaN.
    weights = jnp.where(mask, jnp.exp(jnp.where(mask, q - best[:, None], 0) / temperature), 0)
    total = weights.sum(-1, keepdims=True)
    return best + temperature * jnp.log(total[:, 0]), weights / total


@jax.custom_jvp
def _attained(  # The derivative below uses all three.
    best: Float[Array, " S"],
    q: Float[Array, "S A"],  # noqa: ARG001
    policy: Float[Array, "S A"],  # noqa: ARG001
) -> Float[Array, " S"]:
    """Return the maximum of q, with the policy that attains it as its derivative."""
    return best


@_attained.defjvp
def _derivative_of_attained(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    best, _, policy = primals
    return best, jnp.where(policy > 0, policy * tangents[1], 0).sum(-1)


@working_precision
def tie_margin(expected: Float[Array, "S A"], mask: Bool[Array, "S A"]) -> Float[Array, ""]:
    """Return how close expected values must be to be tied: a fixed fraction of the largest.

    Where a solver works in less than the working precision, ties are found again in full later, and the fraction is a
    few units in the last place.
    """
    full = expected.dtype == working_dtype()
    share = tie_tolerance(expected) if full else LOW_TIES * epsilon(expected)
    return share * jnp.max(jnp.abs(expected), where=mask, initial=0)


@working_precision
def two_player_backup(
    game: MarkovGame,
    reward: Reward,
    value: Float[Array, " S"],
    temperatures: Temperatures = Temperatures(),
) -> Backup:
    """Back up the two-player game (Algorithm 2).

    By default the backup is soft for the player and hard for the opponent.

    Example:
        >>> game = MarkovGame(MDP([[[1.0], [1.0]]], discount=0.5), alpha=0.5)
        >>> backup = two_player_backup(game, jnp.zeros(1), jnp.zeros(1))
        >>> round(backup.value.item(), 6), backup.player.tolist()
        (0.693147, [[0.5, 0.5]])
    """
    mdp, alpha = game.mdp, game.alpha
    temperatures = as_temperatures(temperatures)
    expected, sure = _action_values(mdp, reward, value)
    margin = tie_margin(expected, mdp.mask)
    if alpha.ndim:
        loss, opponent = soft_maximum(-expected, mdp.mask, temperatures.opponent, margin)
        left = opposed(expected, -loss, alpha)
        gain, player = soft_maximum(left, mdp.mask, temperatures.player, jnp.max(alpha) * margin)
        return Backup(sure + gain, player, opponent)
    gain, player = soft_maximum(alpha * expected, mdp.mask, temperatures.player, alpha * margin)
    loss, opponent = soft_maximum(-expected, mdp.mask, temperatures.opponent, margin)
    return Backup(sure + gain - (1 - alpha) * loss, player, opponent)


@working_precision
def soft_backup(
    mdp: MDP, reward: Reward, value: Float[Array, " S"], temperature: Temperature = 1.0
) -> tuple[Float[Array, " S"], Float[Array, "S A"]]:
    """Apply the single player's soft Bellman operator (Appendix B); also return its policy.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.5)
        >>> value, policy = soft_backup(world, jnp.zeros(1), jnp.zeros(1))
        >>> round(value.item(), 6), policy.tolist()
        (0.693147, [[0.5, 0.5]])
    """
    temperature = as_temperatures(Temperatures(temperature)).player  # pyright: ignore[reportArgumentType]
    expected, sure = _action_values(mdp, reward, value)
    gain, policy = soft_maximum(expected, mdp.mask, temperature, tie_margin(expected, mdp.mask))
    return sure + gain, policy


@working_precision
def hard_backup(mdp: MDP, reward: Reward, value: Float[Array, " S"]) -> tuple[Float[Array, " S"], Float[Array, "S A"]]:
    """Apply the Bellman optimality operator (Appendix B).

    Also return its greedy policy, in which ties are shared evenly.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.5)
        >>> value, policy = hard_backup(world, jnp.ones(1), jnp.zeros(1))
        >>> value.item(), policy.tolist()
        (1.0, [[0.5, 0.5]])
    """
    return soft_backup(mdp, reward, value, temperature=0.0)


def _action_values(
    mdp: MDP, reward: Reward, value: Float[Array, " S"]
) -> tuple[Float[Array, "S A"], Float[Array, " S"] | float]:
    """Return what players choose between, `[S, A]`, and what does not depend on the choice.

    These are e and R(s), or q and 0.
    """
    expected = mdp.discount * mdp.kernel.expect(value)
    if reward.ndim == 1:
        return expected, reward
    return reward + expected, 0.0


def as_temperatures(temperatures: Temperatures | tuple[float, float]) -> Temperatures:
    """Check two temperatures, each a finite number of at least 0.

    Inside compiled code return them as they are.
    """
    if isinstance(temperatures, Temperatures) and not concrete(temperatures):
        return temperatures
    try:
        player, opponent = temperatures
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"the temperatures are {short_repr(temperatures)}, but two numbers are needed, the player's and the"
            " opponent's."
        ) from None
    checked: list[float] = []
    for name, value in zip(Temperatures._fields, (player, opponent), strict=True):
        number = as_number(f"the {name}'s temperature", value)
        if not 0 <= number < float("inf"):
            raise InvalidInputError(
                f"the {name}'s temperature is {short_repr(value)}, but a finite number >= 0 is needed."
            )
        checked.append(number)
    return Temperatures(*checked)


def traced_temperatures(temperatures: Temperatures) -> Temperatures:
    """Return checked temperatures as arguments of compiled code.

    Zero is passed as a number, others as arrays. One program then serves all temperatures that are not zero. The arrays
    are weakly typed, as numbers are.
    """
    return Temperatures(*(0.0 if is_zero(t) else jnp.asarray(t) for t in temperatures))  # pyright: ignore


def is_zero(temperature: Temperature) -> bool:
    """Return whether a temperature is the number zero."""
    return not isinstance(temperature, jax.Array) and temperature == 0
