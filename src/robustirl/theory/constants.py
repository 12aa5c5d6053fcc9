"""The constants of the paper's bounds (Section 3.1), and what all of them assume of a pair of worlds."""

import numpy as np

from robustirl._runtime import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, as_reward, require_same_size
from robustirl.types import ArrayLike


@working_precision
def reward_magnitude(mdp: MDP, reward: ArrayLike) -> float:
    """|R|^max = max_s |R(s)|.

    Example:
        >>> reward_magnitude(MDP([[[1.0]]], discount=0.5), [-3.0])
        3.0
    """
    return float(np.abs(as_reward(reward, mdp)).max())


@working_precision
def kappa(mdp: MDP, reward: ArrayLike) -> float:
    """κ_θ = √(γ max{R^max + log|A|, -log|A| - R^min}), so that ‖V^soft‖∞ <= κ² / (γ (1-γ)).

    With action masks |A| is not one number: the soft value is at most (R^max + log of the most actions) and
    at least (R^min + log of the fewest) over 1 - γ, which is what the two logarithms are for. Where every
    action is available everywhere this is the paper's constant.

    Example:
        >>> round(kappa(MDP([[[1.0], [1.0]]], discount=0.5), [1.0]) ** 2, 4)  # γ (1 + log 2)
        0.8466
    """
    values = np.asarray(as_reward(reward, mdp))
    actions = np.log(np.asarray(mdp.mask).sum(-1))
    largest = max(values.max() + actions.max(), -actions.min() - values.min())
    return float(np.sqrt(float(mdp.discount) * largest))


def require_comparable(first: MDP, second: MDP) -> None:
    """Refuse two worlds that differ in more than their transition dynamics."""
    require_same_size(first.kernel, second.kernel)
    if first.kernel.leaky or second.kernel.leaky:
        raise InvalidInputError(
            "a world loses probability (its kernel is leaky), and no theorem of the paper covers that;"
            " use another noise model than published."
        )
    if not np.array_equal(first.mask, second.mask):
        raise InvalidInputError("the worlds allow different actions; the bounds need the same mask in both.")
    if float(first.discount) != float(second.discount):
        raise InvalidInputError(
            f"the worlds have different discounts, {float(first.discount)!r} and {float(second.discount)!r};"
            " the bounds need the same in both."
        )
    if not np.allclose(first.initial, second.initial, rtol=0, atol=1e-12):
        raise InvalidInputError("the worlds start from different distributions; the bounds need the same P0 in both.")
