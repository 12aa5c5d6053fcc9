"""Other people's worlds and real demonstrations: FrozenLake, CliffWalking and Taxi from ever more trajectories.

The expert is optimal in a world that slips (or blows, or rains) more than the learner's, or less; the learner has
nothing but
recorded trajectories, from ten to ten thousand. Standard and robust learners are compared over mismatches and
numbers of trajectories, with 95 % intervals over draws of the trajectories.
"""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from robustirl._runtime import enable_x64, write_atomically
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite.layouts import Interval, interval
from robustirl.paper.finite.specs import Record, RunSpec
from robustirl.sweeps import compute

GYMNASIUM_SLIP = 2 / 3  # FrozenLake's default: one chance in three to go where one wants.
AUTO = "auto"


@dataclasses.dataclass(frozen=True)
class World:
    """One environment of the study.

    Attributes:
        environment: Its registered name.
        noise_model: What its noise is.
        pairs: (ε_L, ε_E).
        counts: Numbers of trajectories.
        draws: How many draws of each.
        alphas: The fixed α.
    """

    environment: str
    noise_model: str
    pairs: tuple[tuple[float, float], ...]
    counts: tuple[int, ...] = (10, 100, 1000, 10000)
    draws: int = 10
    alphas: tuple[float, ...] = (1.0, 0.9, 0.8)

    def specs(self, steps: int = PAPER_STEPS) -> tuple[RunSpec, ...]:
        """The runs: on every draw of the trajectories, every fixed α and the one estimated with actions."""
        return tuple(
            RunSpec(
                self.environment,
                self.noise_model,
                learner,
                expert,
                alpha,
                steps=steps,
                expert="optimal",
                demonstrations=count,
                draw=draw,
                auto=auto,
            )
            for learner, expert in self.pairs
            for count in self.counts
            for draw in range(self.draws)
            for alpha, auto in (*((alpha, "") for alpha in self.alphas), (1.0, "actions"))
        )


def both_ways(*noises: float) -> tuple[tuple[float, float], ...]:
    """A still learner with ever noisier experts, and the reverse."""
    return (*((0.0, noise) for noise in noises), *((noise, 0.0) for noise in noises))


WORLDS = (
    World("frozen-lake-8x8", "slip", both_ways(0.2, 0.4, GYMNASIUM_SLIP)),
    World("cliff-walking", "wind", both_ways(0.1, 0.2, 0.4)),
    World("taxi", "rain", both_ways(0.2), draws=5, alphas=(1.0, 0.9)),
)

Key = tuple[float, float, int, str]
"""(ε_L, ε_E, trajectories, α or auto)."""


def choice(record: Record) -> str:
    """How a run's α was chosen."""
    return AUTO if record.spec.auto else f"{record.spec.alpha:g}"


def cells(records: Sequence[Record]) -> dict[Key, Interval]:
    """Mean return and its interval over draws."""
    groups: dict[Key, list[float]] = {}
    for r in records:
        key = r.spec.learner_noise, r.spec.expert_noise, r.spec.demonstrations, choice(r)
        groups.setdefault(key, []).append(r.total_return)
    return {key: interval(values) for key, values in groups.items()}


def to_markdown(records: Sequence[Record]) -> str:
    """A row per mismatch and number of trajectories, a column per α."""
    found = cells(records)
    choices = list(dict.fromkeys(key[3] for key in found))
    optimal = {r.spec.learner_noise: r.optimal_return for r in records}
    used: dict[tuple[float, float, int], list[float]] = {}
    for r in records:
        if r.spec.auto:
            key = r.spec.learner_noise, r.spec.expert_noise, r.spec.demonstrations
            used.setdefault(key, []).append(r.alpha_used)
    headings = " | ".join("auto" if name == AUTO else f"α = {name}" for name in choices)
    lines = [
        f"| ε_L | ε_E | trajectories | {headings} | mean α̂ | optimal |",
        "|" + " --- |" * (len(choices) + 5),
    ]
    for learner, expert, count in dict.fromkeys(key[:3] for key in found):
        entries = (found[learner, expert, count, name] for name in choices)
        values = " | ".join(f"{entry.mean:.2f} ± {entry.high - entry.mean:.2f}" for entry in entries)
        own = used.get((learner, expert, count), [1.0])
        lines.append(
            f"| {learner:.3g} | {expert:.3g} | {count} | {values} | {sum(own) / len(own):.2f} |"
            f" {optimal[learner]:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the study; print its tables, and draw its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/toy-text"))
    parser.add_argument("worlds", nargs="*", help="all of them when left out")
    arguments = parser.parse_args()
    names = [world.environment for world in WORLDS]
    if unknown := set(arguments.worlds) - set(names):
        parser.error(f"there is no world {min(unknown)!r}; choose from {', '.join(names)}.")
    enable_x64()
    from robustirl.paper import figures

    for world in WORLDS:
        if arguments.worlds and world.environment not in arguments.worlds:
            continue
        out = arguments.out / world.environment
        outcome = compute(world.specs(), out, _say)
        if not outcome.complete:
            return
        table = to_markdown(outcome.records)
        write_atomically(out / "table.md", table)
        figures.save_figure(figures.figure_trajectories(outcome.records), out / world.environment)
        print(f"\n{world.environment}, {world.noise_model}\n\n{table}", end="")


def _say(phase: str, done: int, of: int) -> None:
    print(f"\r{phase}: {done} of {of}", end="", flush=True)
