"""The registry of studies, and the frame in which they run.

A study is one file of this package. `robustirl study NAME` finds it by its registration, reads its options from the
fields of its dataclass, and calls `run`:

    @register_study("my-study")
    @dataclasses.dataclass(frozen=True)
    class MyStudy:
        '''Compare A with B over draws of the demonstrations.'''  # The help text.

        draws: int = 10
        '''How many draws.'''  # The help of --draws.

        def run(self, frame: Frame) -> None:
            records = frame.compute(specs_of(self.draws))  # Through a store in frame.out, so that it can be resumed.
            frame.write_table("my-study", ("α", "return"), rows_of(records))  # out/my-study.md, and printed.
            frame.save_figure("my-study", figure_of(records))  # out/my-study.png and .svg.

Every study has the options `--out`, `--extend`, `--workers`, `--engine` and `--address` without naming them. The specs
are those of any registered kind of run (see `robustirl.sweeps.Kind`); a study with runs of its own registers a kind in
its file.
A study without runs calls `frame.progress` and writes its table whole at the end.
"""

import csv
import dataclasses
import importlib
import io
import pkgutil
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from robustirl._runtime import write_atomically
from robustirl.errors import InvalidInputError
from robustirl.reports import to_markdown
from robustirl.sweeps import Engine, Outcome, Progress, Spec, compute, writing_to


class StudyInterrupted(Exception):  # noqa: N818
    """An interrupt ended the runs of a study early; the finished ones are in the store."""

    def __init__(self, outcome: Outcome, total: int):
        super().__init__(f"interrupted after {len(outcome.records)} of {total} runs")
        self.outcome = outcome
        self.total = total


@dataclasses.dataclass
class Frame:
    """Give a study its folder, its store, its progress and its output.

    Attributes:
        out: The folder to write to.
        progress: Called with what is being done, how much of it is finished, and how much there is.
        say: Called with every text to print.
        engine: What does the runs; processes of this machine if None.
        workers: How many processes of this machine; chosen by the number of batches if None.
        extend: Whether stores of other requests are extended.
        files: What was written.
        outcomes: What became of every request.
    """

    out: Path
    progress: Progress = lambda *_: None
    say: Callable[[str], object] = print
    engine: Engine | None = None
    workers: int | None = None
    extend: bool = False
    files: list[Path] = dataclasses.field(default_factory=list)
    outcomes: list[Outcome] = dataclasses.field(default_factory=list)

    def compute(self, specs: Sequence[Spec], folder: str = "", given: Container[Spec] = ()) -> list[Any]:
        """Run what the store in a folder of `out` lacks, and return the records of all specs.

        If a store is extended, its earlier runs are in `outcomes`. Runs that are `given` were put into the store from
        elsewhere, and are not done again.

        Raises:
            StudyInterrupted: After Ctrl-C. What is finished is kept, and the same command continues from there.
        """
        out = self.out / folder
        options = {"engine": self.engine, "workers": self.workers, "extend": self.extend, "given": given}
        outcome = compute(specs, out, self.progress, **options)
        asked = set(specs)
        if not outcome.complete:
            kept = sum(record.spec not in asked for record in outcome.records)
            raise StudyInterrupted(outcome, len(specs) + kept)
        self.files += outcome.files
        self.outcomes.append(outcome)
        return [record for record in outcome.records if record.spec in asked]

    def write_table(self, name: str, headings: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> str:
        """Write a table as `<out>/<name>.md`, print it, and return it."""
        table = to_markdown(headings, rows)
        path = self._place(f"{name}.md")
        with writing_to(path.parent):
            write_atomically(path, table)
        self.files.append(path)
        self.say(f"{title}\n\n{table}" if title else table)
        return table

    def write_csv(self, name: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a table as `<out>/<name>.csv`."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([headings, *rows])
        path = self._place(f"{name}.csv")
        with writing_to(path.parent):
            write_atomically(path, text.getvalue())
        self.files.append(path)

    def save_figure(self, name: str, figure: Any) -> None:
        """Save a figure as `<out>/<name>` with the usual suffixes."""
        from robustirl.plotting import save_figure  # Here, so that only a figure loads matplotlib.

        path = self._place(name)
        with writing_to(path.parent):
            self.files += save_figure(figure, path)

    def _place(self, name: str) -> Path:
        path = self.out / name
        require_folder(self.out)
        with writing_to(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path


def require_folder(out: Path) -> None:
    """Refuse a file where a folder is needed."""
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"{out} is a file, but --out must name a folder; choose another name.")


@runtime_checkable
class Study(Protocol):
    """A documented dataclass whose fields are the options of the study, all with defaults."""

    def run(self, frame: Frame) -> None:
        """Check the options, compute, and write tables and figures."""
        ...


Options = TypeVar("Options", bound=type[Study])

_STUDIES: dict[str, type[Study]] = {}
_ALIASES: dict[str, str] = {}


def register_study(name: str, *, aliases: Sequence[str] = ()) -> Callable[[Options], Options]:
    """Return a decorator that makes a dataclass with a `run` the study of this name.

    Args:
        name: What the command line calls it.
        aliases: Earlier names, under which it is still found.
    """

    def add(study: Options) -> Options:
        if _STUDIES.get(name, study).__qualname__ != study.__qualname__:
            raise InvalidInputError(f"there is a study {name!r} already; choose another name.")
        _STUDIES[name] = study
        _ALIASES.update(dict.fromkeys(aliases, name))
        return study

    return add


def studies() -> dict[str, type[Study]]:
    """Return all studies by name, after importing every module of this package.

    Example:
        >>> "existence" in studies()
        True
    """
    package = importlib.import_module("robustirl.paper.studies")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_STUDIES.items()))


def study_aliases() -> dict[str, str]:
    """Return the earlier names of studies, with the present ones.

    Example:
        >>> study_aliases()["reward-transfer"]
        'transfer'
    """
    studies()
    return dict(_ALIASES)
