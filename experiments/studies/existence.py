"""Where a match exists at all: Theorem 2's test, the true answer, and what IRL makes of it, cell by cell.

For every learner noise ε_L and expert noise ε_E, ρ the occupancy of the expert at ε_E, asked in the world at ε_L:

- does the paper's rank test say that some policy has the occupancy ρ, and does one;
- δ, the smallest violation of the flow equations at ρ, and g, the smallest gap ‖ρ_π - ρ‖₁ that any policy leaves;
- the gap that standard IRL (α = 1) is left with, which can only be larger than g.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from experiments import runner
from experiments.paper.finite import BATCH, RunSpec, batch_key, context, grid_of_specs
from experiments.runner import Outcome, Where
from experiments.tables import Output
from robustirl import envs
from robustirl.envs.noise import NOISE_MODELS
from robustirl.irl.fit import PAPER_STEPS
from robustirl.theory import closest_occupancy, find_matching_policy
from robustirl.theory.existence import rank_test

COLUMNS = (
    "environment", "noise model", "ε_L", "ε_E", "rank 𝐓", "rank (𝐓\\|𝐯)", "2\\|S\\|", "rank test", "exists", "δ", "g",
    "gap of IRL",
)  # fmt: skip


def specs(environments: Sequence[str], noise_models: Sequence[str], **options: Any) -> list[RunSpec]:
    """Return the cells; an environment that knows none of the noise models has its own instead.

    Example:
        >>> len(specs(["three-state"], ["uniform-state"]))
        15
    """
    found = []
    for name in environments:
        known = envs.make(name).noise_models
        models = [model for model in noise_models if model in known] or known[:1]
        found += [spec for model in models for spec in grid_of_specs(name, model, alphas=(1.0,), **options)]
    return found


def examine(cells: Sequence[RunSpec]) -> list[Outcome]:
    """Compute some cells of one environment and noise model: one call of IRL, and two linear programs each."""
    lab = context(cells[0].environment, cells[0].noise_model, cells[0].expert)
    fits = lab.fit([*cells, *[cells[-1]] * (BATCH - len(cells))], steps=cells[0].steps)
    outcomes: list[Outcome] = []
    for spec, fit in zip(cells, fits, strict=False):
        world, rho = lab.world(spec.learner_noise), lab.expert_occupancy(spec.expert_noise)
        ranks, match = rank_test(world, rho), find_matching_policy(world, rho)
        row = {
            "rank": int(ranks.rank),
            "augmented_rank": int(ranks.augmented_rank),
            "equations": 2 * world.num_states,
            "consistent": bool(ranks.consistent),
            "feasible": bool(match.feasible),
            "violation": float(match.violation),
            "closest_gap": float(closest_occupancy(world, rho).gap),
            "irl_gap": float(fit.verdict.occupancy_gap),
        }
        outcomes.append((row, {}))
    return outcomes


def as_cells(spec: RunSpec, row: dict[str, Any]) -> tuple[str, ...]:
    """Return a row as the entries under `COLUMNS`; where the two answers differ, the true one stands out."""
    exists = ("yes" if row["feasible"] else "no") if row["consistent"] == row["feasible"] else "**no**"
    ranks = (str(row[name]) for name in ("rank", "augmented_rank", "equations"))
    place = spec.environment, spec.noise_model, f"{spec.learner_noise:g}", f"{spec.expert_noise:g}"
    # What the solver's accuracy leaves of zero is zero.
    numbers = (row[name] for name in ("violation", "closest_gap", "irl_gap"))
    distances = ("0" if number < 1e-9 else f"{number:.3g}" for number in numbers)
    return (*place, *ranks, "yes" if row["consistent"] else "no", exists, *distances)


@dataclasses.dataclass(frozen=True)
class Study:
    """Tell in which cells a learner can match the expert: rank test, true answer, and IRL."""

    environments: tuple[str, ...] = ()
    """Which environments; all registered ones if omitted."""
    noise_models: tuple[str, ...] = tuple(NOISE_MODELS)
    """Which noise models; an environment that knows none of them has its own instead."""
    steps: int = PAPER_STEPS
    """Parameter updates of IRL."""
    expert: str = "soft"
    """The kind of expert, soft or optimal."""

    def run(self, out: Output, where: Where) -> None:
        """Write the table of all cells."""
        asked = specs(self.environments or envs.names(), self.noise_models, steps=self.steps, expert=self.expert)
        results = runner.run(asked, examine, out.folder, key=batch_key, size=BATCH, where=where, title="cells")
        out.table("existence", COLUMNS, [as_cells(r.spec, r.row) for r in results])
