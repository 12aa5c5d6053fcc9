"""How fits end in worlds that they were not made for, and whether their judgments can be believed.

Every pair of worlds is fitted with α = 1 and 0.9, from an optimal expert's exact occupancy and from its episodes. The
judgment sees what a user sees. The true reward then gives the regret, in the learner's world:

    regret = (optimal return - return of the learnt policy) / (optimal return - return of the uniform policy).

It is 0 for a policy as good as the optimal one, and 1 for one that is no better than choosing actions at random.
"""

import csv
import dataclasses
import io
import itertools
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence

import jax
import numpy as np

from robustirl._runtime import write_atomically
from robustirl.demonstrations import estimate_occupancy, sample_demonstrations
from robustirl.irl import Trust, fit, judge
from robustirl.mdp import as_count, uniform_policy
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.paper.studies.strangers_worlds import Pair, gymnasium_pairs, random_pair, registered_pairs
from robustirl.planning import discounted_return, expert_policy, state_occupancy
from robustirl.sweeps import writing_to

ALPHAS, EPISODES = (1.0, 0.9), (0, 50, 500)
DISTANT = 3.0  # Episodes are cut after so many times 1 / (1-γ) steps,
LONGEST = 2000  # and after so many at most.
LARGE = 300  # Worlds with more states are fitted to the exact occupancy alone.
GOOD, BAD = 0.05, 0.5
CLASSES = ("regret < 5 %", "5 to 50 %", "> 50 %")
NO_CHOICE = 1e-9  # Where the uniform policy is as good as the optimal one up to this, there is no regret to speak of.


@dataclasses.dataclass(frozen=True)
class Row:
    """One fit.

    Attributes:
        world: The name of the pair of worlds.
        group: `registered`, `gymnasium`, `random` or `held out`.
        states: |S|.
        discount: γ.
        mismatch: Whether the expert's world is another one.
        alpha: α.
        episodes: How many were seen; 0 for the exact occupancy.
        status: How the fit ended.
        seconds: How long it took, after compilation.
        gap: The occupancy gap.
        regret: See the text at the top of this file.
        expert_regret: That of what the expert achieves in its own world, measured on the same scale.
        judgment: The verdict in one word.
        why: The sentence that goes with it.
    """

    world: str
    group: str
    states: int
    discount: float
    mismatch: bool
    alpha: float
    episodes: int
    status: str
    seconds: float
    gap: float
    regret: float
    expert_regret: float
    judgment: str
    why: str


def rows_of(pair: Pair, episodes: Sequence[int] = EPISODES, alphas: Sequence[float] = ALPHAS) -> Iterator[Row]:
    """Fit one pair of worlds in all ways; nothing where all policies are equally good."""
    world, reward = pair.learner, pair.reward
    policy = expert_policy(pair.expert, reward, temperature=0)
    own = policy if not pair.mismatch else expert_policy(world, reward, temperature=0)
    best = float(discounted_return(world, own, reward))
    spread = best - float(discounted_return(world, np.asarray(uniform_policy(world.mask)), reward))
    if spread <= NO_CHOICE * max(1.0, abs(best)):
        return
    counts = [count for count in episodes if count == 0 or world.num_states <= LARGE]
    for count, alpha in itertools.product(counts, alphas):
        estimate = _estimate(pair, policy, count) if count else None
        rho = state_occupancy(pair.expert, policy) if estimate is None else estimate.occupancy
        fit(world, rho, alpha=alpha, steps=1, throw=False)  # Compiles.
        begun = time.perf_counter()
        found = fit(world, rho, alpha=alpha, throw=False)
        seconds = time.perf_counter() - begun
        verdict = judge(found, estimate)
        yield Row(
            world=pair.name,
            group=pair.group,
            states=world.num_states,
            discount=float(world.discount),
            mismatch=pair.mismatch,
            alpha=alpha,
            episodes=count,
            status=str(found.verdict.status),
            seconds=seconds,
            gap=float(found.verdict.occupancy_gap),
            regret=(best - float(discounted_return(world, found.player, reward))) / spread,
            expert_regret=(best - float(discounted_return(pair.expert, policy, reward))) / spread,
            judgment=str(verdict.trust),
            why=verdict.why,
        )


def _estimate(pair: Pair, policy: jax.Array, count: int):
    horizon = min(LONGEST, math.ceil(DISTANT / (1 - float(pair.expert.discount))))
    demos = sample_demonstrations(pair.expert, policy, episodes=count, horizon=horizon, key=jax.random.key(count))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The judgment says the same.
        return estimate_occupancy(demos, pair.learner)


def regret_class(regret: float) -> str:
    """Return the class that a regret counts in.

    Example:
        >>> regret_class(0.01), regret_class(0.3), regret_class(1.2)
        ('regret < 5 %', '5 to 50 %', '> 50 %')
    """
    return CLASSES[0] if regret < GOOD else CLASSES[1] if regret <= BAD else CLASSES[2]


def confusion(rows: Iterable[Row]) -> list[tuple[str, int, int, int]]:
    """Return how often each judgment went with each class of regret."""
    pairs = [(row.judgment, regret_class(row.regret)) for row in rows]
    return [(str(trust), *(pairs.count((str(trust), each)) for each in CLASSES)) for trust in Trust]  # pyright: ignore


def summarize(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return a line for each group: how many fits, how they ended, and the medians of time and gap."""
    lines = []
    for group in dict.fromkeys(row.group for row in rows):
        for alpha in dict.fromkeys(row.alpha for row in rows):
            part = [row for row in rows if row.group == group and row.alpha == alpha]
            shares = (sum(row.status == status for row in part) for status in ("converged", "settled", "budget"))
            numbers = (np.median([row.seconds for row in part]), np.median([row.gap for row in part]))
            lines.append((group, f"{alpha:g}", str(len(part)), *map(str, shares), *(f"{n:.2g}" for n in numbers)))
    return lines


def to_csv(rows: Iterable[Row]) -> str:
    """Return the rows as a CSV file, numbers with four digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in dataclasses.fields(Row)])
    for row in rows:
        cells = dataclasses.astuple(row)
        writer.writerow([f"{cell:.4g}" if isinstance(cell, float) else cell for cell in cells])
    return text.getvalue()


@register_study("strangers")
@dataclasses.dataclass(frozen=True)
class StrangersStudy:
    """Fit registered, Gymnasium's and random worlds, and set judgments against regrets."""

    worlds: int = 50
    """How many random worlds; the second half counts as held out."""
    named: bool = True
    """Whether to include the registered worlds and Gymnasium's."""

    def run(self, frame: Frame) -> None:
        """Fit all pairs, and write strangers.csv and the tables."""
        count = as_count("the number of random worlds", self.worlds)
        drawn = [random_pair(seed) for seed in range(count)]
        held = [dataclasses.replace(pair, group="held out") for pair in drawn[(count + 1) // 2 :]]
        named = [*registered_pairs(), *gymnasium_pairs()] if self.named else []
        pairs = [*drawn[: (count + 1) // 2], *held, *named]
        rows: list[Row] = []
        for done, pair in enumerate(pairs):
            frame.progress("pairs of worlds", done, len(pairs))
            rows += rows_of(pair)
        frame.progress("pairs of worlds", len(pairs), len(pairs))
        frame.out.mkdir(parents=True, exist_ok=True)
        path = frame.out / "strangers.csv"
        with writing_to(frame.out):
            write_atomically(path, to_csv(rows))
        frame.files.append(path)
        headings = ("worlds", "α", "fits", "converged", "settled", "budget", "median seconds", "median gap")
        frame.write_table("strangers", headings, summarize(rows))
        for group in dict.fromkeys(row.group for row in rows):
            table = confusion(row for row in rows if row.group == group)
            frame.write_table(f"confusion-{group.replace(' ', '-')}", ("judgment", *CLASSES), table, group)
