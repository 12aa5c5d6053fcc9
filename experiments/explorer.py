"""One static page to look around in the runs of `reproduce`: choose a world, a kernel and noises, and see every α.

The page holds the numbers of `results.csv` and draws them with a few lines of script; it loads nothing.
"""

import csv
import json
from pathlib import Path
from typing import Any

import markupsafe

from experiments.tables import render
from robustirl._files import write_atomically
from robustirl.errors import InvalidInputError

PLACE = ("environment", "noise_model", "expert", "steps", "start", "train_noise", "expert_alpha", "sampled", "seed")
"""The columns that say which experiment a run is of: one choice on the page each, if there is more than one value."""
NUMBERS = ("return", "optimal_return", "expert_return", "discounted_return", "occupancy_gap", "largest_reward", "bound")


def write(folder: Path) -> Path:
    """Write the page of a folder of results, and return where."""
    source, path = folder / "results.csv", folder / "explorer.html"
    if not source.is_file():
        raise InvalidInputError(f"there is no results.csv in {folder}; give what --out named in reproduce.")
    with source.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = [name for name in PLACE if len({row[name] for row in rows}) > 1]
    kept = (*columns, "learner_noise", "expert_noise", "alpha", *NUMBERS)
    data: dict[str, Any] = {"place": columns, "numbers": NUMBERS, "columns": kept}
    data["rows"] = [[row[name] for name in kept] for row in rows]
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    write_atomically(path, render("explorer.html.jinja", name=folder.resolve().name, data=markupsafe.Markup(text)))
    return path
