"""Our exact numbers against the published ones, cell by cell, and why the worst differ.

The published learner did not have the exact uniform start distribution but the empirical one of 1000
sampled demonstrations (one draw of it, unknown to us). So beside every cell that differs most stand refits
of our own in which the learner gets such a draw: where the published value lies within their span, that
noise alone explains it.
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robustirl import envs
from robustirl.irl import fit_many
from robustirl.mdp import MDP
from robustirl.experiments.published import PublishedReturn, published_returns
from robustirl.experiments.runner import Laboratory
from robustirl.experiments.specs import Record, RunSpec

DEMONSTRATIONS = 1000  # How many the published learner's start distribution was estimated from.


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
    """A cell, and the span of returns when the learner's start distribution is itself estimated."""

    cell: Cell
    lowest: float
    highest: float

    @property
    def reason(self) -> str:
        """In a few words, what the difference comes from, as far as measured."""
        if self.lowest <= self.cell.published.mean <= self.highest:
            return "within the span of empirical starts"
        distance = min(abs(self.cell.published.mean - end) for end in (self.lowest, self.highest))
        if distance <= 2 * self.cell.published.deviation / np.sqrt(1000) + 0.01 * abs(self.cell.published.mean):
            return "just outside that span"
        return "not explained by starts alone" if self.cell.record.spec.alpha == 1 else "starts and opponent ties"


def compare(records: Sequence[Record]) -> list[Cell]:
    """The records that have a published counterpart, beside it."""
    known = published_returns()
    keys = [(r.spec.environment, r.spec.learner_noise, r.spec.expert_noise, r.spec.alpha) for r in records]
    return [Cell(record, known[key]) for record, key in zip(records, keys, strict=True) if key in known]


def explain(cell: Cell, *, draws: int = 20, seed: int = 0) -> Explanation:
    """Refit the cell with `draws` empirical start distributions of 1000 demonstrations each."""
    spec: RunSpec = cell.record.spec
    lab = Laboratory(envs.make(spec.environment), spec.noise_model, spec.expert)
    world = lab.world(spec.learner_noise)
    counts = jax.random.multinomial(
        jax.random.key(seed), DEMONSTRATIONS, jnp.broadcast_to(world.initial, (draws, world.num_states))
    )
    worlds = [
        MDP(world.kernel, discount=world.discount, initial=start / start.sum(), mask=world.mask)
        for start in np.asarray(counts, dtype=float)
    ]
    fits = fit_many(
        worlds,
        [lab.expert_occupancy(spec.expert_noise)] * draws,
        [spec.alpha] * draws,
        rewards=lab.reward_model(),
        steps=spec.steps,
    )
    returns = [lab.measure(spec.learner_noise, result.player) for result in fits]
    return Explanation(cell, min(returns), max(returns))
