"""Write the tables of `contacts.py` from its lines."""

from collections.abc import Iterable, Sequence
from typing import Any

HEAD = """# Are these MuJoCo's worlds?

Written by `python benchmarks/contacts.py page`, from lines that its other parts have measured (`contacts.jsonl`).
"""
SOLVER = """
## Steps of the contact solver

What is left of the change of speeds that MuJoCo's own engine computes with a converged solver, after one step of the
world from the same states: the mean, and in brackets the 99 % quantile, both as shares of the mean change.
"""
GYMNASIUM = """
## Gymnasium's worlds, step by step

Random actions in Gymnasium's worlds: the largest difference in what is seen and in what is paid, how many episodes
ended by themselves (in the same steps, or the command fails), and the mean error of the speeds to which MJX moves from
the same states with the model's own integrator and solver, as a share of their change.
"""
EXPERTS = """
## Experts elsewhere

What mean actions earn: in the study's world, in MuJoCo's own engine with a converged solver, in Gymnasium's world, and
what the usual expert earns when it is carried over (in MuJoCo's engine).
"""


def page_of(lines: Sequence[dict[str, Any]]) -> str:
    """Return the page.

    Example:
        >>> row = {"part": "solver", "world": "hopper", "iterations": 1, "steps": 9, "mean": 0.031, "worst": 0.4}
        >>> print(page_of([row]).splitlines()[-1])
        | hopper | 3 % (40 %) |
    """
    page = HEAD
    if solver := [line for line in lines if line["part"] == "solver"]:
        page += SOLVER + "\n" + _solver_table(solver)
    if follow := [line for line in lines if line["part"] == "gymnasium"]:
        columns = ("world", "steps", "seen", "paid", "episodes ended", "moved by MJX")
        page += GYMNASIUM + "\n" + _table(columns, map(_followed, follow))
    if experts := [line for line in lines if line["part"] == "experts"]:
        columns = ("world", "parameter", "factor", "study", "MuJoCo", "Gymnasium", "carried over")
        page += EXPERTS + "\n" + _table(columns, map(_expert, experts))
    return page


def share(value: float) -> str:
    """Return a share in percent, to one digit.

    Example:
        >>> [share(x) for x in (0.3512, 0.0312, 0.00024, 0.00004)]
        ['35 %', '3 %', '0.02 %', '< 0.01 %']
    """
    percent = 100 * value
    if percent < 0.01:
        return "< 0.01 %"
    return f"{percent:.0f} %" if percent >= 1 else f"{percent:.1g} %"


def _solver_table(lines: Sequence[dict[str, Any]]) -> str:
    counts = sorted({line["iterations"] for line in lines})
    found = {(line["world"], line["iterations"]): line for line in lines}

    def cell(world: str, count: int) -> str:
        line = found.get((world, count))
        return "" if line is None else f"{share(line['mean'])} ({share(line['worst'])})"

    worlds = dict.fromkeys(line["world"] for line in lines)
    columns = ("world", *(f"{count} step{'s' * (count > 1)}" for count in counts))
    return _table(columns, ((world, *(cell(world, count) for count in counts)) for world in worlds))


def _followed(line: dict[str, Any]) -> tuple[object, ...]:
    moved = share(line["moved"]) if "moved" in line else ""
    return line["world"], line["steps"], f"{line['seen']:.0e}", f"{line['paid']:.0e}", line["ends"], moved


def _expert(line: dict[str, Any]) -> tuple[object, ...]:
    earned = (f"{line[name]:.0f}" if name in line else "" for name in ("study", "engine", "gymnasium", "carried"))
    return line["world"], line["parameter"], line["factor"], *earned


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
