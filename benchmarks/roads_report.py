"""Write `docs/data/roads.md` from the files that `roads.py` and `shards.py` left; `docs/data/roads.json` keeps them.

python benchmarks/roads_report.py out/ny-cpu-1.json out/closures-0.json out/shards.jsonl
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parents[1] / "docs" / "data"
KEPT, PAGE = DATA / "roads.json", DATA / "roads.md"
GRAPHS = {"NY.gr.xz": "New York", "NE.gr.xz": "New England"}


def main() -> None:
    """Add files to those that are kept, and write the page anew."""
    found = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {"fits": {}, "closures": {}, "shards": {}}
    for name in sys.argv[1:]:
        text = Path(name).read_text("utf-8")
        for content in map(json.loads, text.splitlines()) if name.endswith(".jsonl") else [json.loads(text)]:
            add(found, content)
    KEPT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(tables(found), encoding="utf-8")


def add(found: dict[str, Any], content: dict[str, Any]) -> None:
    """Add one file, or a line of one: a fit, draws of closures, or a world over devices."""
    if content["benchmark"] == "shards":
        kind = f"{content['machine']['backend']} {content['devices']} {content['kernel']} {content['states']:010d}"
        found["shards"][kind] = content
        return
    for draw in content.pop("closures", []):
        found["closures"].setdefault(f"{content['links']:07d}", {})[f"{draw['draw']:03d}"] = draw
    if "coefficients" in content:
        how = "part" if "starting_values" in content else "nothing"
        kind = f"{content['graph']} {content['machine']['backend']} {content['destinations']} {how}"
        found["fits"][kind] = content


def tables(found: dict[str, Any]) -> str:
    """Return the page."""
    return "\n\n".join([*fits(found["fits"]), *closures(found["closures"]), *shards(found["shards"])]) + "\n"


def fits(found: dict[str, Any]) -> list[str]:
    """Return the table of coefficients and the one of seconds and memory."""
    if not found:
        return []
    rows, parts, columns = [], list(dict.fromkeys(part for one in found.values() for part in one["seconds"])), []
    for one in found.values():
        where = "H200" if one["machine"]["backend"] == "gpu" else f"{one['machine']['cores']} cores"
        start = "the links in reach" if "starting_values" in one else "nothing"
        about = f"{GRAPHS[one['graph']]}, {one['destinations']} destination{'s' * (one['destinations'] > 1)}"
        learned = [f"{row['estimate']:.3f} ± {row['standard_error']:.3f}" for row in one["coefficients"]]
        rows.append([about, f"{one['states']:,}", start, *learned, f"{one['gap']:.1e}", str(one["steps"])])
        peak = max(one["memory_peak_bytes"].values())
        seconds = [f"{one['seconds'][part]:.1f}" if part in one["seconds"] else "" for part in parts]
        host = one["host_memory_peak_bytes"]
        columns.append([f"{about}, starting from {start}, {where}", *seconds, f"{peak / 1e9:.1f}", f"{host / 1e9:.1f}"])
    names = [f"{row['feature']} ({row['planted']:g})" for row in next(iter(found.values()))["coefficients"]]
    head = ["graph", "states", "start", *names, "gap", "steps"]
    left = ["seconds", *parts, "peak of memory, GB (H200: of the GPU)", "peak of the host, GB"]
    return [
        "Coefficients (planted) with standard errors, 5,000 trips:",
        table(head, rows),
        "Seconds and memory:",
        table([column[0] for column in [left, *columns]], list(zip(*[c[1:] for c in [left, *columns]], strict=True))),
    ]


def closures(found: dict[str, Any]) -> list[str]:
    """Return the medians over draws, with quartiles, of what is predicted after a closure; a table for each size."""
    parts = []
    for links, draws in sorted(found.items()):
        rows, turns = [], np.mean([draw["closed_turns"] for draw in draws.values()])
        every = [row for draw in draws.values() for row in draw["rows"]]
        for noise, name in dict.fromkeys((row["wrong_turns"], row["policy"]) for row in every):
            same = [row for row in every if (row["wrong_turns"], row["policy"]) == (noise, name)]
            numbers = [spread(same, key) for key in ("excess_log_loss", "discounted_return", "shared_links")]
            learner = "never" if noise == 0 else "as drivers"
            rows.append([learner, name.replace("alpha", "α"), *numbers, median_parameters(same), str(len(same))])
        head = ["learner's wrong turns", "who predicts", "excess log-loss", "return", "shared links"]
        parts.append(
            f"After closures in New York, {int(links):,} links, {turns:.0f} closed turns in the mean; medians and"
            " quartiles over draws of trips and closures:"
        )
        parts.append(table([*head, "coefficients", "draws"], rows))
    return parts


def spread(rows: list[dict[str, Any]], key: str) -> str:
    """Return the median and the quartiles."""
    low, middle, high = np.quantile([row[key] for row in rows], [0.25, 0.5, 0.75])
    digits = {"discounted_return": 2, "excess_log_loss": 4}.get(key, 3)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def median_parameters(rows: list[dict[str, Any]]) -> str:
    """Return the medians of the coefficients, if there are any."""
    if "parameters" not in rows[0]:
        return ""
    return ", ".join(f"{number:.2f}" for number in np.median([row["parameters"] for row in rows], axis=0))


def shards(found: dict[str, Any]) -> list[str]:
    """Return the table of worlds over devices."""
    if not found:
        return []
    rows = []
    for one in found.values():
        gpu = one["machine"]["backend"] == "gpu"
        where = "one H200" if gpu else f"{one['devices']} devices on {one['machine']['cores']} cores"
        peak = one["device_peak_bytes_a_state"] if gpu else one["peak_bytes_a_state"]
        sent = "; ".join(sorted({f"{kind} of {size}" for size, kind in one["sent"]["sweep"]})) or "nothing"
        times = [one["solve_seconds"], one["first_solve_seconds"], one["occupancy_seconds"]]
        bytes_a_state = [f"{one['kernel_bytes_a_state']:.0f}", f"{peak:.0f}"]
        shown = [f"{one['build_seconds']:.1f}", *(f"{time:.2f}" for time in times)]
        each = f"{1e6 * one['solve_seconds'] / one['states']:.2f}"
        rows.append([where, f"{one['states']:,}", sent, *shown, each, *bytes_a_state])
    head = ["where", "states", "sent a sweep", "build, s", "solve, s", "first solve, s", "occupancy, s"]
    head += ["solve, µs a state", "kernel, bytes a state", "peak, bytes a state"]
    agree = [one["apart_from_scipy"] for one in found.values() if "apart_from_scipy" in one]
    said = f" SciPy's values at α = 1 differ by {max(agree):.0e} of the largest." if agree else ""
    return [f"Worlds of lists over devices (`benchmarks/shards.py`), γ = 0.99, α = 0.9.{said}", table(head, rows)]


def table(head: list[str], rows: list[Any]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
