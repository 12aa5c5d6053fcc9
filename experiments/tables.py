"""Tables and statistics that experiments and studies share: CSV, Markdown, means with 95 % intervals, pages."""

import base64
import csv
import dataclasses
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robustirl._files import write_atomically

CONFIDENCE = 0.95
DATA = Path(__file__).parent / "data"


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean and its 95 % interval, which a single value leaves infinite."""

    mean: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.high - self.mean:.2f}"


def interval(values: Sequence[float] | np.ndarray) -> Interval:
    """Return the mean of a sample and its 95 % interval (Student's t).

    Example:
        >>> found = interval([1.0, 2.0, 3.0])
        >>> found.mean, round(found.high, 3)
        (2.0, 4.484)
    """
    from scipy import special  # Not scipy.stats, which takes a second to import.

    array = np.asarray(values, dtype=float)
    mean, count = float(array.mean()), len(array)
    spread = (
        np.inf if count < 2 else array.std(ddof=1) / np.sqrt(count) * special.stdtrit(count - 1, (1 + CONFIDENCE) / 2)
    )
    return Interval(mean, float(mean - spread), float(mean + spread), count)


def interquartile_mean(values: Sequence[float] | np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the mean along an axis without the lowest and the highest quarter.

    Each quarter is rounded down to whole values.

    Example:
        >>> interquartile_mean([-9000.0, 1.0, 2.0, 3.0]).item()
        1.5
    """
    from scipy import stats  # Here, since it takes a second to import.

    return np.asarray(stats.trim_mean(np.asarray(values, float), 0.25, axis=axis))


def grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    """Return the items by their key, keys in the order in which they first appear.

    Example:
        >>> grouped([1, 2, 3], lambda n: n % 2)
        {1: [1, 3], 0: [2]}
    """
    groups: dict[Any, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, numbers in full precision, what is missing left empty.

    Example:
        >>> print(as_csv([{"a": 0.1, "b": None}]), end="")
        a,b
        0.1,
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: repr(v) if isinstance(v, float) else v for name, v in row.items()} for row in rows)
    return text.getvalue()


def as_markdown(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown.

    Example:
        >>> print(as_markdown(("α", "return"), [(1, -130.7)]), end="")
        | α | return |
        | --- | --- |
        | 1 | -130.7 |
    """
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


@dataclasses.dataclass(frozen=True)
class Output:
    """The folder of a study: writes tables and figures there, and prints the tables."""

    folder: Path

    def table(self, name: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write `<name>.md`, and print it."""
        text = as_markdown(headings, rows)
        print(text)
        self.write(f"{name}.md", text)

    def csv(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write `<name>.csv`."""
        self.write(f"{name}.csv", as_csv(rows))

    def figure(self, name: str, figure: Any) -> list[Path]:
        """Write `<name>.png` and `<name>.svg`."""
        from robustirl.plotting import save_figure  # Here, so that only a figure loads matplotlib.

        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        return save_figure(figure, self.folder / name)

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
        print(f"wrote {path}")
        return path


def render(template: str, **content: object) -> str:
    """Return a page that holds all it needs, made from a template of `data`."""
    import jinja2
    import markupsafe

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["percent"] = lambda value: f"{value:.1%}".replace("%", " %")
    style = markupsafe.Markup((DATA / "page.css").read_text(encoding="utf-8").rstrip("\n"))
    return environment.from_string((DATA / template).read_text(encoding="utf-8")).render(style=style, **content)


def embedded(paths: Sequence[Path]) -> str:
    """Return the SVG among a figure's files, as a page can hold it."""
    return base64.b64encode(next(path for path in paths if path.suffix == ".svg").read_bytes()).decode()
