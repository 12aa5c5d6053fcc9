"""The settings of (robust) relative-entropy IRL, in one frozen dataclass."""

import dataclasses
import math
from typing import Literal

from robustirl._runtime import renamed_fields
from robustirl.control import PAPER as PAPER_GAME
from robustirl.control import PolicyGradientConfig, require_choice
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_positive

GAME = PolicyGradientConfig(steps=1, horizon=200, final_rate=0.02, excess=1.0, deviations=(0.05, 0.5))
"""The game between two updates of θ. Its reward keeps turning, so policies are kept from going silent."""


@renamed_fields
@dataclasses.dataclass(frozen=True)
class RelativeEntropyConfig:
    """How the reward is learned, and how the game is played in between (Algorithm 3).

    The defaults are Algorithm 3 with what makes it dependable; `PAPER` is Algorithm 3 as printed. Two changes matter.
    With `ridge`, θ follows what is left to match and the whole is a descent on it; without, θ and the policies chase
    each other. And the mean over a trajectory does not tell how long it took: no weight is learned for time, and where
    ⟨θ, φ⟩ is positive a policy does best never to arrive. `center` settles that weight; so does the other `summary`.

    Args:
        rounds: Outer rounds.
        reward_steps: N^θ, the steps on θ in a round.
        reward_rate: Adam's learning rate for θ.
        reward_final_rate: What remains of that rate at the end, as a share; it falls linearly.
        ridge: λ of the penalty λ‖θ‖²/2 on g(θ), as after a Gaussian prior on θ.
        summary: The features of a trajectory: its `mean`, 1/|τ| Σ_s φ(s), as in Algorithm 3, or the `discounted`
            sum (1-γ) Σ_t γ^t φ(s_t), whose product with θ is what the game is about.
        center: `expert` subtracts ⟨θ, φ̄^E⟩ from the rewards of the game, so that a step costs if it is worse than the
            expert's are on average; `none` is Algorithm 3. For the `mean` summary alone: the other one settles the
            weight of a constant feature itself.
        theta: `free`, or `unit`: θ is scaled to norm one after every step.
        importance: `none`, as in Algorithm 3, or `base`: trajectories are also weighed with their probability under
            the policies of the start over the one under those that sampled them (Boularias et al., 2011).
        weight_range: Importance log-weights are cut to this range below the largest; none leaves them.
        least_effective: Fail once the weight rests on fewer trajectories than this, counted as 1 / Σ P².
        opponent_delay: The share of the rounds over which the opponent's chance rises from 0 to 1-α.
        reuse: Whether D^π also serves the first policy step of its round. It was sampled by the policies of that step,
            and only its rewards are new, so this halves the sampling.
        attempts: Fits from different draws, of which the one with the smallest feature gap is returned. The gap is not
            convex in the policies, so draws decide which way round an obstacle they take; but the smaller gap is the
            mixture's and need not be the better player's.
        deviation: σ of both policies at the start. (The paper samples its first trajectories uniformly.)
        game: How the game is played. Its `steps` are N^π in a round, its `episodes` also the size of D^π.

    Example:
        >>> RelativeEntropyConfig(rounds=50, theta="unit").game.steps
        1
    """

    rounds: int = 300
    reward_steps: int = 10
    reward_rate: float = 0.1
    reward_final_rate: float = 1.0
    ridge: float = 1.0
    summary: Literal["mean", "discounted"] = "mean"
    center: Literal["none", "expert"] = "expert"
    theta: Literal["free", "unit"] = "free"
    importance: Literal["none", "base"] = "none"
    weight_range: float | None = None
    least_effective: float = 1.01
    opponent_delay: float = 0.0
    reuse: bool = True
    attempts: int = 1
    deviation: float = 0.5
    game: PolicyGradientConfig = GAME

    def __post_init__(self) -> None:
        for name in ("rounds", "reward_steps", "attempts"):
            as_count(name, getattr(self, name), 1)
        for name in ("reward_rate", "reward_final_rate", "weight_range", "least_effective", "deviation"):
            if getattr(self, name) is not None:
                as_positive(name, getattr(self, name))
        for name in ("summary", "center", "theta", "importance"):
            require_choice(self, name)
        if not (isinstance(self.ridge, int | float) and 0 <= self.ridge < math.inf):
            raise InvalidInputError(f"ridge is {self.ridge!r}, but a finite number of at least 0 is needed.")
        if not (isinstance(self.opponent_delay, int | float) and 0 <= self.opponent_delay <= 1):
            raise InvalidInputError(
                f"opponent_delay is {self.opponent_delay!r}, but a share between 0 and 1 is needed."
            )
        if (self.summary, self.center) == ("discounted", "expert"):
            raise InvalidInputError(
                "center is 'expert' with the discounted summary, which needs none; set it to 'none'."
            )
        if not isinstance(self.game, PolicyGradientConfig):
            raise InvalidInputError(f"game is {self.game!r}, but a PolicyGradientConfig is needed.")


PAPER = RelativeEntropyConfig(
    ridge=0.0,
    center="none",
    least_effective=0.5,
    reuse=False,
    game=dataclasses.replace(PAPER_GAME, steps=5, horizon=200),
)
"""Algorithms 3 and 4 as printed, where no weight is too lopsided; rates and counts are ours, the paper gives none."""
