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
    estimate_occupancy,
    sample_demonstrations,
)
from robustirl.errors import RobustIRLError
from robustirl.irl import (
    CANDIDATES,
    AlphaCurves,
    AlphaSelection,
    compare_transfer,
    fit_many,
    fit_transfer,
    select_alpha,
)
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
        gap, distance, excess, arrival, reach, planned, gain, gain_error: The curves of `irl.AlphaCurves` at this α; NaN
            where α was not a candidate.
        log_likelihood: Of the expert's moves under the fit.
        own_gains: Gains of all candidates by the reward of this one, separated by spaces.
        avoidable_gap, sampling_error: Those of `irl.AlphaCurves`, the same for all choices of a draw.
        direction_states, direction_actions: What the moves prove about the expert's world, without and with actions.
        recommended: 1 if `irl.fit_transfer` would recommend transfer were this α chosen, else 0.
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
    reach: float
    planned: float
    gain: float
    gain_error: float
    log_likelihood: float
    own_gains: str
    avoidable_gap: float
    sampling_error: float
    direction_states: str
    direction_actions: str
    recommended: float
    seconds: float


def specs_of(cells: Sequence[str], episodes: Sequence[int], draws: Sequence[int]) -> tuple[AlphaSpec, ...]:
    """Return the runs: every choice in every cell, from every number of episodes, on every draw.

    The first draw of all cells comes first, so that a study that was stopped early has seen all of them.

    Example:
        >>> len(specs_of(["hole, expert slips"], [20, 100], [0, 1]))
        64
    """
    return tuple(
        AlphaSpec(cell, count, draw, choice)
        for draw in draws
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
        draw = all_choices(cell, demos)
        return [RunResult(_record(one, draw, best), {}) for one in specs]


Returns = tuple[float, float]
"""What `measure` returns."""


@dataclasses.dataclass(frozen=True)
class Draw:
    """The outcome of all choices on one draw: α, returns, and what `auto` decides from."""

    outcomes: dict[str, tuple[float, Returns]]
    selection: AlphaSelection
    direction_actions: str
    recommended: tuple[bool, ...]


def _record(spec: AlphaSpec, draw: Draw, best: Returns) -> AlphaRecord:
    """Return the numbers of a choice, with those of the curves if it is a candidate."""
    alpha, (value, discounted) = draw.outcomes[spec.choice]
    curves, own, gains, recommended = draw.selection, [NAN] * len(CURVES), "", NAN
    if is_number(spec.choice):
        place = CHOICES.index(spec.choice)
        own = [float(getattr(curves, name)[place]) for name in CURVES]
        gains = " ".join(f"{gain:.6g}" for gain in curves.own_gains[place])
        recommended = float(draw.recommended[place])
    return AlphaRecord(
        spec,
        alpha,
        value,
        best[0],
        discounted,
        best[1],
        *own,
        own_gains=gains,
        avoidable_gap=curves.avoidable_gap,
        sampling_error=curves.sampling_error,
        direction_states=curves.direction,
        direction_actions=draw.direction_actions,
        recommended=recommended,
        seconds=0.0,
    )


CURVES = ("gap", "distance", "excess", "arrival", "reach", "planned", "gain", "gain_error", "log_likelihood")


def curves_of(records: Sequence[AlphaRecord], *, actions: bool = False) -> AlphaCurves:
    """Return the curves in the records of one draw, with the direction states or actions prove."""
    own = [record for record in records if is_number(record.spec.choice)]
    columns = {name: np.array([getattr(record, name) for record in own]) for name in CURVES if name != "log_likelihood"}
    columns["planned"] = columns["planned"] > 0
    return AlphaCurves(
        candidates=np.array([record.alpha for record in own]),
        **columns,
        own_gains=np.array([[float(gain) for gain in record.own_gains.split()] for record in own]),
        avoidable_gap=own[0].avoidable_gap,
        sampling_error=own[0].sampling_error,
        direction=own[0].direction_actions if actions else own[0].direction_states,
    )


def is_number(choice: str) -> bool:
    """Return whether a choice is a fixed α."""
    return choice.replace(".", "", 1).isdigit()


def all_choices(cell: Cell, demos: Demonstrations) -> Draw:
    """Return what every choice comes to on a draw of demonstrations."""
    selection = select_alpha(cell.learner, demos, reward=cell.model, actions=False)
    found = {
        f"{alpha:g}": (float(alpha), measure(cell, one.player))
        for alpha, one in zip(selection.candidates, selection.fits, strict=True)
    }
    rho = estimate_occupancy(demos, cell.learner).occupancy
    moves = [estimate_alpha(cell.learner, demos, actions=actions) for actions in (False, True)]
    other = sorted({estimate.alpha for estimate in moves} - {alpha for alpha, _ in found.values()})
    # Two at a time, so that one compiled program serves whatever is missing.
    fits = fit_many([cell.learner] * 2, [rho] * 2, (other * 2)[:2], rewards=cell.model, throw=False) if other else []
    known = dict(found.values())
    known |= {alpha: measure(cell, one.player) for alpha, one in zip((other * 2)[:2], fits, strict=True)}
    for name, estimate in zip((STATES, ACTIONS), moves, strict=True):
        found[name] = estimate.alpha, known[estimate.alpha]
    transfer, recommended = _transfer(cell, demos, selection, np.asarray(rho))
    found[TRANSFER] = 1.0, transfer
    direction = "noisier" if moves[0].direction == "noisier" else moves[1].direction
    return Draw(found, selection, direction, recommended)


def _transfer(
    cell: Cell, demos: Demonstrations, selection: AlphaSelection, rho: np.ndarray
) -> tuple[Returns, tuple[bool, ...]]:
    """Return what transfer earns, and for every candidate whether transfer is recommended.

    The recommendation is the one that would be given if that candidate were chosen.
    """
    nothing = (NAN, NAN), (False,) * len(selection.candidates)
    if cell.learner.kernel.leaky:
        return nothing  # A world with a leak is no posterior mean of recorded moves.
    try:
        found = fit_transfer(cell.learner, demos, selection=selection, reward=cell.model)
    except RobustIRLError:
        return nothing  # A reward that planning cannot handle gives no policy.
    recommended = tuple(
        compare_transfer(
            cell.learner,
            dataclasses.replace(selection, alpha=float(alpha)),
            rho,
            np.asarray(found.policy),
            found.fit,
        )[0]
        for alpha in selection.candidates
    )
    return measure(cell, found.policy), recommended


def measure(cell: Cell, policy: Any) -> tuple[float, float]:
    """Return a policy's exact returns in the learner's world: the cell's measure and discounted."""
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
