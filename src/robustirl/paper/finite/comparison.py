"""Our exact numbers against the published ones, cell by cell, and why the worst differ.

Two things are known to stand between them. The published learner did not have the exact uniform start
distribution but the empirical one of 1000 sampled demonstrations, one draw of it, unknown to us. And some
published numbers (gridworld-4 without learner noise) are those of an earlier iterate: ours after 100 steps,
not after 200, agree with them. So beside a cell that differs most stand refits of ours with drawn start
distributions, and our own return after half the steps.
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from robustirl import envs
from robustirl._runtime import BoundedJit, require_memory
from robustirl.irl import fit_many, paper_optimizer
from robustirl.mdp import MDP, as_count
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.finite.kind import CPU_BATCH
from robustirl.paper.finite.specs import Record
from robustirl.paper.published import LOST_LAYOUTS, PublishedReturn, published_returns

DEMONSTRATIONS = 1000  # How many the published learner's start distribution was estimated from.
DRAW_BYTES = 20_000  # A refit with a drawn start distribution, in a world of a hundred states.
AGREEMENT_TOL = 0.03  # What counts as agreement of an earlier iterate.


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
        """In a few words, what the difference comes from, as far as these measurements tell."""
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


@BoundedJit
def _draw_starts(key: Key[Array, ""], initial: Float[Array, " S"], draws: int) -> Float[Array, "draws S"]:
    """Draw how many demonstrations begin in each state.

    This is one program, since JAX's own loop is compiled every time.
    """
    return jax.random.multinomial(key, DEMONSTRATIONS, jnp.broadcast_to(initial, (draws, len(initial))))


def require_draws(draws: int) -> int:
    """Return how many start distributions to draw for a cell; refuse more than memory holds.

    Example:
        >>> require_draws(20)
        20
    """
    draws = as_count("the number of draws", draws, 1)
    require_memory(float(DRAW_BYTES) * draws, f"explaining a cell by {draws} draws", "take fewer")
    return draws


def explain(cell: Cell, *, draws: int = 20, seed: int = 0) -> Explanation:
    """Refit the cell with `draws` start distributions, and with half the steps.

    Each start distribution is that of 1000 demonstrations.
    """
    draws, spec = require_draws(draws), cell.record.spec
    lab = ExperimentContext(envs.make(spec.environment), spec.noise_model, spec.expert)
    world, rho = lab.world(spec.learner_noise), lab.expert_occupancy(spec.expert_noise)
    counts = np.asarray(_draw_starts(jax.random.key(seed), world.initial, draws), dtype=float)
    worlds = [
        MDP(world.kernel, discount=world.discount, initial=count / count.sum(), mask=world.mask) for count in counts
    ]
    model = lab.reward_model()
    players = []
    # In batches of the size of the runs themselves, so that their programs are used again.
    for begin in range(0, draws, CPU_BATCH):
        own = worlds[begin : begin + CPU_BATCH]
        fits = fit_many(
            [*own, *[own[-1]] * (CPU_BATCH - len(own))],
            [rho] * CPU_BATCH,
            [spec.alpha] * CPU_BATCH,
            rewards=model,
            optimizer=paper_optimizer(model),
            steps=spec.steps,
            keep_last=True,
            throw=False,
        )
        players += [fit.player for fit in fits[: len(own)]]
    returns = [lab.measure(spec.learner_noise, player) for player in players]
    half = lab.fit([spec] * CPU_BATCH, steps=spec.steps // 2, throw=False)[0]
    return Explanation(cell, min(returns), max(returns), lab.measure(spec.learner_noise, half.player))
