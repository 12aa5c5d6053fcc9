"""How often guarantees from data hold, and how tight they are, by simulation.

An optimal expert acts in a world within the stated radius. A policy is fitted to a draw of its demonstrations, states
only, and `theory.guarantee` bounds its shortfall. The true reward is known here, so that the true shortfall in the
worst world of the radius is, too: a guarantee holds if it is not exceeded.
"""

import dataclasses
import itertools
import time
from collections.abc import Sequence

import jax
import numpy as np

from robustirl import envs
from robustirl._runtime import write_atomically
from robustirl.demonstrations import estimate_occupancy, sample_demonstrations
from robustirl.errors import InvalidInputError
from robustirl.irl import fit
from robustirl.mdp import MDP, absorbing_states, as_count, dynamics_distance, uniform_policy
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.paper.studies.rows import to_csv
from robustirl.planning import expert_policy, state_occupancy
from robustirl.sweeps import writing_to
from robustirl.theory import Surroundings, guarantee


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Worlds of learner and expert, the radius between them, the true reward scaled to [0,1]."""

    name: str
    learner: MDP
    expert: MDP
    reward: np.ndarray
    radius: np.ndarray
    horizon: int


def make_pair(name: str, learner_noise: float, expert_noise: float, model: str | None, horizon: int) -> Pair:
    """Return two worlds of an environment; the radius is zero in states that are never left."""
    env = envs.make(name)
    learner, expert = env.mdp(learner_noise, model), env.mdp(expert_noise, model)
    reward = np.asarray(env.reward, float)
    distance = float(dynamics_distance(learner, expert))
    ends = absorbing_states(learner)[:, None]
    radius = np.where(ends, 0.0, np.broadcast_to(distance, np.asarray(learner.mask).shape))
    scaled = (reward - reward.min()) / (reward.max() - reward.min())
    label = f"{name}, d = {distance:.2g}"
    return Pair(label, learner, expert, scaled, radius, horizon)


def pairs() -> list[Pair]:
    """Return the pairs of the study: two grids and two lakes, without and with a mismatch."""
    return [
        make_pair("gridworld-4", 0.1, 0.1, None, 500),
        make_pair("gridworld-4", 0.1, 0.12, None, 500),
        make_pair("frozen-lake", 0.2, 0.2, "slip", 500),
        make_pair("frozen-lake", 0.2, 0.22, "slip", 500),
        make_pair("frozen-lake-8x8", 0.2, 0.2, "slip", 500),
        make_pair("frozen-lake-8x8", 0.2, 0.22, "slip", 500),
    ]


@dataclasses.dataclass(frozen=True)
class Row:
    """One guarantee beside the truth.

    Attributes:
        pair: The pair of worlds.
        policy: `fitted` to the draw, or `uniform`, whose shortfall is large, so that a bound that is too small shows.
        episodes: How many demonstrations.
        draw: Which draw of them.
        shortfall: The guaranteed bound.
        truth: J(expert) - J(policy) under the true reward, in the worst world of the radius.
        attained: What one reward that explains the expert attains.
        without_data: The bound without demonstrations.
        vacuous: Whether the guarantee is.
        seconds: What it took, without the fit.
    """

    pair: str
    policy: str
    episodes: int
    draw: int
    shortfall: float
    truth: float
    attained: float
    without_data: float
    vacuous: bool
    seconds: float


def simulate(pair: Pair, kind: str, episodes: int, draw: int) -> Row:
    """Compare the guarantee of a fitted or the uniform policy with the truth.

    Demonstrations are drawn for it.
    """
    expert = expert_policy(pair.expert, pair.reward, temperature=0)
    key = jax.random.key(draw * 1_000_003 + episodes)
    demos = sample_demonstrations(pair.expert, expert, episodes=episodes, horizon=pair.horizon, key=key)
    policy = np.asarray(uniform_policy(pair.learner.mask))
    if kind == "fitted":
        rho = estimate_occupancy(demos, pair.learner).occupancy
        policy = fit(pair.learner, rho, alpha=1.0, throw=False).player
    begun = time.perf_counter()
    found = guarantee(pair.learner, demos, policy, radius=pair.radius)
    seconds = time.perf_counter() - begun
    earned = float(np.asarray(state_occupancy(pair.expert, expert)) @ pair.reward)
    worst = Surroundings.of(pair.learner, pair.radius).lowest_return(np.asarray(policy), pair.reward).value
    return Row(
        pair=pair.name,
        policy=kind,
        episodes=episodes,
        draw=draw,
        shortfall=found.shortfall,
        truth=earned - worst,
        attained=np.nan if found.attained is None else found.attained,
        without_data=found.without_data,
        vacuous=found.vacuous,
        seconds=seconds,
    )


HEADINGS = ("pair of worlds", "policy", "episodes", "held", "bound", "attained", "truth", "without data", "seconds")
POLICIES = ("fitted", "uniform")


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return a line for every pair and number of episodes: how many guarantees held, and means."""
    lines = []
    for cell in dict.fromkeys((row.pair, row.policy, row.episodes) for row in rows):
        part = [row for row in rows if (row.pair, row.policy, row.episodes) == cell]
        held = sum(row.truth <= row.shortfall for row in part)

        def mean(name: str, part: list[Row] = part) -> str:
            return f"{np.nanmean([getattr(row, name) for row in part]):.3f}"

        numbers = [mean(name) for name in ("shortfall", "attained", "truth", "without_data")]
        lines.append((*map(str, cell), f"{held} of {len(part)}", *numbers, mean("seconds")))
    return lines


@register_study("guarantees")
@dataclasses.dataclass(frozen=True)
class GuaranteesStudy:
    """Count how often guarantees from data hold, and set them beside what is attained."""

    draws: int = 20
    """How many draws of the demonstrations."""
    episodes: tuple[int, ...] = (100, 1000, 10000)
    """How many episodes in a draw."""
    only: str = ""
    """Look only at pairs whose name contains this."""

    def run(self, frame: Frame) -> None:
        """Simulate all, and write guarantees.csv, the table and the figure."""
        draws = as_count("the number of draws", self.draws, 1)
        chosen = [pair for pair in pairs() if self.only in pair.name]
        if not chosen:
            names = ", ".join(pair.name for pair in pairs())
            raise InvalidInputError(f"--only is {self.only!r}, which is part of no name among {names}.")
        jobs = list(itertools.product(chosen, POLICIES, self.episodes, range(draws)))
        rows: list[Row] = []
        for done, job in enumerate(jobs):
            frame.progress("guarantees", done, len(jobs))
            rows.append(simulate(*job))
        frame.progress("guarantees", len(jobs), len(jobs))
        frame.out.mkdir(parents=True, exist_ok=True)
        path = frame.out / "guarantees.csv"
        with writing_to(frame.out):
            write_atomically(path, to_csv(Row, rows))
        frame.files.append(path)
        frame.write_table("guarantees", HEADINGS, table(rows))
        if rows:
            from robustirl.paper.figures.guarantees import figure_guarantees

            frame.save_figure("guarantees", figure_guarantees([row for row in rows if row.policy == "fitted"]))
