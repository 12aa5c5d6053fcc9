"""The runs of the study of α: every choice of α on one draw of demonstrations, computed together.

The spec stands in the file that registers the kind, so that a worker process which reads a spec knows its kind.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from robustirl.demonstrations import (
    Demonstrations,
    estimate_alpha,
    estimate_dynamics,
    estimate_occupancy,
    sample_demonstrations,
)
from robustirl.errors import RobustIRLError
from robustirl.irl import CANDIDATES, AlphaCurves, fit_many, select_alpha
from robustirl.paper.studies.alpha_cells import Cell, find_cell
from robustirl.planning import discounted_return, expert_policy, total_return
from robustirl.sweeps import Kind, RunResult, Spec, register

STATES, ACTIONS, TRANSFER = "moves, states", "moves, actions", "transfer"
CHOICES = (*(f"{alpha:g}" for alpha in CANDIDATES), STATES, ACTIONS, TRANSFER)
HORIZON = 400
NAN = float("nan")


@dataclasses.dataclass(frozen=True)
class AlphaSpec(Spec):
    """One choice of α on one draw.

    Attributes:
        cell: The pair of worlds, a name of `cell_names()`.
        episodes: How many episodes.
        draw: Which draw of them.
        choice: A fixed α as text, or one of `moves, states`, `moves, actions`, `transfer`. What `auto` takes follows
            from the curves of the fixed ones.
    """

    cell: str
    episodes: int
    draw: int
    choice: str

    def check(self) -> None:
        """Refuse a cell that is not there."""
        find_cell(self.cell)


@dataclasses.dataclass(frozen=True)
class AlphaRecord:
    """What a choice came to.

    Attributes:
        spec: What was run.
        alpha: α that was used.
        value: Its return in the learner's world, a total or discounted as the cell says.
        optimum: The largest return there is.
        discounted: Its discounted return.
        discounted_optimum: The largest discounted return.
        gap, distance, excess, arrival, planned, gain, gain_error, second_gain: The curves of `irl.AlphaCurves` at this
            α; NaN where α was not a candidate.
        seconds: Time of the run.
    """

    spec: AlphaSpec
    alpha: float
    value: float
    optimum: float
    discounted: float
    discounted_optimum: float
    gap: float
    distance: float
    excess: float
    arrival: float
    planned: float
    gain: float
    gain_error: float
    second_gain: float
    seconds: float


def specs_of(cells: Sequence[str], episodes: Sequence[int], draws: int) -> tuple[AlphaSpec, ...]:
    """Return the runs: every choice in every cell, from every number of episodes, on every draw.

    The first draw of all cells comes first, so that a study that was stopped early has seen all of them.

    Example:
        >>> len(specs_of(["hole, expert slips"], [20, 100], 2))
        64
    """
    return tuple(
        AlphaSpec(cell, count, draw, choice)
        for draw in range(draws)
        for cell in cells
        for count in episodes
        for choice in CHOICES
    )


class AlphaContext:
    """Compute all choices on one draw of demonstrations at a time."""

    def results(self, specs: Sequence[AlphaSpec], size: int) -> list[RunResult]:  # noqa: ARG002
        """Fit every candidate once, and read the choices off the fits."""
        spec = specs[0]
        cell = find_cell(spec.cell)
        demos = sample_demonstrations(
            cell.expert_walks,
            expert_policy(cell.expert, cell.reward, kind=cell.expert_kind),
            episodes=spec.episodes,
            horizon=HORIZON,
            key=jax.random.key(spec.draw),
        )
        best = measure(cell, expert_policy(cell.learner_walks, cell.reward, kind="optimal"))
        found, curves = all_choices(cell, demos)
        return [RunResult(_record(one, found[one.choice], best, curves), {}) for one in specs]


Outcome = tuple[float, tuple[float, float]]
"""α, and the two returns of `measure`."""


def _record(spec: AlphaSpec, outcome: Outcome, best: tuple[float, float], curves: AlphaCurves) -> AlphaRecord:
    """Return the numbers of a choice, with those of the curves if it is a candidate."""
    alpha, (value, discounted) = outcome
    own = [NAN] * len(CURVES)
    if is_number(spec.choice):
        place = CHOICES.index(spec.choice)
        own = [float(getattr(curves, name)[place]) for name in CURVES]
    return AlphaRecord(spec, alpha, value, best[0], discounted, best[1], *own, seconds=0.0)


CURVES = ("gap", "distance", "excess", "arrival", "planned", "gain", "gain_error", "second_gain")


def curves_of(records: Sequence[AlphaRecord]) -> AlphaCurves:
    """Return the curves that the records of one draw hold."""
    own = [record for record in records if is_number(record.spec.choice)]
    columns = {name: np.array([getattr(record, name) for record in own]) for name in CURVES}
    columns["planned"] = columns["planned"] > 0
    return AlphaCurves(candidates=np.array([record.alpha for record in own]), **columns)


def is_number(choice: str) -> bool:
    """Return whether a choice is a fixed α."""
    return choice.replace(".", "", 1).isdigit()


def all_choices(cell: Cell, demos: Demonstrations) -> tuple[dict[str, Outcome], AlphaCurves]:
    """Return α and the returns of every choice, and the curves of the candidates."""
    chosen = select_alpha(cell.learner, demos, reward=cell.model)
    found: dict[str, Outcome] = {
        f"{alpha:g}": (float(alpha), measure(cell, one.player))
        for alpha, one in zip(chosen.candidates, chosen.fits, strict=True)
    }
    rho = estimate_occupancy(demos, cell.learner).occupancy
    moves = [estimate_alpha(cell.learner, demos, actions=actions).alpha for actions in (False, True)]
    fits = fit_many([cell.learner] * 2, [rho] * 2, moves, rewards=cell.model, throw=False)
    for name, alpha, one in zip((STATES, ACTIONS), moves, fits, strict=True):
        found[name] = alpha, measure(cell, one.player)
    found[TRANSFER] = 1.0, _transfer(cell, demos, rho)
    return found, chosen


def _transfer(cell: Cell, demos: Demonstrations, rho: np.ndarray) -> tuple[float, float]:
    """Return what the policy earns that is planned for the reward learned in the estimated world of the expert."""
    if cell.learner.kernel.leaky:
        return NAN, NAN  # A world with a leak is no posterior mean of recorded moves.
    world = estimate_dynamics(cell.learner, demos).world
    (found,) = fit_many([world], [rho], [1.0], rewards=cell.model, throw=False)
    try:
        return measure(cell, expert_policy(cell.learner, found.reward))
    except RobustIRLError:
        return NAN, NAN  # A reward that planning cannot handle gives no policy.


def measure(cell: Cell, policy: Any) -> tuple[float, float]:
    """Return the exact return of a policy in the learner's world as the cell measures it, and the discounted one."""
    discounted = float(discounted_return(cell.learner_walks, policy, cell.reward))
    return float(total_return(cell.learner_walks, policy, cell.reward)) if cell.total else discounted, discounted


ALPHA = register(
    Kind(
        "alpha",
        AlphaSpec,
        AlphaRecord,
        table="results",
        activity="draws",
        cpu_batch=len(CHOICES),  # All choices of a draw share its demonstrations and its fits.
        gpu_batch=len(CHOICES),
        min_batches_for_pool=8,
        warm_up=False,
        batch_key=lambda spec: (spec.cell, spec.episodes, spec.draw),
        program_key=lambda spec: find_cell(spec.cell).learner.num_states,
        context_key=lambda _: None,
        make_context=lambda *_: AlphaContext(),
    )
)
