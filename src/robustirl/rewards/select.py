"""Choose a reward model by its name."""

from collections.abc import Sequence

import jax

from robustirl.errors import InvalidInputError
from robustirl.mdp import as_seed
from robustirl.rewards.models import AbstractReward, LinearReward, NetworkReward, TabularReward
from robustirl.types import ArrayLike

REWARD_MODELS = ("tabular", "tabular-action", "linear", "network")


def make_reward_model(
    kind: str,
    num_states: int,
    features: ArrayLike | None = None,
    *,
    num_actions: int | None = None,
    feature_names: Sequence[str] | None = None,
    seed: int = 0,
    world: str = "this world",
) -> AbstractReward:
    """Return the reward model of this name for a world.

    Args:
        kind: `tabular`, `tabular-action` (one parameter per state and action), `linear` in the features, or a
            `network` of them.
        num_states: S.
        features: φ `[S, d]`, or `[S, A, d]` for a reward of states and actions; linear models and networks need them.
        num_actions: A, which `tabular-action` needs.
        feature_names: A name for every feature of a linear model, if there are any.
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
    if kind == "tabular-action":
        if num_actions is None:
            raise InvalidInputError("a reward of states and actions needs the number of actions; give num_actions.")
        return TabularReward(num_states, num_actions)
    if features is None:
        raise InvalidInputError(f"{world} has no features for a {kind} reward; choose a tabular one.")
    if kind == "linear":
        return LinearReward(features, names=feature_names)
    return NetworkReward(features, key=jax.random.key(as_seed("the seed", seed)))
