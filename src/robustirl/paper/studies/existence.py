"""Where a match exists at all: Theorem 2's test, the true answer, and what IRL makes of it, cell by cell.

For every learner noise ε_L and expert noise ε_E, ρ the occupancy of the expert at ε_E, asked in the world at ε_L:

- does the paper's rank test say that some policy has the occupancy ρ, and does one;
- δ, the smallest violation of the flow equations at ρ, and g, the smallest gap ‖ρ_π - ρ‖₁ that any policy leaves;
- the gap that standard IRL (α = 1) is left with, which can only be larger than g.
"""

import dataclasses
import itertools
from collections.abc import Sequence

from robustirl import envs
from robustirl.envs.noise import NOISE_MODELS
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.finite.specs import PAPER_EXPERT_NOISES, PAPER_LEARNER_NOISES, RunSpec
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.sweeps import Progress
from robustirl.theory import closest_occupancy, find_matching_policy, rank_test

COLUMNS = (
    "environment",
    "noise model",
    "ε_L",
    "ε_E",
    "rank 𝐓",
    "rank (𝐓\\|𝐯)",
    "2\\|S\\|",
    "rank test",
    "exists",
    "δ",
    "g",
    "gap of IRL",
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One cell.

    Attributes:
        environment: The environment's name.
        noise_model: Its noise model.
        learner_noise: ε_L.
        expert_noise: ε_E.
        equations: 2|S|, the rows of the paper's matrix 𝐓.
        rank: That of 𝐓.
        augmented_rank: That of (𝐓|𝐯).
        consistent: The rank test's verdict.
        feasible: Whether a policy with the expert's occupancy exists.
        violation: δ, the smallest violation of the flow equations.
        closest_gap: g, the smallest occupancy gap any policy leaves.
        irl_gap: The occupancy gap of standard IRL.
    """

    environment: str
    noise_model: str
    learner_noise: float
    expert_noise: float
    equations: int
    rank: int
    augmented_rank: int
    consistent: bool
    feasible: bool
    violation: float
    closest_gap: float
    irl_gap: float


def existence_table(
    environments: Sequence[str],
    noise_models: Sequence[str],
    learner_noises: Sequence[float] = PAPER_LEARNER_NOISES,
    expert_noises: Sequence[float] = PAPER_EXPERT_NOISES,
    *,
    expert: str = "soft",
    steps: int = PAPER_STEPS,
    progress: Progress = lambda *_: None,
) -> list[Row]:
    """Return the cells of some environments.

    There is one compiled call of IRL for each environment and noise model.

    Args:
        environments: Registered names.
        noise_models: The noise models to go through; an environment that knows none of them has its own instead.
        learner_noises: ε_L.
        expert_noises: ε_E.
        expert: `soft` or `optimal`, see `robustirl.planning.expert_policy`.
        steps: Adam steps of IRL.
        progress: Told how many environments and noise models are finished.

    Example:
        >>> calm, noisy = existence_table(["three-state"], ["slip"], [0.1], [0.0, 0.2], expert="optimal", steps=0)
        >>> calm.consistent, calm.feasible, round(calm.closest_gap, 6)
        (True, False, 0.18)
        >>> noisy.consistent, noisy.feasible
        (True, True)
    """
    groups = [(name, model) for name in environments for model in _models_of(envs.make(name), noise_models)]
    rows: list[Row] = []
    for done, (name, model) in enumerate(groups):
        progress("environments and noise models", done, len(groups))
        rows += _rows(name, model, learner_noises, expert_noises, expert, steps)
    progress("environments and noise models", len(groups), len(groups))
    return rows


def _models_of(environment: envs.Environment, wanted: Sequence[str]) -> tuple[str, ...]:
    return tuple(model for model in wanted if model in environment.noise_models) or environment.noise_models[:1]


def _rows(
    name: str,
    model: str,
    learner_noises: Sequence[float],
    expert_noises: Sequence[float],
    expert: str,
    steps: int,
) -> list[Row]:
    lab = ExperimentContext(envs.make(name), model, expert)
    cells = itertools.product(learner_noises, expert_noises)
    specs = [RunSpec(name, model, *cell, alpha=1.0, steps=steps, expert=expert) for cell in cells]
    fits = lab.fit(specs, steps=steps)
    return [_row(lab, spec, float(fit.verdict.occupancy_gap)) for spec, fit in zip(specs, fits, strict=True)]


def _row(lab: ExperimentContext, spec: RunSpec, irl_gap: float) -> Row:
    world, rho = lab.world(spec.learner_noise), lab.expert_occupancy(spec.expert_noise)
    ranks, match, closest = rank_test(world, rho), find_matching_policy(world, rho), closest_occupancy(world, rho)
    return Row(
        environment=spec.environment,
        noise_model=spec.noise_model,
        learner_noise=spec.learner_noise,
        expert_noise=spec.expert_noise,
        equations=2 * world.num_states,
        rank=ranks.rank,
        augmented_rank=ranks.augmented_rank,
        consistent=ranks.consistent,
        feasible=match.feasible,
        violation=match.violation,
        closest_gap=closest.gap,
        irl_gap=irl_gap,
    )


def as_cells(row: Row) -> tuple[str, ...]:
    """Return a row as the entries under `COLUMNS`.

    Example:
        >>> " | ".join(as_cells(Row("a", "b", 0.0, 0.1, 6, 4, 4, True, False, 0.036, 0.36, 0.4)))
        'a | b | 0 | 0.1 | 4 | 4 | 6 | yes | **no** | 0.036 | 0.36 | 0.4'
    """
    # Where the two verdicts differ, the true one stands out.
    exists = ("yes" if row.feasible else "no") if row.consistent == row.feasible else "**no**"
    return (
        row.environment,
        row.noise_model,
        f"{row.learner_noise:g}",
        f"{row.expert_noise:g}",
        str(row.rank),
        str(row.augmented_rank),
        str(row.equations),
        "yes" if row.consistent else "no",
        exists,
        *(_distance(number) for number in (row.violation, row.closest_gap, row.irl_gap)),
    )


def _distance(number: float) -> str:
    """Format to three digits, and zero for what the solver's accuracy leaves of it."""
    return "0" if number < 1e-9 else f"{number:.3g}"


@register_study("existence")
@dataclasses.dataclass(frozen=True)
class ExistenceStudy:
    """Tell in which cells a learner can match the expert: rank test, true answer, and IRL."""

    environments: tuple[str, ...] = ()
    """Which environments; all registered ones if omitted."""
    noise_models: tuple[str, ...] = tuple(NOISE_MODELS)
    """Which noise models; an environment that knows none of them has its own instead."""
    steps: int = PAPER_STEPS
    """Parameter updates of IRL."""

    def run(self, frame: Frame) -> None:
        """Write the table of all cells."""
        names = self.environments or envs.names()
        rows = existence_table(names, self.noise_models, steps=self.steps, progress=frame.progress)
        frame.write_table("existence", COLUMNS, map(as_cells, rows))
