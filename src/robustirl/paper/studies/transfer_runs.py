r"""The runs of the study of transfer: a method learns from one draw of demonstrations, and is judged in changed worlds.

The regret of the optimal policy π for a learned reward, by the true one, is a share of what separates the best policy
from a plain one: a random one, or for buses one that never replaces an engine.

    regret = (V* - V^π) / (V* - V^plain).

The spec stands in the file that registers the kind, so that a worker process which reads a spec knows its kind.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.paper.studies.transfer_families import Family, make_family, random_policy
from robustirl.paper.studies.transfer_methods import METHODS, Method, TransferTask, load_methods
from robustirl.planning import discounted_return, expert_policy
from robustirl.sweeps import Kind, RunResult, Spec, register

MOST_CHANGES = 1_000
"""How many changed worlds of a family are planned in after a method has learned once."""


@dataclasses.dataclass(frozen=True)
class TransferSpec(Spec):
    """One reward in one changed world.

    Attributes:
        family: The family of worlds.
        episodes: How many episodes each expert records.
        draw: Which draw of them.
        method: What learns, a name of `METHODS`.
        change: Which of the family's changed worlds, counted from 0.
    """

    family: str
    episodes: int
    draw: int
    method: str
    change: int


@dataclasses.dataclass(frozen=True)
class TransferRecord:
    """What a reward lost in a changed world.

    Attributes:
        spec: The run.
        kind: What was changed.
        strength: By how much.
        regret: What the optimal policy for the learned reward loses.
        seconds: Time of the run, its share of the batch.
    """

    spec: TransferSpec
    kind: str
    strength: float
    regret: float
    seconds: float


def specs_of(families: Mapping[str, Family], episodes: int, draws: int) -> tuple[TransferSpec, ...]:
    """Return the runs: every method on every draw, in all changed worlds of every family.

    The first draw of all families comes first, so that a study that was stopped early has seen all of them.

    Example:
        >>> len(specs_of({"frozen-lake": make_family("frozen-lake")}, 200, 2)) // len(METHODS)
        10
    """
    return tuple(
        TransferSpec(name, episodes, draw, method, change)
        for draw in range(draws)
        for name, family in families.items()
        for method in METHODS
        for change in range(len(family.changes))
    )


class TransferContext:
    """Learn by one method from one draw at a time, and plan in the changed worlds of a family."""

    def __init__(self, family: Family):
        self._family = family
        self._drawn: tuple[tuple[int, int], TransferTask] | None = None
        load_methods()  # A worker process has not done so.

    def results(self, specs: Sequence[TransferSpec], size: int) -> list[RunResult]:  # noqa: ARG002
        """Learn once, and measure the regret in every world that the runs name."""
        spec = specs[0]
        task = self._task(spec.episodes, spec.draw)
        learned = as_learned(spec.method, _method(spec.method)(task), task.world)
        found = []
        for one in specs:
            change = self._family.changes[one.change]
            lost = regret(change.world, self._family.reward, learned, self._family.baseline)
            found.append(RunResult(TransferRecord(one, change.kind, change.strength, lost, 0.0), {}))
        return found

    def _task(self, episodes: int, draw: int) -> TransferTask:
        """Return a draw of the demonstrations; the last one is kept, for the next method."""
        if self._drawn is None or self._drawn[0] != (episodes, draw):
            self._drawn = (episodes, draw), self._family.task(episodes, draw)
        return self._drawn[1]


def _method(name: str) -> Method:
    if name not in METHODS:
        raise InvalidInputError(
            f"there is no method {name!r} in this process; name its module under the entry points"
            " robustirl.transfer_methods, or pass --workers 1."
        )
    return METHODS[name]


def regret(
    world: MDP, reward: np.ndarray, learned: np.ndarray, plain: Callable[[MDP], np.ndarray] = random_policy
) -> float:
    """Return the share of the possible gain that the optimal policy for a learned reward misses.

    The gain is over a plain policy.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.5)
        >>> truth = np.array([[0.0, 1.0]])
        >>> regret(world, truth, truth), regret(world, truth, -truth)
        (0.0, 2.0)
    """
    policies = (
        expert_policy(world, reward, temperature=0),
        expert_policy(world, learned, temperature=0),
        plain(world),
    )
    best, own, least = (float(discounted_return(world, policy, reward)) for policy in policies)
    # A learned reward may tie with the truth, where rounding decides the sign.
    return max(best - own, 0.0) / (best - least) if best > least else 0.0


def as_learned(name: str, reward: Any, world: MDP) -> Float[np.ndarray, " S"] | Float[np.ndarray, "S A"]:
    """Return what a method gave as a reward, or refuse it by the method's name.

    Example:
        >>> as_learned("mine", [1.0, 2.0], MDP([[[1.0], [1.0]]], discount=0.5))
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the method 'mine' returned a reward of shape (2,), but finite numbers of
            shape (1,) or (1, 2) are needed.
    """
    learned = np.asarray(reward)
    shapes = ((world.num_states,), (world.num_states, world.num_actions))
    if learned.shape not in shapes or learned.dtype.kind not in "iuf" or not np.isfinite(learned).all():
        shown = (
            f"of shape {learned.shape}" if learned.shape not in shapes else "with entries that are no finite numbers"
        )
        raise InvalidInputError(
            f"the method {name!r} returned a reward {shown}, but finite numbers of shape {shapes[0]} or {shapes[1]} are"
            " needed."
        )
    return learned.astype(np.float64)


TRANSFER = register(
    Kind(
        "transfer",
        TransferSpec,
        TransferRecord,
        table="results",
        activity="regrets",
        cpu_batch=MOST_CHANGES,  # All changed worlds share what was learned.
        gpu_batch=MOST_CHANGES,
        min_batches_for_pool=8,
        warm_up=False,
        batch_key=lambda spec: (spec.family, spec.episodes, spec.draw, spec.method),
        program_key=lambda spec: (spec.family, spec.method),
        context_key=lambda spec: spec.family,
        make_context=lambda spec, _: TransferContext(make_family(spec.family)),
    )
)
