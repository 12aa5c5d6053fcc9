"""How exact plans must be for a fit, and the refusal of worlds in which no plan can be."""

import numpy as np

from robustirl._runtime import as_float, epsilon
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame, replace_parts
from robustirl.planning import Temperatures, policy_value, solve

# The largest error of the value, as a share of the temperature: what it may do to the player's log-probabilities.
WORST_ERROR = 1e-3
# The same in float32, whose rounding alone makes the bound 0.02 at γ = 0.99 and |V| = 400.
WORST_ERROR_SINGLE = 0.1
NEARER_DISCOUNT = 0.99  # Policies for it can be computed in either precision.


def require_certifiable(game: MarkovGame, temperatures: Temperatures) -> None:
    """Refuse a discount so close to 1 that rounding hides the plan for the initial reward, zero.

    There the value is the entropy to come, and its rounding is amplified by 1/(1-γ) once more. Its size is bounded from
    below, so that no world is refused in which a plan could be certified.

    Example:
        >>> from robustirl.mdp import MDP
        >>> staying = MDP([[[1.0]] * 4], discount=0.999999)
        >>> require_certifiable(MarkovGame(staying), Temperatures())
        Traceback (most recent call last):
            ...
        robustirl.errors.InvalidInputError: at discount 0.999999 float64 can certify values of size 1.4e+06 to no better
            than 1.2e-03, but a fit needs 0.001 of the temperature 1; use a smaller discount, such as 0.99999.
    """
    mdp, temperature = game.mdp, temperatures.player
    rounding = 4 * epsilon(mdp.initial)
    worst = WORST_ERROR if mdp.initial.dtype == np.float64 else WORST_ERROR_SINGLE
    distance = 1 - float(mdp.discount)
    if rounding * np.log(mdp.num_actions) <= worst * distance**2:
        return
    robust = float(np.asarray(game.alpha).min()) < 1
    share = _entropy_despite_opponent(game, temperatures) if robust else _entropy_to_come(mdp)
    if rounding * share / distance <= worst:
        return
    wider = "" if mdp.initial.dtype == np.float64 else "use double precision, or "
    possible = _discount(float(np.log(mdp.num_actions)), rounding / worst)  # A step has no more entropy than that.
    raise InvalidInputError(
        f"at discount {float(mdp.discount)!r} {mdp.initial.dtype} can certify values of size {temperature * share:.1e}"
        f" to no better than {temperature * rounding * share / distance:.1e}, but a fit needs {worst:g} of the"
        f" temperature {temperature:g}; {wider}use a smaller discount, such as {possible}."
    )


def _entropy_to_come(mdp: MDP) -> float:
    """Return a lower bound on the largest discounted entropy.

    It is that of the best policy for a smaller discount.
    """
    nearer = replace_parts(mdp, discount=as_float(NEARER_DISCOUNT))
    policy = np.asarray(solve(MarkovGame(nearer), np.zeros(mdp.num_states)).player)
    entropy = -(policy * np.log(np.where(policy > 0, policy, 1))).sum(-1)
    return float(np.max(np.asarray(policy_value(mdp, policy, entropy))))


def _entropy_despite_opponent(game: MarkovGame, temperatures: Temperatures) -> float:
    """Return a lower bound on the value, in units of the temperature.

    It is that of a uniform player, wherever it is led.
    """
    alpha = float(np.asarray(game.alpha).min())
    choices = np.asarray(game.mdp.mask).sum(-1).min()
    against = (1 - alpha) * temperatures.opponent / temperatures.player * np.log(game.mdp.num_actions)
    return max(0.0, alpha * np.log(choices) - against) / (1 - float(game.mdp.discount))


def _discount(entropy: float, ratio: float) -> str:
    """Return a discount at which values of so much entropy a step can be certified.

    It is written as a row of nines.
    """
    distance = np.sqrt(entropy * ratio)
    digits = int(np.ceil(-np.log10(distance)))
    return f"{1 - 10.0 ** (1 - digits):.{digits}g}"
