"""Run the programs of `examples/` and write them down with what they print and draw: `make examples`.

An example is a plain script in the percent format, which editors and Jupytext open as a notebook: `# %%` begins a cell
of code, `# %% [markdown]` one of prose. `docs/examples/NAME.md` is its page, `docs/images/example-NAME-N.png` are its
figures. Code and output come from one run; much of what the prose says of them is held by `tests/test_examples.py`.
"""

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
PAGES = ROOT / "docs" / "examples"
IMAGES = ROOT / "docs" / "images"
NOTE = "*Run `python examples/{name}.py`, or open it as a notebook. `make examples` writes this page.*"
DOTS = 150  # Per inch.
COLORS = 255  # Enough for a figure, and a third of the size.


class Cell(NamedTuple):
    """A cell of an example: prose as Markdown, or code."""

    prose: bool
    text: str


class Output(NamedTuple):
    """What a cell of code left behind: what it printed, and its figures as PNG."""

    printed: str
    figures: tuple[bytes, ...]


class Run(NamedTuple):
    """An example that was run: an output for each of its cells of code, and its variables at the end."""

    outputs: tuple[Output, ...]
    variables: dict[str, Any]


def examples() -> list[Path]:
    """Return the scripts, by name."""
    return sorted(EXAMPLES.glob("*.py"))


def cells(script: str) -> list[Cell]:
    r"""Return a script taken apart.

    Example:
        >>> cells("# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\nprint(1)\n")
        [Cell(prose=True, text='# Title\n\nWords.'), Cell(prose=False, text='print(1)')]
    """
    head, *parts = re.split(r"^# %%", script, flags=re.M)
    if head.strip():
        raise ValueError("an example begins with a cell; this one has something in front of it.")
    found = []
    for part in parts:
        kind, _, body = part.partition("\n")
        prose = kind.strip() == "[markdown]"
        found.append(Cell(prose, (re.sub(r"^# ?", "", body, flags=re.M) if prose else body).strip()))
    return found


def execute(path: Path, *, quick: bool = False) -> Run:
    """Run an example cell by cell, in a folder of its own that is gone afterwards."""
    variables: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    outputs = []
    with _standing_in(path, ["--quick"] if quick else []):
        for number, cell in enumerate(cells(path.read_text("utf-8"))):
            if cell.prose:
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(cell.text, f"{path.name}, cell {number}", "exec"), variables)
            outputs.append(Output(printed.getvalue(), tuple(_pictures())))
    return Run(tuple(outputs), variables)


def page(path: Path, run: Run) -> str:
    """Return the page of an example."""
    name, outputs, figures = path.stem, iter(run.outputs), 0
    parts = []
    for cell in cells(path.read_text("utf-8")):
        parts.append(on_page(cell.text) if cell.prose else f"```python\n{cell.text}\n```")
        if len(parts) == 1:  # Below the title and what it is about.
            parts.append(NOTE.format(name=name))
        if cell.prose:
            continue
        output = next(outputs)
        if output.printed.strip():
            parts.append(f"```text\n{output.printed.rstrip()}\n```")
        for _ in output.figures:
            figures += 1
            parts.append(f"![Figure {figures} of {name}](../images/{image(name, figures)})")
    return "\n\n".join(parts) + "\n"


def on_page(prose: str) -> str:
    """Return prose with its links as they are from the page.

    A script says where documentation is seen from its own folder.
    """
    return prose.replace("](../docs/", "](../")


def image(name: str, number: int) -> str:
    """Return the file of a figure."""
    return f"example-{name}-{number}.png"


@contextlib.contextmanager
def _standing_in(path: Path, arguments: list[str]) -> Iterator[None]:
    """Be the script: its arguments, and a folder for the files it writes."""
    before, home, show = sys.argv, Path.cwd(), plt.show
    backend = plt.get_backend()
    plt.switch_backend("Agg")  # Figures are kept, not shown.
    with tempfile.TemporaryDirectory() as folder, plt.rc_context():
        sys.argv, plt.show = [str(path), *arguments], lambda *_, **__: None
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(home)
            sys.argv, plt.show = before, show
            plt.close("all")
    plt.switch_backend(backend)


def _pictures() -> Iterator[bytes]:
    """Return the open figures, which are closed by it."""
    from PIL import Image

    for number in plt.get_fignums():
        drawn, small = io.BytesIO(), io.BytesIO()
        plt.figure(number).savefig(drawn, format="png", dpi=DOTS, metadata={"Software": None})
        drawn.seek(0)
        Image.open(drawn).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(small, "png", optimize=True)
        yield small.getvalue()
    plt.close("all")


def main() -> None:
    """Run the examples asked for and write their pages."""
    from robustirl._runtime import write_atomically

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known = [path.stem for path in examples()]
    parser.add_argument("names", nargs="*", choices=[*known, []], metavar="NAME", help=f"of {', '.join(known)}; all")
    chosen = parser.parse_args().names
    for path in examples():
        if chosen and path.stem not in chosen:
            continue
        run = execute(path)
        PAGES.mkdir(exist_ok=True)
        figures = [figure for output in run.outputs for figure in output.figures]
        for number, figure in enumerate(figures, 1):
            write_atomically(IMAGES / image(path.stem, number), figure)
        write_atomically(PAGES / f"{path.stem}.md", page(path, run).encode("utf-8"))
        print(f"{path.stem}: a page and {len(figures)} figures")


if __name__ == "__main__":
    main()
