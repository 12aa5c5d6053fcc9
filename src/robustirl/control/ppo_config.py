"""The settings of proximal policy optimization, in one frozen dataclass."""

import dataclasses
from typing import Any

from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_list, as_number_between, as_positive


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """How policies are improved from segments of episodes.

    Args:
        environments: N, episodes side by side.
        segment: T, steps of each between two updates.
        epochs: Passes over a segment.
        minibatches: Parts of a segment, one gradient step each.
        learning_rate: Of Adam.
        final_rate: What remains of it at the end, as a share; it falls linearly.
        opponent_rate: The opponent's learning rate as a multiple of the player's.
        clip: ε, the range 1 ± ε of the ratio of densities.
        gae_decay: λ of GAE.
        entropy: Weight of the entropy of both policies.
        gradient_norm: The largest norm of a gradient; longer ones are scaled down.
        hidden: Widths of the hidden layers of policies and critic.
        deviation: σ of both policies at the start, as a share of the largest action.
        deviations: The bounds within which σ is held, as such shares.

    Example:
        >>> PPOConfig(environments=16).segment
        64
    """

    environments: int = 64
    segment: int = 64
    epochs: int = 4
    minibatches: int = 4
    learning_rate: float = 1e-3
    final_rate: float = 0.1
    opponent_rate: float = 1.0
    clip: float = 0.2
    gae_decay: float = 0.95
    entropy: float = 0.0
    gradient_norm: float = 0.5
    hidden: tuple[int, ...] = (64, 64)
    deviation: float = 0.6
    deviations: tuple[float, float] = (0.05, 1.0)

    def __post_init__(self) -> None:
        # Numbers of Python: those of arrays overflow in products, and lists are no settings of compiled programs.
        found: dict[str, Any] = {}
        for name in ("environments", "segment", "epochs", "minibatches"):
            found[name] = as_count(name, getattr(self, name), 1)
        for name in ("learning_rate", "final_rate", "opponent_rate", "clip", "gradient_norm", "deviation"):
            found[name] = as_positive(name, getattr(self, name))
        found["gae_decay"] = as_number_between("gae_decay", self.gae_decay, 0, 1)
        found["entropy"] = as_number_between("entropy", self.entropy, 0, float("inf"), open_high=True)
        limits = as_list("deviations", self.deviations, "a smallest and a largest one")
        found["deviations"] = tuple(as_positive("a limit of the deviations", limit) for limit in limits)
        widths = as_list("hidden", self.hidden, "a sequence of widths")
        found["hidden"] = tuple(as_count("the width of a hidden layer", width, 1) for width in widths)
        for name, value in found.items():
            object.__setattr__(self, name, value)
        if len(self.deviations) != 2 or self.deviations[0] > self.deviations[1]:
            raise InvalidInputError(f"deviations is {self.deviations!r}, but a smallest and a largest one are needed.")
        if self.environments * self.segment % self.minibatches:
            raise InvalidInputError(
                f"minibatches is {self.minibatches}, which does not divide the {self.environments * self.segment} steps"
                " of a segment; change one of them."
            )

    @property
    def batch(self) -> int:
        """Steps between two updates, of all episodes."""
        return self.environments * self.segment
