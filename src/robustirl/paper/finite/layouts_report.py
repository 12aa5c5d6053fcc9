"""Tables and figures of ObjectWorld over many layouts."""

import csv
import dataclasses
import io
from collections.abc import Callable, Sequence
from pathlib import Path

from robustirl._runtime import write_atomically
from robustirl.paper.finite.layouts import cells, settled_layouts
from robustirl.paper.finite.specs import Record


@dataclasses.dataclass(frozen=True)
class Measure:
    """A way to measure a run over layouts.

    Attributes:
        name: For files.
        title: For headings.
        axis: For axes.
        of: The measure.
        settled_only: Whether it makes sense only where the optimal policy reaches the goal.
    """

    name: str
    title: str
    axis: str
    of: Callable[[Record], float]
    settled_only: bool


MEASURES = (
    Measure(
        "gap",
        "ObjectWorld, all layouts: discounted return minus the optimal one",
        "discounted return − optimal",
        lambda r: r.discounted_return - r.optimal_discounted_return,
        False,
    ),
    Measure(
        "discounted",
        "ObjectWorld, all layouts: discounted return",
        "discounted return",
        lambda r: r.discounted_return,
        False,
    ),
    Measure(
        "total",
        "ObjectWorld, settled layouts: the paper's undiscounted return",
        "return in the learner's world",
        lambda r: r.total_return,
        True,
    ),
)


def _chosen(records: Sequence[Record], measure: Measure) -> list[Record]:
    settled = settled_layouts(records)
    return [r for r in records if not measure.settled_only or r.spec.seed in settled]


def write_layout_tables(records: Sequence[Record], out: Path) -> list[Path]:
    """Write `layouts.csv`: means and 95 % intervals by measure, learner noise, α, expert noise."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("measure", "learner_noise", "alpha", "expert_noise", "mean", "low", "high", "layouts"))
    for measure in MEASURES:
        for (learner, alpha, expert), found in cells(_chosen(records, measure), measure.of).items():
            writer.writerow(
                (measure.name, learner, alpha, expert, repr(found.mean), repr(found.low), repr(found.high), found.count)
            )
    path = out / "layouts.csv"
    write_atomically(path, buffer.getvalue())
    return [path]


def draw_layouts(records: Sequence[Record], noise_model: str, out: Path) -> list[Path]:
    """Draw one figure per measure."""
    from robustirl.paper import figures  # Here, so that only a figure loads matplotlib.

    written = []
    for measure in MEASURES:
        chosen = _chosen(records, measure)
        if not chosen:
            continue
        count = len({r.spec.seed for r in chosen})
        note = f"{count} layouts, means and 95 % intervals; noise model: {noise_model}"
        figure = figures.figure_layouts(chosen, measure.of, measure.axis, measure.title, note)
        written += figures.save_figure(figure, out / f"layouts-{measure.name}")
    return written
