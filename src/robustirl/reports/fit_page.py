"""`fit.html`: one self-contained page about a single fit, made from its folder alone.

World, demonstrations, α's evidence, verdict, policy, and what to try next. Sentences are in the page itself, so that it
can be read where scripts are not run; scripts draw maps and charts.
"""

import importlib.resources
import json
from pathlib import Path
from typing import Any

import markupsafe
import numpy as np

from robustirl._runtime import reserved_file, write_atomically
from robustirl.errors import InvalidInputError
from robustirl.reports.arrays import DIGITS, NONE, TEN_THOUSANDTHS, THOUSANDTHS, Pool
from robustirl.reports.fit_folder import FitFolder, read_fit_folder
from robustirl.reports.fit_words import describe
from robustirl.reports.html import render

NAME = "fit.html"
SCRIPTS = ("data.js", "colors.js", "maps.js", "charts.js", "graph.js", "fit.js")
STYLES = ("maps.css", "fit.css")
MOST_STATES = 20_000  # Of larger worlds the page shows the states that expert and player visit most.
SHOWN_STATES = 1_000
MOST_POINTS = 300  # Of the curve of the gap.


def write_fit_page(folder: Path, path: Path | None = None) -> Path:
    """Write the page of a folder that `robustirl fit` made, whole or not at all.

    Return its path.

    Args:
        folder: The folder.
        path: The file; `fit.html` in the folder if omitted.
    """
    folder = Path(folder)
    path = folder / NAME if path is None else Path(path)
    with reserved_file(path):
        text = fit_page(read_fit_folder(folder))
        try:
            write_atomically(path, text)
        except OSError as error:
            raise InvalidInputError(
                f"{path} cannot be written ({error.strerror}); make room, or choose another --out."
            ) from None
    return path


def fit_page(found: FitFolder) -> str:
    """Return the page of a fit."""
    folder = importlib.resources.files("robustirl.reports") / "data"
    data, arrays = fit_payload(found)
    return render(
        "robustirl.reports",
        "data/fit.html.jinja",
        **describe(found),
        look=markupsafe.Markup("\n".join((folder / name).read_text(encoding="utf-8") for name in STYLES)),
        script=markupsafe.Markup("\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)),
        data=markupsafe.Markup(embedded_json(data)),
        arrays=arrays,
    )


def embedded_json(data: dict[str, Any]) -> str:
    r"""Return JSON that cannot end the script it stands in.

    Example:
        >>> print(embedded_json({"name": "</script>"}))
        {"name":"\u003c/script>"}
    """
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def fit_payload(found: FitFolder) -> tuple[dict[str, Any], str]:
    """Return the page's data: a JSON object, and the arrays it points into as compressed text."""
    fit, record = found.model.fit_, found.record
    player = np.asarray(fit.player)
    states, actions = player.shape
    expert = np.asarray(fit.expert_occupancy, dtype=float)
    own = np.full(states, np.nan) if record is None else np.asarray(record.player_occupancy, dtype=float)
    kept = np.arange(states)
    if states > MOST_STATES:
        kept = np.sort(np.argsort(-np.maximum(expert, np.nan_to_num(own)), kind="stable")[:SHOWN_STATES])
    reward = np.asarray(fit.reward)
    reward = reward if reward.ndim == 1 else (player * reward).sum(1)
    pool = Pool()
    places = {
        "reward": pool.numbers(reward[kept]),
        "player": pool.probabilities(player[kept]),
        "expert": pool.numbers(expert[kept]),
        "mixture": pool.numbers(np.asarray(fit.occupancy)[kept]),
        "own": pool.numbers(own[kept]),
    }
    data = {
        "world": _world(found, len(kept), actions, whole=states == len(kept)),
        "states": kept.tolist() if states > len(kept) else None,
        "paid": "states" if np.ndim(fit.reward) == 1 else "actions",
        "samples": [] if record is None or states > len(kept) else record.demonstrations.samples,
        "alpha": _curves(found),
        "gaps": _history(np.asarray(fit.history.occupancy_gap), int(fit.verdict.steps)),
        "at": places,
        "arrays": {
            **pool.sizes, "digits": DIGITS, "thousandths": THOUSANDTHS, "places": TEN_THOUSANDTHS, "none": NONE,
        },
    }  # fmt: skip
    return data, pool.packed()


def _world(found: FitFolder, states: int, actions: int, *, whole: bool) -> dict[str, Any]:
    """Return the world as the scripts draw it."""
    record = found.record
    if record is None or not whole:
        words = [f"action {a}" for a in range(actions)] if record is None else list(record.world.actions)
        known = None if record is None or record.world.state_names is None else list(record.world.state_names)
        empty = {"shape": None, "directions": None, "positions": None, "targets": None, "ends": [], "objects": []}
        return {"states": states, "actions": words, "names": known if whole else None, **empty}
    world = record.world
    return {
        "states": states,
        "actions": world.actions,
        "names": world.state_names,
        "shape": world.shape,
        "directions": world.directions,
        "positions": world.positions,
        "targets": world.targets,
        "ends": world.ends,
        "objects": [],
    }


def _curves(found: FitFolder) -> dict[str, Any] | None:
    """Return the curves that chose α, from the smallest candidate up."""
    alpha = None if found.record is None else found.record.alpha
    if alpha is None:
        return None
    order = np.argsort(alpha.candidates)
    names = ("candidates", "missed", "most_missed", "gain", "gain_error", "admissible")
    return {name: [getattr(alpha, name)[i] for i in order] for name in names} | {"chosen": float(found.model.alpha_)}


def _history(gaps: np.ndarray, steps: int) -> list[list[float]]:
    """Return steps and gaps of the fit, thinned where there are many."""
    gaps = np.asarray(gaps[: steps + 1], dtype=float)
    places = np.unique(np.linspace(0, len(gaps) - 1, min(len(gaps), MOST_POINTS)).astype(int)) if len(gaps) else []
    return [[int(i), float(f"{gaps[i]:.4g}")] for i in places if np.isfinite(gaps[i])]
