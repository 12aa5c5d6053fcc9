"""Our exact numbers against the published ones, cell by cell, and why the worst differ.

Two things are known to stand between them. The published learner did not have the exact uniform start distribution but
the empirical one of 1000 sampled demonstrations, one draw of it, unknown to us. And some published numbers (gridworld-4
without learner noise) are those of an earlier iterate: ours after 100 steps, not after 200, agree with them. Beside a
cell that differs most stand refits of ours with drawn start distributions, and our own return after half the steps.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from experiments import runner, tables
from experiments.paper.finite import PAPER_ENVIRONMENTS, Record, RunSpec, context, grid_of_specs, run
from experiments.paper.optimizers import paper_optimizer
from experiments.paper.published import LOST_LAYOUTS, PublishedReturn, published_returns
from experiments.runner import Outcome, Where
from robustirl.envs.noise import PUBLISHED
from robustirl.irl import fit_many
from robustirl.irl.fit import PAPER_STEPS
from robustirl.mdp import MDP

DEMONSTRATIONS = 1000  # How many the published learner's start distribution was estimated from.
AGREEMENT_TOL = 0.03  # What counts as agreement of an earlier iterate.
PAPER_GRIDS = tuple(name for name in PAPER_ENVIRONMENTS if name not in LOST_LAYOUTS)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One cell of a figure, ours beside theirs."""

    record: Record
    published: PublishedReturn

    @property
    def relative_error(self) -> float:
        """|ours - theirs| / |theirs|."""
        return abs(self.record.total_return - self.published.mean) / abs(self.published.mean)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Our results in a cell under settings known or suspected to differ from the published ones.

    Attributes:
        cell: The cell.
        lowest: The lowest return of refits in which the learner's start distribution is estimated.
        highest: The highest.
        halfway: Our return after half of the steps.
    """

    cell: Cell
    lowest: float
    highest: float
    halfway: float

    @property
    def reason(self) -> str:
        """What the difference comes from, as far as these measurements tell."""
        theirs = self.cell.published.mean
        if self.lowest <= theirs <= self.highest:
            return "start noise"
        if abs(self.halfway - theirs) <= AGREEMENT_TOL * abs(theirs):
            return "fewer steps"
        if min(abs(theirs - end) for end in (self.lowest, self.highest)) <= AGREEMENT_TOL * abs(theirs):
            return "start noise, nearly"
        return "not explained"


def compare(records: Sequence[Record]) -> list[Cell]:
    """Return the records that have a published counterpart, beside it."""
    known = {key: value for key, value in published_returns().items() if key[0] not in LOST_LAYOUTS}
    keys = [(r.spec.environment, r.spec.learner_noise, r.spec.expert_noise, r.spec.alpha) for r in records]
    return [Cell(record, known[key]) for record, key in zip(records, keys, strict=True) if key in known]


def agreement_text(cells: Sequence[Cell]) -> str:
    """Return one sentence on how far cells are from the published numbers."""
    errors = np.array([cell.relative_error for cell in cells])
    return (
        f"Against the published numbers, under the kernel they were made with: over {len(cells)} cells the median"
        f" relative error is {np.median(errors) * 100:.2f} %, {np.mean(errors <= 0.05) * 100:.1f} % of the cells are"
        f" within 5 %, and the worst differs by {errors.max() * 100:.1f} %."
    )


@dataclasses.dataclass(frozen=True)
class RefitSpec:
    """A cell to be fitted again, with so many drawn start distributions."""

    run: RunSpec
    draws: int


def explain(cells: Sequence[Cell], draws: int, out: Path, where: Where | None = None) -> list[Explanation]:
    """Refit cells with drawn start distributions, each that of 1000 demonstrations, and with half the steps."""
    specs = [RefitSpec(cell.record.spec, draws) for cell in cells]
    results = runner.run(specs, refit, out, key=lambda spec: spec, size=1, where=where, title="explaining")
    names = ("lowest", "highest", "halfway")
    return [Explanation(cell, *(r.row[name] for name in names)) for cell, r in zip(cells, results, strict=True)]


def refit(specs: Sequence[RefitSpec]) -> list[Outcome]:
    """Compute the refits of one cell."""
    (asked,) = specs
    spec = asked.run
    lab = context(spec.environment, spec.noise_model, spec.expert)
    world, rho, model = lab.world(spec.learner_noise), lab.expert_occupancy(spec.expert_noise), lab.reward_model()
    shares = jnp.broadcast_to(world.initial, (asked.draws, world.num_states))
    counts = np.asarray(jax.jit(jax.random.multinomial, static_argnums=1)(jax.random.key(0), DEMONSTRATIONS, shares))
    worlds = [
        MDP(world.kernel, discount=world.discount, initial=count / count.sum(), mask=world.mask) for count in counts
    ]
    fits = fit_many(
        worlds,
        [rho] * asked.draws,
        [spec.alpha] * asked.draws,
        rewards=model,
        optimizer=paper_optimizer(model),
        steps=spec.steps,
        keep_last=True,
        throw=False,
    )
    players = [fit.player for fit in fits]
    returns = [lab.measure(spec.learner_noise, player) for player in players]
    half = lab.fit([spec], steps=spec.steps // 2, throw=False)[0]
    row = {"lowest": min(returns), "highest": max(returns), "halfway": lab.measure(spec.learner_noise, half.player)}
    return [(row, {})]


def compare_with_paper(
    environments: Sequence[str], out: Path, *, steps: int = PAPER_STEPS, worst: int = 10, draws: int = 20, where: Where
) -> None:
    """Run environments under the published kernel, and print how their cells compare with the paper's."""
    specs = [spec for name in dict.fromkeys(environments) for spec in grid_of_specs(name, PUBLISHED, steps=steps)]
    output = tables.Output(out)
    cells = compare(run(specs, out, where))
    if not cells:
        print("none of these cells has a published number.")
        return
    panels = tables.grouped(cells, lambda cell: (cell.record.spec.environment, cell.record.spec.learner_noise))
    rows = []
    for (name, noise), own in panels.items():
        errors = [cell.relative_error for cell in own]
        rows.append((name, f"{noise:g}", len(own), *(f"{f(errors):.2%}" for f in (np.median, np.mean, max))))
    output.table("agreement", ("environment", "ε_L", "cells", "median error", "mean", "worst"), rows)
    print(agreement_text(cells))
    cells = sorted(cells, key=lambda cell: cell.relative_error, reverse=True)[: max(worst, 0)]
    if cells:
        headings = (
            "environment",
            "ε_L",
            "ε_E",
            "α",
            "ours",
            "published",
            "error",
            "drawn starts",
            "half the steps",
            "why",
        )
        output.table("worst", headings, [_explained(item) for item in explain(cells, draws, out, where)])


def _explained(item: Explanation) -> tuple[str, ...]:
    spec, cell = item.cell.record.spec, item.cell
    noises = (f"{number:g}" for number in (spec.learner_noise, spec.expert_noise, spec.alpha))
    returns = f"{cell.record.total_return:.1f}", f"{cell.published.mean:.1f}", f"{cell.relative_error:.1%}"
    span = f"{item.lowest:.1f} … {item.highest:.1f}"
    return (spec.environment, *noises, *returns, span, f"{item.halfway:.1f}", item.reason)
