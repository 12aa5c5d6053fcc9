"""Write docs/data/large-worlds.md: the targets of large worlds, met or missed, from the files of `large_targets.py`.

python benchmarks/large_report.py
"""

import json
import math
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results", HERE.parent / "docs" / "data" / "large-worlds.md"
NOTES = HERE / "large_notes.md"
KINDS = ("grid", "lists")
SIZES = {10_000: "10⁴", 99_856: "10⁵", 1_000_000: "10⁶"}
Rows = list[dict[str, Any]]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the page."""
    lines = ["# Large worlds: targets and measurements", "", f"Written by `benchmarks/{Path(__file__).name}`.", ""]
    for device in ("cpu", "gpu"):
        path = RESULTS / f"large-{device}.json"
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            lines += section(device, found["machine"], found["rows"])
    return "\n".join(lines) + "\n" + NOTES.read_text(encoding="utf-8")


def section(device: str, machine: dict[str, Any], rows: Rows) -> list[str]:
    """Return the tables of one device."""
    what = f"{machine['cpu']}, {machine['cores']} cores" if device == "cpu" else machine["device"]
    lines = [f"## {device.upper()}: {what}, {machine['date'][:10]}, JAX {machine['versions']['jax']}", ""]
    if "note" in machine:
        lines += [machine["note"], ""]
    lines += ["| what | aim | grid | lists | lists / grid (aim 2) |", "| --- | --- | --- | --- | --- |"]
    for discount in (0.99, 0.999):
        for states in SIZES:
            aim = {0.99: 5.0, 0.999: 10.0}[discount] if device == "cpu" and states == 1_000_000 else None
            name = f"solve, {SIZES[states]} states, γ = {discount:g}"
            lines += line(name, aim, seconds_of(rows, "solve", "seconds", states, discount=discount))
    for states in SIZES:
        aim = {"cpu": {99_856: 20.0}, "gpu": {1_000_000: 10.0}}[device].get(states)
        lines += line(
            f"200 steps of learning, {SIZES[states]} states", aim, seconds_of(rows, "learning", "seconds", states)
        )
        shares = seconds_of(rows, "learning", "step_over_cold_solve", states)
        lines += line(f"a step over a cold solve, {SIZES[states]} states", 0.2, shares, unit="")
    small, large = (seconds_of(rows, "solve", "seconds", s, discount=0.99) for s in (10_000, 1_000_000))
    growth = {k: math.log(large[k] / small[k]) / math.log(100) for k in KINDS if k in small and k in large}
    return [*lines, *line("exponent from 10⁴ to 10⁶ states, γ = 0.99", 1.15, growth, unit=""), ""]


def seconds_of(rows: Rows, what: str, field: str, states: int, **labels: float) -> dict[str, float]:
    """Return one number for each kind of world that was measured."""
    wanted = {"what": what, "states": states, **labels}
    return {row["kind"]: row[field] for row in rows if all(row.get(key) == value for key, value in wanted.items())}


def line(name: str, aim: float | None, found: dict[str, float], unit: str = " s") -> list[str]:
    """Return a row of the table; nothing if nothing was measured."""
    if not found:
        return []

    def cell(kind: str) -> str:
        if kind not in found:
            return "not measured"
        missed = aim is not None and found[kind] > aim
        text = f"{found[kind]:.3g}{unit}"
        return f"**{text}**, missed" if missed else text + (", met" if aim is not None else "")

    ratio = f"{found['lists'] / found['grid']:.2g}" if unit and len(found) == len(KINDS) else ""
    return [f"| {name} | {'' if aim is None else f'≤ {aim:g}{unit}'} | {cell('grid')} | {cell('lists')} | {ratio} |"]


if __name__ == "__main__":
    main()
