"""FrozenLake, CliffWalking and Taxi from ever more recorded trajectories: standard against robust IRL.

The expert is optimal in a world that slips (or blows, or rains) more than the learner's, or less. The learner has only
recorded trajectories, from ten to ten thousand. Returns are means over draws of the trajectories with 95 % intervals.
"""

import dataclasses
from collections.abc import Sequence

from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite.specs import Record, RunSpec
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.paper.studies.toy_text_results import AUTO, cells

GYMNASIUM_SLIP = 2 / 3  # FrozenLake's default: one chance in three to go where one wants.


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
        """Return the runs: per draw of trajectories, each fixed α and one estimated with actions."""
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
    """Return a still learner with ever noisier experts, and the reverse."""
    return (*((0.0, noise) for noise in noises), *((noise, 0.0) for noise in noises))


WORLDS = (
    World("frozen-lake-8x8", "slip", both_ways(0.2, 0.4, GYMNASIUM_SLIP)),
    World("cliff-walking", "wind", both_ways(0.1, 0.2, 0.4)),
    World("taxi", "rain", both_ways(0.2), draws=5, alphas=(1.0, 0.9)),
)


def table_of(records: Sequence[Record]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows: a row per mismatch and number of trajectories, a column per α."""
    found = cells(records)
    choices = list(dict.fromkeys(key[3] for key in found))
    optimal = {r.spec.learner_noise: r.optimal_return for r in records}
    used: dict[tuple[float, float, int], list[float]] = {}
    for r in records:
        if r.spec.auto:
            key = r.spec.learner_noise, r.spec.expert_noise, r.spec.demonstrations
            used.setdefault(key, []).append(r.alpha_used)
    names = ("auto" if name == AUTO else f"α = {name}" for name in choices)
    headings = ("ε_L", "ε_E", "trajectories", *names, "mean α̂", "optimal")
    rows = []
    for learner, expert, count in dict.fromkeys(key[:3] for key in found):
        entries = (found[learner, expert, count, name] for name in choices)
        values = (f"{entry.mean:.2f} ± {entry.high - entry.mean:.2f}" for entry in entries)
        own = used.get((learner, expert, count), [1.0])
        ends = f"{sum(own) / len(own):.2f}", f"{optimal[learner]:.2f}"
        rows.append((f"{learner:.3g}", f"{expert:.3g}", str(count), *values, *ends))
    return headings, rows


@register_study("toy-text")
@dataclasses.dataclass(frozen=True)
class ToyTextStudy:
    """Compare standard and robust IRL on FrozenLake, CliffWalking and Taxi.

    They learn from ever more trajectories.
    """

    worlds: tuple[str, ...] = ()
    """Which worlds; all of them if omitted."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""

    def run(self, frame: Frame) -> None:
        """Run the worlds, each in a folder of its own, and write a table and a figure for each."""
        names = [world.environment for world in WORLDS]
        if unknown := set(self.worlds) - set(names):
            raise InvalidInputError(f"there is no world {min(unknown)!r}; choose from {', '.join(names)}.")
        from robustirl.paper.figures import figure_trajectories  # Here, so that only drawing loads matplotlib.

        for world in WORLDS:
            name = world.environment
            if self.worlds and name not in self.worlds:
                continue
            records = frame.compute(world.specs(self.steps), name)
            frame.write_table(f"{name}/table", *table_of(records), f"{name}, {world.noise_model}")
            frame.save_figure(f"{name}/{name}", figure_trajectories(records))
