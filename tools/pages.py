"""Run the programs of pages, and compare what they print with what the pages show.

    python tools/pages.py README.md docs/*.md            # compare
    python tools/pages.py --write docs/first-fit.md      # write what is printed now into the page

A page's ```python blocks are one program. What a block prints stands behind it in an ```output block. Numbers are equal
if they agree to one percent, or to the last digit shown; words must be equal. A block behind `<!-- not run: why -->` is
only parsed. A ```sh block is run where every line begins with `robustirl` or `python -m`.
"""

import argparse
import ast
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(
    r"(?P<note><!-- [^\n]*? -->\n+)?^```(?P<language>\w+)\n(?P<code>.*?)^```\n(?P<shown>\n*^```output\n.*?^```\n)?",
    re.M | re.S,
)
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
TOLERANCE = 0.01


def run_page(page: Path) -> tuple[str, list[str]]:
    """Run a page in a new folder; return the page with what it prints now, and what differs."""
    text, faults = page.read_text(encoding="utf-8"), []
    names: dict[str, object] = {"__name__": "__main__"}

    def replace(match: re.Match) -> str:
        code, language, shown = match["code"], match["language"], match["shown"] or ""
        if language not in ("python", "sh"):
            return match[0]
        if "not run" in (match["note"] or ""):
            if language == "python":
                ast.parse(code)
            return match[0]
        lines = [line for line in code.splitlines() if line.strip() and not line.startswith("#")]
        if language == "sh" and not all(line.startswith(("robustirl ", "python -m ")) for line in lines):
            return match[0]
        printed = _run_python(code, names, page) if language == "python" else _run_commands(lines)
        expected = re.sub(r"^```output\n|^```\n", "", shown.strip("\n") + "\n", flags=re.M) if shown else ""
        if not same(printed, expected):
            faults.append(f"{page}: the page shows\n{expected}but the program prints\n{printed}")
        output = f"\n```output\n{printed}```\n" if printed else ""
        return f"{match['note'] or ''}```{language}\n{code}```\n{output}"

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            new = BLOCK.sub(replace, text)
        finally:
            os.chdir(before)
    return new, faults


def _run_python(code: str, names: dict[str, object], page: Path) -> str:
    """Run a block in the page's names, as a notebook does: a last expression is printed, unless it is None."""
    tree = ast.parse(code, str(page))
    last = tree.body[-1] if tree.body else None
    last = last if isinstance(last, ast.Expr) else None
    tree.body = tree.body[:-1] if last is not None else tree.body
    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer):
        exec(compile(tree, str(page), "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), str(page), "eval"), names)
        if value is not None:
            print(repr(value))
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


def _run_commands(lines: list[str]) -> str:
    """Run commands in processes of their own; return what they print."""
    printed = ""
    for line in lines:
        words = shlex.split(line, comments=True)
        words = [sys.executable, "-m", *words] if words[0] == "robustirl" else [sys.executable, *words[1:]]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{line!r} ended with {done.returncode}: {done.stderr.strip()}")
        printed += "".join(f"{text.rstrip()}\n" for text in done.stdout.splitlines())
    return printed


def same(printed: str, shown: str) -> bool:
    """Return whether two texts agree, in words exactly and in numbers nearly.

    Example:
        >>> same("gap 0.1001", "gap 0.1"), same("gap 0.2", "gap 0.1"), same("gap", "Gap")
        (True, False, False)
    """
    if NUMBER.sub("#", printed) != NUMBER.sub("#", shown):
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True)
    return all(_close(one, other) for one, other in pairs)


def _close(one: str, other: str) -> bool:
    first, second = float(one.replace(",", "")), float(other.replace(",", ""))
    digits = min(len(text.partition(".")[2].partition("e")[0]) for text in (one, other))
    scale = max(abs(first), abs(second))
    last = 10.0**-digits * (scale if "e" in one + other else 1)
    return abs(first - second) <= max(TOLERANCE * scale, 1.5 * last if digits else 0.5)


def main() -> int:
    """Compare or write pages; return how many differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="write what is printed now into the pages")
    given = parser.parse_args()
    faults: list[str] = []
    for page in (path.resolve() for path in given.pages):
        new, found = run_page(page)
        if given.write:
            page.write_text(new, encoding="utf-8")
        else:
            faults += found
    print("\n".join(faults))
    return len(faults)


if __name__ == "__main__":
    sys.exit(main())
