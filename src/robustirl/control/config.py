"""The settings of the policy gradient, in one frozen dataclass."""

import dataclasses
import math
from typing import Literal

from robustirl._runtime import renamed_fields
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_positive


@renamed_fields
@dataclasses.dataclass(frozen=True)
class PolicyGradientConfig:
    """How a (two-player) policy gradient is estimated and followed.

    The defaults are Algorithm 4 with the variance reduction that makes it dependable; `PAPER` is Algorithm 4 itself.

    Args:
        steps: N^π, the updates of each player.
        episodes: N^traj, the episodes sampled for an update.
        horizon: T, after which an episode is cut off.
        learning_rate: Of Adam, for the player.
        final_rate: What remains of the learning rates at the end, as a share; they fall linearly.
        opponent_rate: Of Adam, for the opponent; as the player's if omitted.
        method: `likelihood-ratio` is Algorithm 4; `ppo` takes several clipped steps on every batch.
        baseline: What is subtracted from the return to go: nothing, the mean over the episodes at the same step, or
            a critic fitted to the batch, with GAE.
        normalize: Divide advantages by their deviation, so that the scale of the reward does not set the step.
        discounted: Weigh step t by γ^t, as in Algorithm 4.
        credit: Whose actions count: `all` drawn ones, as in Algorithm 4, or those `executed` alone. Actions that were
            not executed cannot have changed the return, so their terms are zero on average and are noise.
        entropy: Weight of the entropy of each player's policy in its own objective.
        excess: Cost, per step, of a mean action far out of bounds: times its squared distance from where it is let be.
            Beyond the bounds all actions are clipped to the same one, and a policy that strays far has no gradient
            left to return by.
        reach: Up to how many times the bounds a mean action is let be. A policy that means to move at full speed in
            spite of its own noise must aim beyond the bounds, so one would be too little.
        deviations: The bounds within which σ is held, so that a policy neither stops exploring nor turns to noise.
        gae_decay: λ of GAE, for the critic.
        epochs: Steps on a batch, for `ppo`.
        clip: The range 1 ± clip of the ratio of densities, for `ppo`.
        gradient_norm: The largest norm of a gradient; longer ones are scaled down.

    Example:
        >>> PolicyGradientConfig(steps=100, method="ppo").epochs
        4
    """

    steps: int = 400
    episodes: int = 128
    horizon: int = 300
    learning_rate: float = 0.05
    final_rate: float = 0.1
    opponent_rate: float | None = None
    method: Literal["likelihood-ratio", "ppo"] = "likelihood-ratio"
    baseline: Literal["none", "per-step", "critic"] = "per-step"
    normalize: bool = True
    discounted: bool = False
    credit: Literal["all", "executed"] = "executed"
    entropy: float = 0.0
    excess: float = 0.0
    reach: float = 4.0
    deviations: tuple[float, float] = (0.01, 1.0)
    gae_decay: float = 0.95
    epochs: int = 4
    clip: float = 0.2
    gradient_norm: float | None = None

    def __post_init__(self) -> None:
        as_count("steps", self.steps)
        for name in ("episodes", "horizon", "epochs"):
            as_count(name, getattr(self, name), 1)
        for name in ("learning_rate", "final_rate", "opponent_rate", "clip", "reach", "gradient_norm"):
            if getattr(self, name) is not None:
                as_positive(name, getattr(self, name))
        for name in ("method", "baseline", "credit"):
            require_choice(self, name)
        for name in ("entropy", "excess"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0 <= value < math.inf):
                raise InvalidInputError(f"{name} is {value!r}, but a finite number of at least 0 is needed.")
        low, high = self.deviations
        if not 0 < low < high < math.inf:
            raise InvalidInputError(f"deviations is {self.deviations!r}, but two rising numbers above 0 are needed.")
        if not (isinstance(self.gae_decay, int | float) and 0 <= self.gae_decay <= 1):
            raise InvalidInputError(f"gae_decay is {self.gae_decay!r}, but a number between 0 and 1 is needed.")


def require_choice(config: object, name: str) -> None:
    """Refuse a setting that is none of the choices its type names."""
    choices = next(f for f in dataclasses.fields(config) if f.name == name).type.__args__  # pyright: ignore
    value = getattr(config, name)
    if value not in choices:
        raise InvalidInputError(f"{name} is {value!r}, but one of {', '.join(choices)} is needed.")


PAPER = PolicyGradientConfig(baseline="none", normalize=False, discounted=True, credit="all", deviations=(1e-3, 50.0))
"""Algorithm 4 as printed; step sizes and counts are ours, since the paper gives none."""

EXPERT = PolicyGradientConfig(baseline="critic", gae_decay=1.0)
"""What trains experts well: a critic, and whole returns."""
