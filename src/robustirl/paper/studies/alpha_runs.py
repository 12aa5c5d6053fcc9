"""The runs of the study of α: every choice of α on one draw of demonstrations, computed together.

The spec stands in the file that registers the kind, so that a worker process which reads a spec knows its kind.
"""

import dataclasses
from collections.abc import Sequence

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
from robustirl.irl import CANDIDATES, fit_many, paper_optimizer, select_alpha
from robustirl.paper.studies.alpha_cells import Cell, find_cell
from robustirl.planning import discounted_return, expert_policy, total_return
from robustirl.sweeps import Kind, RunResult, Spec, register

AUTO, STATES, ACTIONS, TRANSFER = "auto", "moves, states", "moves, actions", "transfer"
CHOICES = (*(f"{alpha:g}" for alpha in CANDIDATES), AUTO, STATES, ACTIONS, TRANSFER)
HORIZON = 400


@dataclasses.dataclass(frozen=True)
class AlphaSpec(Spec):
    """One choice of α on one draw.

    Attributes:
        cell: The pair of worlds, a name of `cell_names()`.
        episodes: How many episodes.
        draw: Which draw of them.
        choice: A fixed α as text, or one of `auto`, `moves, states`, `moves, actions`, `transfer`.
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
        value: Its return in the learner's world.
        optimum: The largest return there is.
        explained: D(α) - D(1), how far the opponent moves the player; see `robustirl.irl.alpha_selection`.
        missed: g(α) - g(1), how much larger the occupancy gap is; both are NaN where α was not a candidate.
        seconds: Time of the run.
    """

    spec: AlphaSpec
    alpha: float
    value: float
    optimum: float
    explained: float
    missed: float
    seconds: float


def specs_of(cells: Sequence[str], episodes: Sequence[int], draws: int) -> tuple[AlphaSpec, ...]:
    """Return the runs: every choice in every cell, from every number of episodes, on every draw.

    Example:
        >>> len(specs_of(["hole, expert slips"], [20, 100], 2))
        56
    """
    return tuple(
        AlphaSpec(cell, count, draw, choice)
        for cell in cells
        for count in episodes
        for draw in range(draws)
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
        found, extra = all_choices(cell, demos)
        return [RunResult(AlphaRecord(one, *found[one.choice], best, *extra[one.choice], 0.0), {}) for one in specs]


Outcomes = dict[str, tuple[float, float]]


def all_choices(cell: Cell, demos: Demonstrations) -> tuple[Outcomes, Outcomes]:
    """Return by choice α and its return, and what its opponent explains and misses."""
    chosen = select_alpha(cell.learner, demos, reward=cell.model, optimizer=paper_optimizer(cell.model))
    explained, missed = chosen.distance - chosen.distance[0], chosen.gap - chosen.gap[0]
    found, extra = {}, dict.fromkeys(CHOICES, (float("nan"), float("nan")))
    for place, (alpha, one) in enumerate(zip(chosen.candidates, chosen.fits, strict=True)):
        found[f"{alpha:g}"] = float(alpha), measure(cell, one.player)
        extra[f"{alpha:g}"] = float(explained[place]), float(missed[place])
    found[AUTO], extra[AUTO] = found[f"{chosen.alpha:g}"], extra[f"{chosen.alpha:g}"]
    rho = estimate_occupancy(demos, cell.learner).occupancy
    moves = [estimate_alpha(cell.learner, demos, actions=actions).alpha for actions in (False, True)]
    fits = fit_many(
        [cell.learner] * 2, [rho] * 2, moves, rewards=cell.model, optimizer=paper_optimizer(cell.model), throw=False
    )
    for name, alpha, one in zip((STATES, ACTIONS), moves, fits, strict=True):
        found[name] = alpha, measure(cell, one.player)
    found[TRANSFER] = 1.0, _transfer(cell, demos, rho)
    return found, extra


def _transfer(cell: Cell, demos: Demonstrations, rho: np.ndarray) -> float:
    """Return what the policy earns that is planned for the reward learned in the estimated world of the expert."""
    if cell.learner.kernel.leaky:
        return float("nan")  # A world with a leak is no posterior mean of recorded moves.
    world = estimate_dynamics(cell.learner, demos).world
    (found,) = fit_many([world], [rho], [1.0], rewards=cell.model, optimizer=paper_optimizer(cell.model), throw=False)
    try:
        return measure(cell, expert_policy(cell.learner, found.reward))
    except RobustIRLError:
        return float("nan")  # A reward that planning cannot handle gives no policy.


def measure(cell: Cell, policy: object) -> float:
    """Return the exact return of a policy in the learner's world."""
    if cell.total:
        return float(total_return(cell.learner_walks, policy, cell.reward))  # pyright: ignore[reportArgumentType]
    return float(discounted_return(cell.learner_walks, policy, cell.reward))  # pyright: ignore[reportArgumentType]


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
