r"""How uncertain the coefficients of a linear reward are that was learned by matching an occupancy.

At the minimum θ̂ of the dual the mixture has the features of the expert, g(θ̂) = φᵀ(ρ_mix(θ̂) - ρ̂) = 0. If the mean
feature sums φᵀρ̂ of n episodes have the covariance Σ/n, then by the delta method θ̂ has the covariance

    H⁻¹ (Σ/n) H⁻¹,        H = ∂(φᵀρ_mix)/∂θ, the curvature of the dual (`mce/curvature.py`).
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import BoundedJit, as_float, working_precision
from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.occupancy import shown_contributions
from robustirl.errors import InvalidInputError
from robustirl.irl.mce.curvature import Curvature
from robustirl.irl.mce.problem import LIKELIHOOD
from robustirl.irl.mce.result import Fit
from robustirl.mdp import MDP, MarkovGame, as_world, renumbered
from robustirl.planning import Temperatures
from robustirl.rewards import LinearReward

LARGEST_CONDITION = 1e10  # Of H in units of its diagonal; beyond, some direction is not identified.


@working_precision
def matching_covariance(
    fit: Fit,
    mdp: MDP,
    demonstrations: Demonstrations,
    reward: LinearReward,
    *,
    temperatures: Temperatures = Temperatures(),
) -> Float[np.ndarray, "d d"]:
    """Return the parameters' covariance for a linear reward of states that matches an occupancy.

    It counts the scatter of the episodes, not a wrong world or wrong features. It takes 2 d linear solves and no
    matrix of states, so that it is for large worlds, too.

    Args:
        fit: The result of `fit(...)`, close to its minimum.
        mdp: The learner's world that it was made in.
        demonstrations: The episodes that its occupancy was estimated from, at least two.
        reward: The reward model that it was made with.
        temperatures: Those of the fit.

    Example:
        >>> from robustirl.irl import fit
        >>> from robustirl.demonstrations import estimate_occupancy
        >>> table = np.zeros((3, 2, 3))  # From state 0 one goes to 1 or to 2, and stays.
        >>> table[0, [0, 1], [1, 2]] = table[[1, 2], :, [1, 2]] = 1
        >>> world = MDP(table, discount=0.5, initial=[1.0, 0.0, 0.0])
        >>> walks = Demonstrations.from_arrays([[0, 1]] * 75 + [[0, 2]] * 25, terminated=True)
        >>> model = LinearReward([[0.0], [1.0], [0.0]])
        >>> found = fit(world, estimate_occupancy(walks, world).occupancy, alpha=1.0, reward=model)
        >>> round(float(matching_covariance(found, world, walks, model)[0, 0]), 4)  # 1 / (99 p (1-p)), p = 3/4
        0.0539
    """
    features = _require_features(fit, as_world(mdp), demonstrations, reward)
    shown, _ = shown_contributions(demonstrations, mdp)
    size = features.shape[1]
    scatter = np.cov(np.asarray(shown @ np.asarray(features)).T).reshape(size, size) / len(demonstrations)
    found = renumbered(mdp)
    world, arrays = mdp, [as_float(a) for a in (fit.player, fit.opponent, fit.mixture, fit.occupancy, features)]
    if found is not None:
        world, order = found
        arrays = [order.into(array) for array in arrays]
    curvature = Curvature(MarkovGame(world, fit.alpha), *arrays, temperature=temperatures.player)
    rows = [np.asarray(_apply(curvature, direction)) for direction in jnp.eye(size, dtype=features.dtype)]
    return _sandwich((np.stack(rows) + np.stack(rows).T) / 2, scatter)


def _sandwich(matrix: Float[np.ndarray, "d d"], scatter: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """Return M⁻¹ Σ M⁻¹, or refuse a matrix M without an inverse.

    The units of its features make no difference.
    """
    unit = np.sqrt(np.maximum(np.diag(matrix), 0))
    if (unit == 0).any() or np.linalg.cond(matrix / unit / unit[:, None]) > LARGEST_CONDITION:
        raise InvalidInputError(
            "the features of the reward are not identified: some combination of them has no influence on where the"
            " player goes; remove a feature."
        )
    inverse = np.linalg.inv(matrix)
    return inverse @ scatter @ inverse


def _require_features(fit: Fit, mdp: MDP, demonstrations: Demonstrations, reward: Any) -> Float[Array, "S d"]:
    """Return the features of a linear reward of states; refuse what has no such covariance."""
    if fit.objective == LIKELIHOOD:
        raise InvalidInputError("this fit maximized a likelihood; its standard errors are those of irl.infer.")
    if not isinstance(reward, LinearReward) or reward.features.ndim != 2:
        raise InvalidInputError(
            f"the reward is a {type(reward).__name__}, but rewards.LinearReward with features of states is needed."
        )
    if fit.alpha.ndim:
        raise InvalidInputError("the fit has an alpha for each state, but one number is needed for its covariance.")
    if len(demonstrations) < 2:
        raise InvalidInputError(f"there is {len(demonstrations)} episode, but at least two tell how much they scatter.")
    if reward.features.shape[0] != mdp.num_states:
        raise InvalidInputError(
            f"the reward has features of {reward.features.shape[0]} states, but the world has {mdp.num_states}; give"
            " the world and the reward of the fit."
        )
    return jnp.asarray(reward.features)


def _product(curvature: Curvature, direction: Float[Array, " d"]) -> Float[Array, " d"]:
    return curvature.apply(direction)


_apply: BoundedJit[..., Any] = BoundedJit(_product)
