"""Invented plans, runs of the continuous experiment, and stores, for tests of what is drawn and written of them."""

import base64
import inspect
import math
import re
from pathlib import Path
from types import SimpleNamespace

from robustirl.envs.noise import PUBLISHED
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec, ExpertRecord, ExpertSpec
from robustirl.paper.finite import catalog
from robustirl.paper.finite.reproduce import Plan

OPTIONS = {"alphas": (1.0, 0.9), "learner_noises": (0.0, 0.1), "expert_noises": (0.0, 0.1, 0.2)}


def plan(names=("best-alpha", "alpha-study", "convergence"), models=("uniform-state", PUBLISHED), **options):
    grid = catalog.Grid(("gridworld-1", "gridworld-4"), tuple((OPTIONS | options).items()))
    return Plan(catalog.choose(names), grid, models)


def learners(seeds=2, **options):
    """Runs of three experts; of the noisiest one not every learner has learned."""
    return [
        ContinuousRecord(
            ContinuousSpec(learner, expert, alpha, seed, **options),
            -400 - 30 * math.sin(5 * learner + 17 * alpha + 9 * expert + seed),
            *(-410.0, 1.0 - 0.125 * seed * (alpha == 1), -390.0, 0.1, 0.2, 0.9, 0.8),
            300,
            "failed" if (seed, alpha) == (1, 0.9) else "budget",
            1.0,
        )
        for learner in (0.0, 0.1)
        for alpha in (1.0, 0.9)
        for expert in (0.0, 0.1, 0.2)
        for seed in range(seeds)
        if (learner, alpha, expert) != (0.1, 1.0, 0.2)
    ]


def a_store(records, folder="."):
    trained = [ExpertRecord(ExpertSpec(noise), -380.0 - noise, -379.0, 0.875, "trained", 2.0) for noise in (0.0, 0.1)]
    return SimpleNamespace(folder=Path(folder), configuration={"jax": "0"}, records=lambda: [*trained, *records])


def closure(function):
    function = inspect.unwrap(function)  # From a type checker, if one is at work.
    return dict(zip(function.__code__.co_freevars, function.__closure__, strict=True))


def inside(page):
    """What a page shows: no style, no script, no picture, no versions."""
    text = page.partition("<main>")[2].partition("</main>")[0]
    text = re.sub(r"base64,[A-Za-z0-9+/=]+", lambda found: f"base64, {decoded(found[0])}", text)
    return re.sub(r"(\d+ runs; ).*?\. ", r"\1versions. ", text)


def decoded(data):
    return base64.b64decode(data.partition(",")[2]).decode()
