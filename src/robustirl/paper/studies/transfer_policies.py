"""Section 3.3 with both policies it names: learn a reward in M^train, act on it in M^L, softly or optimally.

The section lets the learner act with π^L = π^soft or π^L = π* of M^L under the reward learned in M^train. The
experiment of `reproduce` has the soft one. Here both are set side by side, for M^train = M^E (transfer) and for
M^train = M^L (standard IRL), with the bound of the appendix, whose last term is the distance of the two policies.
Beside them stands Algorithm 1: its player, and π* of M^L under its reward.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from robustirl import envs
from robustirl.errors import InvalidInputError
from robustirl.irl import fit
from robustirl.mdp import MDP, dynamics_distance
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.planning import discounted_return, expert_policy, solve, state_occupancy
from robustirl.theory import transfer_bound


@dataclasses.dataclass(frozen=True)
class Row:
    """One learned reward, and what acting on it in the learner's world earns.

    Attributes:
        train: Where the reward was learned: `M^E`, `M^L`, or `game`, M^L with the opponent of α = 1 - d/2.
        gap: The occupancy gap of the fit there.
        soft: The discounted return in M^L, true reward, of π^soft, or of the player of the game.
        optimal: That of π*.
        best: The best return in M^L.
        bound_soft: The appendix's bound for π^soft; NaN for the game.
        bound_optimal: The same for π*.
    """

    train: str
    gap: float
    soft: float
    optimal: float
    best: float
    bound_soft: float
    bound_optimal: float


def compare(learner: MDP, expert: MDP, reward: np.ndarray) -> Iterator[Row]:
    """Learn from an optimal expert in either world, and act on the reward in the learner's."""
    rho = state_occupancy(expert, expert_policy(expert, reward, temperature=0))
    best = float(discounted_return(learner, expert_policy(learner, reward, temperature=0), reward))
    rule = 1 - float(dynamics_distance(learner, expert)) / 2
    for name, train, alpha in (("M^E", expert, 1.0), ("M^L", learner, 1.0), ("game", learner, rule)):
        found = fit(train, rho, alpha=alpha, throw=False)
        soft = found.player if name == "game" else solve(learner, found.reward).player
        optimal = expert_policy(learner, found.reward, temperature=0)
        worlds = (learner, expert, train, reward, found.reward)
        yield Row(
            train=name,
            gap=float(found.verdict.occupancy_gap),
            soft=float(discounted_return(learner, soft, reward)),
            optimal=float(discounted_return(learner, optimal, reward)),
            best=best,
            bound_soft=np.nan if name == "game" else transfer_bound(*worlds).value,
            bound_optimal=(
                np.nan if name == "game" else transfer_bound(*worlds, soft_policy=soft, policy=optimal).value
            ),
        )


HEADINGS = ("environment", "noise of L, E", "M^train", "gap there", "π^soft", "π*", "best", "bound, soft", "bound, π*")


@register_study("transfer-policies")
@dataclasses.dataclass(frozen=True)
class TransferPolicies:
    """Act softly and optimally on a transferred reward in the learner's world.

    Section 3.3 allows both.
    """

    environments: tuple[str, ...] = ("gridworld-1", "gridworld-2", "gridworld-3", "gridworld-4")
    """Which environments."""
    noises: tuple[float, ...] = (0.0, 0.1, 0.2)
    """Noises of the learner's and the expert's worlds; all pairs that differ."""

    def run(self, frame: Frame) -> None:
        """Write the table."""
        jobs = [(name, own, other) for name in self.environments for own in self.noises for other in self.noises]
        jobs = [job for job in jobs if job[1] != job[2]]
        if not jobs:
            raise InvalidInputError(f"--noises is {self.noises!r}, but at least two different noises are needed.")
        cells: list[tuple[str, ...]] = []
        rows: list[tuple[str, float, float, Row]] = []
        for done, (name, own, other) in enumerate(jobs):
            frame.progress("pairs of noises", done, len(jobs))
            env = envs.make(name)
            for row in compare(env.mdp(own), env.mdp(other), np.asarray(env.reward)):
                rows.append((name, own, other, row))
                numbers = (row.soft, row.optimal, row.best, row.bound_soft, row.bound_optimal)
                shown = (f"{number:.4g}" for number in numbers)
                cells.append((name, f"{own:g}, {other:g}", row.train, f"{row.gap:.2g}", *shown))
        frame.progress("pairs of noises", len(jobs), len(jobs))
        frame.write_table("transfer-policies", HEADINGS, cells)
        frame.write_table(
            "transfer-policies-loss", SUMMARY, summarize(rows), "Mean share of the best return that is lost"
        )


SUMMARY = ("expert", "M^train", "acting softly", "acting optimally", "pairs")


def summarize(rows: list[tuple[str, float, float, Row]]) -> list[tuple[str, ...]]:
    """Return the mean of (best - return) / |best|, for noisier and calmer experts apart."""
    lines = []
    for label, noisier in (("noisier", True), ("calmer", False)):
        for train in dict.fromkeys(row.train for *_, row in rows):
            part = [row for _, own, other, row in rows if row.train == train and (other > own) == noisier]
            soft, optimal = (
                np.mean([(row.best - value) / abs(row.best) for row, value in zip(part, values, strict=True)])
                for values in ([row.soft for row in part], [row.optimal for row in part])
            )
            lines.append((label, train, f"{soft:.3f}", f"{optimal:.3f}", str(len(part))))
    return lines
