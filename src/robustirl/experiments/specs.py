"""One cell of a figure as data: what to run, and what came of it."""

import dataclasses
from collections.abc import Sequence

from robustirl.errors import InvalidInputError
from robustirl.irl.mce import PAPER_STEPS

PAPER_ALPHAS = (1.0, 0.95, 0.9, 0.85, 0.8)
PAPER_LEARNER_NOISES = (0.0, 0.05, 0.1)
PAPER_EXPERT_NOISES = (0.0, 0.05, 0.1, 0.15, 0.2)


@dataclasses.dataclass(frozen=True, order=True)
class RunSpec:
    """One learner, one expert, one α: everything that determines a run.

    Nothing in a finite run is random; the seed labels the row, and will choose layouts where there are several.
    """

    environment: str
    noise_model: str
    learner_noise: float
    expert_noise: float
    alpha: float
    seed: int = 0
    steps: int = PAPER_STEPS
    expert: str = "soft"


@dataclasses.dataclass(frozen=True)
class Record:
    """A run and its outcome.

    Attributes:
        spec: What was run.
        total_return: The learnt player's return in the learner's world, undiscounted and capped.
        optimal_return: That of the policy which knows the true reward.
        occupancy_gap: ‖ρ_mix - ρ‖₁ at the end.
        steps: Parameter updates taken.
        seconds: The run's share of its batch's time.
        verdict: How the fit ended.
    """

    spec: RunSpec
    total_return: float
    optimal_return: float
    occupancy_gap: float
    steps: int
    seconds: float
    verdict: str


def grid_of_specs(
    environment: str,
    noise_model: str,
    *,
    alphas: Sequence[float] = PAPER_ALPHAS,
    learner_noises: Sequence[float] = PAPER_LEARNER_NOISES,
    expert_noises: Sequence[float] = PAPER_EXPERT_NOISES,
    steps: int = PAPER_STEPS,
    expert: str = "soft",
) -> tuple[RunSpec, ...]:
    """The cells of one figure: every learner noise, α and expert noise, in that order.

    Example:
        >>> len(grid_of_specs("gridworld-1", "published"))
        75
    """
    for name, values in (("alphas", alphas), ("learner noises", learner_noises), ("expert noises", expert_noises)):
        if not values or len(set(values)) != len(values):
            raise InvalidInputError(f"the {name} are {tuple(values)}, but at least one is needed and none twice.")
    return tuple(
        RunSpec(environment, noise_model, learner, expert_noise, alpha, steps=steps, expert=expert)
        for learner in learner_noises
        for alpha in alphas
        for expert_noise in expert_noises
    )
