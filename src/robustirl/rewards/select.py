"""Choose a reward model by its name."""

import jax

from robustirl.errors import InvalidInputError
from robustirl.mdp import as_seed
from robustirl.rewards.models import AbstractReward, LinearReward, NetworkReward, TabularReward
from robustirl.types import ArrayLike

REWARD_MODELS = ("tabular", "linear", "network")


def make_reward_model(
    kind: str, num_states: int, features: ArrayLike | None = None, *, seed: int = 0, world: str = "this world"
) -> AbstractReward:
    """Return the reward model of this name for a world.

    Args:
        kind: `tabular`, `linear` in the features, or a `network` of them.
        num_states: S.
        features: φ `[S, d]`, which linear models and networks need.
        seed: Decides the first weights of a network.
        world: What errors call the world.

    Example:
        >>> make_reward_model("linear", 2, [[1.0, 0.0], [1.0, 1.0]]).features.shape
        (2, 2)
        >>> make_reward_model("linear", 2)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: this world has no features for a linear reward; choose a tabular one.
    """
    if kind not in REWARD_MODELS:
        raise InvalidInputError(f"the reward is {kind!r}, but one of {', '.join(REWARD_MODELS)} is needed.")
    if kind == "tabular":
        return TabularReward(num_states)
    if features is None:
        raise InvalidInputError(f"{world} has no features for a {kind} reward; choose a tabular one.")
    if kind == "linear":
        return LinearReward(features)
    return NetworkReward(features, key=jax.random.key(as_seed("the seed", seed)))
