"""Result files of the benchmarks, and how to find a number in them."""

import dataclasses
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LOCAL, FULL = "uniform-action", "uniform-state"  # Noise that keeps rows short, and noise that fills them.
LABELS = ("what", "peer", "states", "noise_model", "discount", "alpha", "method", "precision", "runs")
NOISES = {LOCAL: "local noise", FULL: "noise that fills rows"}
Row = dict[str, Any]


@dataclasses.dataclass
class Place:
    """One machine: what it is, and all that was measured on it."""

    machine: dict[str, Any]
    rows: list[Row]

    def find(self, what: str, *, states: float | None = None, **labels: Any) -> list[Row]:
        """Return the rows with these labels; of states, those within five percent, since grids are squares."""

        def fits(row: Row) -> bool:
            near = states is None or ("states" in row and abs(math.log(row["states"] / states)) < 0.05)
            return row["what"] == what and near and all(row.get(name) == value for name, value in labels.items())

        return sorted(filter(fits, self.rows), key=lambda row: row.get("states", 0))

    def one(self, what: str, **labels: Any) -> Row | None:
        """Return the only such row, if there is one."""
        found = self.find(what, **labels)
        return found[0] if found else None

    def sizes(self) -> list[int]:
        """Return all numbers of states that were looked at."""
        return sorted({row["states"] for row in self.rows if row["what"] == "solve"})

    @property
    def name(self) -> str:
        """The machine in a few words."""
        if self.machine["backend"] == "cpu":
            cores = self.machine["cores"]
            return f"{self.machine['cpu']}, {cores} core{'s' if cores > 1 else ''}"
        return str(self.machine["device"])


@dataclasses.dataclass
class Results:
    """All that was measured: on a processor, on an accelerator, one small run, and the continuous experiment."""

    cpu: Place | None
    gpu: Place | None
    small: dict[str, Any] | None
    continuous: list[dict[str, Any]]
    picture: Path | None


def read(folder: Path) -> Results:
    """Return the result files of a folder; where several hold one measurement, the latest counts."""
    files = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    scale = sorted((f for f in files.values() if f.get("benchmark") == "scale"), key=lambda f: f["machine"]["date"])
    return Results(
        cpu=_place([f for f in scale if f["machine"]["backend"] == "cpu"]),
        gpu=_place([f for f in scale if f["machine"]["backend"] != "cpu"]),
        small=next((f for f in files.values() if "one_run" in f), None),
        continuous=[f for f in files.values() if "warm_seconds" in f and "kinds" in f],
        picture=next(iter(sorted(folder.glob("irl*.npz"))), None),
    )


def _place(files: list[dict[str, Any]]) -> Place | None:
    if not files:
        return None
    latest = Place(files[-1]["machine"], []).name
    files = [f for f in files if Place(f["machine"], []).name == latest]  # Numbers of two machines are not mixed.
    rows = {tuple(row.get(label) for label in LABELS): row for f in files for row in f["rows"]}
    return Place(files[-1]["machine"], list(rows.values()))


def places(results: Results) -> list[tuple[str, Place]]:
    """Return the machines there are results of."""
    return [(device, place) for device, place in (("CPU", results.cpu), ("GPU", results.gpu)) if place]


def table(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *map(list, body)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def seconds(value: float | None) -> str:
    """Return a time as people read it."""
    if value is None:
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{_digits(value / size)} {unit}"
    return f"{_digits(value * 1e6)} µs"


def cell(row: Row | None) -> str:
    """Return a time for a table."""
    if row is None:
        return "–"
    return ("~ " if row.get("extrapolated") else "") + seconds(row["seconds"])


def size_of(value: float | None) -> str:
    """Return bytes as people read them."""
    if value is None:
        return "–"
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{_digits(value / size)} {unit}"
    return f"{value:.0f} B"


def one_run(small: dict[str, Any], alpha: str) -> float:
    """Return seconds of one small run, `alpha=1` or `alpha=0.9`.

    The better of the medians before and after the peer.
    """
    return min(when[alpha]["median"] for when in small["one_run"].values())


def count(value: float) -> str:
    """Return a whole number in groups of three digits."""
    return f"{value:,.0f}".replace(",", " ")


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.3g}"
