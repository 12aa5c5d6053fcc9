r"""Whether to match an estimated occupancy only within its own error, by the regret of what is learned.

Matching within a radius, ‖ρ_mix - ρ̂‖₁ <= r, has the dual min c(θ) + r ‖θ‖∞: its reward stays finite wherever the least
gap is below r, and so does the reward of `fit(..., tolerance=r)`, which stops at the first point of its path within r.
Two sizes of error are tried, in shares:

- the *bound* of the estimate, which holds for every expert with 95 % confidence;
- the *spread*, ½ ‖ρ̂₁ - ρ̂₂‖₁ of the estimates from every other episode: about the mean error of ρ̂ itself.

A share of 0 is the default: match as closely as can be. The expert is optimal in its world. The regret is that of
`strangers`, in the learner's world, by the true reward, which no fit has seen.
"""

import dataclasses
import math
import warnings
from collections.abc import Iterator, Sequence

import jax
import numpy as np
from jaxtyping import Float

from robustirl import envs
from robustirl._runtime import write_atomically
from robustirl.demonstrations import Demonstrations, estimate_occupancy, sample_demonstrations
from robustirl.irl import fit
from robustirl.mdp import MDP, as_count, uniform_policy
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.paper.studies.rows import to_csv
from robustirl.paper.studies.strangers_worlds import Pair, random_pair
from robustirl.planning import discounted_return, expert_policy
from robustirl.sweeps import writing_to

EPISODES = (20, 50, 200, 1000)
RADII = (("none", 0.0), *((kind, share) for kind in ("bound", "spread") for share in (0.1, 0.25, 0.5, 1.0)))
NAMES, NOISES = ("gridworld-1", "gridworld-3", "gridworld-4", "frozen-lake", "cliff-walking"), (0.0, 0.2)
LONGEST = 1000
LEAST_RADIUS = 1e-9  # A tolerance has to be positive.


@dataclasses.dataclass(frozen=True)
class Row:
    """One fit: the world, what it was made from, the radius, and what came of it."""

    world: str
    mismatch: bool
    episodes: int
    draw: int
    kind: str
    share: float
    radius: float
    gap: float
    largest_reward: float
    regret: float


def named_pairs() -> Iterator[Pair]:
    """Return registered worlds without noise, with the same expert and with a noisier one."""
    for name in NAMES:
        made = envs.make(name)
        for noise in NOISES:
            yield Pair(name, "registered", made.mdp(), made.mdp(noise), made.reward, noise > 0)


def rows_of(pair: Pair, episodes: Sequence[int] = EPISODES, draws: int = 3) -> Iterator[Row]:
    """Fit one pair of worlds within every radius."""
    world, reward = pair.learner, pair.reward
    policy = expert_policy(pair.expert, reward, temperature=0)
    best = float(discounted_return(world, expert_policy(world, reward, temperature=0), reward))
    spread = best - float(discounted_return(world, np.asarray(uniform_policy(world.mask)), reward))
    horizon = min(LONGEST, math.ceil(3 / (1 - float(world.discount))))
    for count, draw in ((count, draw) for count in episodes for draw in range(draws)):
        key = jax.random.fold_in(jax.random.key(count), draw)
        demos = sample_demonstrations(pair.expert, policy, episodes=count, horizon=horizon, key=key)
        rho, sizes = _estimates(demos, world)
        for kind, share in RADII:
            radius = share * sizes[kind]
            tolerance = None if kind == "none" else max(radius, LEAST_RADIUS)
            found = fit(world, rho, alpha=1.0, tolerance=tolerance, throw=False)
            yield Row(
                world=pair.name,
                mismatch=pair.mismatch,
                episodes=count,
                draw=draw,
                kind=kind,
                share=share,
                radius=radius,
                gap=float(found.verdict.occupancy_gap),
                largest_reward=float(np.abs(found.reward).max()),
                regret=(best - float(discounted_return(world, found.player, reward))) / spread,
            )


def _estimates(demos: Demonstrations, world: MDP) -> tuple[Float[np.ndarray, " S"], dict[str, float]]:
    """Return ρ̂ and the sizes of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, *halves = (estimate_occupancy(part, world) for part in (demos, demos[0::2], demos[1::2]))
    apart = float(np.abs(halves[0].occupancy - halves[1].occupancy).sum()) / 2
    return whole.occupancy, {"none": 0.0, "bound": whole.error, "spread": apart}


def summarize(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return a line for each number of episodes and radius.

    It holds mean regrets, how often the regret is lower or higher than without a radius, and the median of the largest
    rewards.
    """
    lines = []
    base = {(row.world, row.mismatch, row.episodes, row.draw): row for row in rows if row.kind == "none"}
    for count in dict.fromkeys(row.episodes for row in rows):
        for kind, share in RADII:
            part = [row for row in rows if (row.episodes, row.kind, row.share) == (count, kind, share)]
            changes = [row.regret - base[row.world, row.mismatch, row.episodes, row.draw].regret for row in part]
            means = [_mean([row.regret for row in part if row.mismatch == mismatch]) for mismatch in (False, True)]
            rewards = np.median([row.largest_reward for row in part])
            worse = f"{sum(change > LEAST_CHANGE for change in changes)} of {len(changes)}"
            better = f"{sum(change < -LEAST_CHANGE for change in changes)} of {len(changes)}"
            lines.append(
                (str(count), kind, f"{share:g}", *(f"{mean:.3f}" for mean in means), better, worse, f"{rewards:.2g}")
            )
    return lines


LEAST_CHANGE = 1e-3  # Of the regret.


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers)) if numbers else math.nan


HEADINGS = ("episodes", "radius", "share", "regret", "with mismatch", "better", "worse", "median largest reward")


@register_study("radius")
@dataclasses.dataclass(frozen=True)
class RadiusStudy:
    """Match estimated occupancies within shares of their error, and compare regrets."""

    draws: int = 3
    """How many draws of the episodes."""
    worlds: int = 10
    """How many random worlds, beside ten registered pairs."""

    def run(self, frame: Frame) -> None:
        """Fit all pairs, and write radius.csv and the table."""
        draws = as_count("the number of draws", self.draws, 1)
        drawn = [random_pair(seed) for seed in range(as_count("the number of random worlds", self.worlds))]
        pairs = [*named_pairs(), *drawn]
        rows: list[Row] = []
        for done, pair in enumerate(pairs):
            frame.progress("pairs of worlds", done, len(pairs))
            rows += rows_of(pair, draws=draws)
        frame.progress("pairs of worlds", len(pairs), len(pairs))
        frame.out.mkdir(parents=True, exist_ok=True)
        path = frame.out / "radius.csv"
        with writing_to(frame.out):
            write_atomically(path, to_csv(Row, rows))
        frame.files.append(path)
        frame.write_table("radius", HEADINGS, summarize(rows))
