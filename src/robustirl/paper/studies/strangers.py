"""How fits end in worlds that they were not made for, and whether their judgments are right.

Every pair of worlds is fitted with α = 1, 0.9 and, from ten episodes on, the α that the data support, from an optimal
expert's exact occupancy and from its episodes. The judgment sees what a user sees. The true reward then gives the
regret, in the learner's world:

    regret = (optimal return - return of the learned policy) / (optimal return - return of the uniform policy).

It is 0 for a policy as good as the optimal one, and 1 for one that is no better than choosing actions at random. The
thresholds of `robustirl.irl.judgment` were chosen by the groups that are not held out.
"""

import dataclasses
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import jax
import numpy as np

from robustirl._runtime import write_atomically
from robustirl.demonstrations import AlphaEstimate, Demonstrations, estimate_occupancy, sample_demonstrations
from robustirl.irl import Trust, fit, judge, select_alpha
from robustirl.mdp import MDP, as_count, uniform_policy
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.paper.studies.rows import to_csv
from robustirl.paper.studies.strangers_mismatches import mismatched_pair
from robustirl.paper.studies.strangers_worlds import Pair, gymnasium_pairs, random_pair, registered_pairs
from robustirl.paper.studies.warehouse import warehouse_pairs
from robustirl.planning import discounted_return, expert_policy, state_occupancy
from robustirl.sweeps import writing_to
from robustirl.types import ArrayLike

ALPHAS: tuple[float | str, ...] = (1.0, 0.9, "auto")
EPISODES = (0, 5, 20, 50, 500)
DISTANT = 3.0  # Episodes are cut after so many times 1 / (1-γ) steps,
LONGEST = 2000  # and after so many at most.
FEWEST = 10  # Episodes from which α is chosen by the data.
LARGE = 300  # Worlds with more states are fitted to the exact occupancy alone.
_R = TypeVar("_R")
GOOD, BAD = 0.05, 0.5
TUNED_WORLDS, TUNED_MISMATCHES = 26, 21  # So many of either kind, the first ones, were looked at.
CLASSES = ("regret < 5 %", "5 to 50 %", "> 50 %")
NO_CHOICE = 1e-9  # Where the uniform policy is as good as the optimal one up to this, there is no regret to speak of.


@dataclasses.dataclass(frozen=True)
class Row:
    """One fit.

    Attributes:
        world: The name of the pair of worlds.
        group: `registered`, `gymnasium`, `warehouse`, `random`, `mismatched`, or one of the last two, held out.
        states: |S|.
        discount: γ.
        mismatch: Whether the expert's world is another one.
        alpha: α.
        chosen: Whether the data chose it.
        episodes: How many were seen; 0 for the exact occupancy.
        status: How the fit ended.
        seconds: How long it took, after compilation.
        gap: The occupancy gap.
        regret: See the text at the top of this file.
        likeliest_regret: That of the most likely action in every state.
        expert_regret: That of what the expert achieves in its own world, measured on the same scale.
        randomness: How much the player leaves to chance; see `Diagnosis.randomness`.
        largest_reward: The largest |R| that was learned.
        judgment: The verdict in one word.
        why: The sentence that goes with it.
    """

    world: str
    group: str
    states: int
    discount: float
    mismatch: bool
    alpha: float
    chosen: bool
    episodes: int
    status: str
    seconds: float
    gap: float
    regret: float
    likeliest_regret: float
    expert_regret: float
    randomness: float
    largest_reward: float
    judgment: str
    why: str


def rows_of(pair: Pair, episodes: Sequence[int] = EPISODES, alphas: Sequence[float | str] = ALPHAS) -> Iterator[Row]:
    """Fit one pair of worlds in all ways; nothing where all policies are equally good."""
    world, reward = pair.learner, pair.reward
    known = reward if pair.expert_reward is None else pair.expert_reward
    policy = expert_policy(pair.expert, known, temperature=0)
    own = policy if not pair.mismatch else expert_policy(world, reward, temperature=0)
    best = float(discounted_return(world, own, reward))
    spread = best - float(discounted_return(world, np.asarray(uniform_policy(world.mask)), reward))
    if spread <= NO_CHOICE * max(1.0, abs(best)):
        return
    earned = float(discounted_return(pair.expert, policy, known))

    def regret(learned: np.ndarray) -> float:
        return (best - float(discounted_return(world, learned, reward))) / spread

    counts = [count for count in episodes if count == 0 or world.num_states <= LARGE]
    for count in counts:
        demos = _demonstrations(pair, policy, count) if count else None
        estimate = None if demos is None else _quietly(lambda seen=demos: estimate_occupancy(seen, world))
        rho = state_occupancy(pair.expert, policy) if estimate is None else estimate.occupancy
        for alpha, chosen in _alphas(world, demos, alphas):
            fit(world, rho, alpha=alpha, steps=1, throw=False)  # Compiles.
            begun = time.perf_counter()
            found = fit(world, rho, alpha=alpha, throw=False)
            seconds = time.perf_counter() - begun
            verdict = judge(found, estimate, alpha_estimate=chosen, world=world)
            player = np.asarray(found.player)
            yield Row(
                world=pair.name,
                group=pair.group,
                states=world.num_states,
                discount=float(world.discount),
                mismatch=pair.mismatch,
                alpha=alpha,
                chosen=chosen is not None,
                episodes=count,
                status=str(found.verdict.status),
                seconds=seconds,
                gap=float(found.verdict.occupancy_gap),
                regret=regret(player),
                likeliest_regret=regret(np.eye(player.shape[1])[player.argmax(-1)]),
                expert_regret=(best - earned) / spread,
                randomness=float(found.diagnosis.randomness),
                largest_reward=float(np.abs(found.reward).max()),
                judgment=str(verdict.trust),
                why=verdict.why,
            )


def _alphas(
    world: MDP, demos: Demonstrations | None, alphas: Sequence[float | str]
) -> Iterator[tuple[float, AlphaEstimate | None]]:
    """Return every α to fit with, and the estimate if the data chose it."""
    for alpha in alphas:
        if not isinstance(alpha, str):
            yield alpha, None
        elif demos is not None and len(demos) >= FEWEST:
            found = _quietly(lambda seen=demos: select_alpha(world, seen))
            yield found.alpha, found.as_estimate()


def _demonstrations(pair: Pair, policy: ArrayLike, count: int) -> Demonstrations:
    horizon = min(LONGEST, math.ceil(DISTANT / (1 - float(pair.expert.discount))))
    return sample_demonstrations(pair.expert, policy, episodes=count, horizon=horizon, key=jax.random.key(count))


def _quietly(work: Callable[[], _R]) -> _R:
    """Return what a function returns, without its warnings: the judgment says the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


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
    """Return a line per group and α: number of fits, how they ended, medians of time and gap."""
    lines = []
    for group in dict.fromkeys(row.group for row in rows):
        for alpha in dict.fromkeys(_kind(row) for row in rows):
            part = [row for row in rows if row.group == group and _kind(row) == alpha]
            if not part:
                continue
            shares = (sum(row.status == status for row in part) for status in ("converged", "settled", "budget"))
            numbers = (np.median([row.seconds for row in part]), np.median([row.gap for row in part]))
            lines.append((group, alpha, str(len(part)), *map(str, shares), *(f"{n:.2g}" for n in numbers)))
    return lines


def _kind(row: Row) -> str:
    return "auto" if row.chosen else f"{row.alpha:g}"


def pairs_of(study: "StrangersStudy") -> list[Pair]:
    """Return all pairs of a study, in order."""
    count = as_count("the number of random worlds", study.worlds)
    others = as_count("the number of mismatched worlds", study.mismatches)
    drawn = [random_pair(seed) for seed in range(count)]
    drawn[TUNED_WORLDS:] = [held_out(pair) for pair in drawn[TUNED_WORLDS:]]
    mixed = [mismatched_pair(seed) for seed in range(others)]
    mixed[TUNED_MISMATCHES:] = [held_out(pair) for pair in mixed[TUNED_MISMATCHES:]]
    named = [*registered_pairs(), *gymnasium_pairs(), *warehouse_pairs()] if study.named else []
    return [*drawn, *mixed, *named]


def held_out(pair: Pair) -> Pair:
    """Return a pair as one that no threshold was chosen by."""
    return dataclasses.replace(pair, group=f"{pair.group}, held out")


@register_study("strangers")
@dataclasses.dataclass(frozen=True)
class StrangersStudy:
    """Fit registered, Gymnasium's and random worlds, and set judgments against regrets."""

    worlds: int = 50
    """How many random worlds; those after the first 26 are held out."""
    mismatches: int = 49
    """How many worlds with other mismatches than a little noise, in turn; those after the first 21 are held out."""
    named: bool = True
    """Whether to include the registered worlds, Gymnasium's and the warehouse."""

    def run(self, frame: Frame) -> None:
        """Fit all pairs, and write strangers.csv and the tables."""
        pairs = pairs_of(self)
        rows: list[Row] = []
        for done, pair in enumerate(pairs):
            frame.progress("pairs of worlds", done, len(pairs))
            rows += rows_of(pair)
        frame.progress("pairs of worlds", len(pairs), len(pairs))
        frame.out.mkdir(parents=True, exist_ok=True)
        path = frame.out / "strangers.csv"
        with writing_to(frame.out):
            write_atomically(path, to_csv(Row, rows, without=["why"]))
        frame.files.append(path)
        headings = ("worlds", "α", "fits", "converged", "settled", "budget", "median seconds", "median gap")
        frame.write_table("strangers", headings, summarize(rows))
        for group in dict.fromkeys(row.group for row in rows):
            table = confusion(row for row in rows if row.group == group)
            frame.write_table(
                f"confusion-{group.replace(', ', '-').replace(' ', '-')}", ("judgment", *CLASSES), table, group
            )
