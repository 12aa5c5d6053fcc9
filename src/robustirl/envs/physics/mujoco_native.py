r"""MuJoCo's own engine as a function of arrays: many bodies at once, each step in as many threads as there are cores.

Compiled programs call it with the states of all environments of all fits at once. On a CPU it is several times as fast
as MJX, whose programs are made for accelerators, and its contact solver runs until it has converged. Steps do not
depend on the number of threads or on the other environments.
"""

import collections
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl.envs.physics.mujoco_models import quiet, require_mujoco
from robustirl.errors import InvalidInputError

MODELS_KEPT = 512
"""Changed models that an engine keeps; a model takes about a megabyte."""
HUGE = 1e10
"""Numbers of this size or larger are MuJoCo's own sign of an unstable simulation."""

NO_RESET = 1 << 16
"""MuJoCo's flag that leaves an unstable simulation as it is; else it would begin anew within an episode."""


def count_threads() -> int:
    """Return how many threads step bodies: one a core, or as many as XLA was given by `NPROC`."""
    given = os.environ.get("NPROC", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class NativeEngine:
    """Step copies of a model whose factors may differ.

    Args:
        name: What errors call the world.
        model: The model that factors are of.
        frame_skip: Steps of the simulation within a step of the world.
        change: Return a model with these factors.
    """

    def __init__(self, name: str, model: Any, frame_skip: int, change: Callable[[Mapping[str, float]], Any]):
        mujoco = require_mujoco()
        self._size: int = 1 + model.nq + model.nv + model.na
        full = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        if full != self._size:
            raise InvalidInputError(
                f"{name} has a state beyond positions, velocities and activations ({full - self._size} more numbers, of"
                " plugins or delays); choose a model without them."
            )
        self._model, self._frame_skip, self._change = model, frame_skip, change
        self._forget()

    def _forget(self) -> None:
        """Begin without threads and changed models; both are made when they are needed."""
        self._models: collections.OrderedDict[tuple[Any, ...], Any] = collections.OrderedDict()
        self._last: tuple[object, list[Any]] = (None, [])
        self._pool: tuple[Any, list[Any]] | None = None
        self._named: dict[tuple[str, ...], Callable[..., np.ndarray]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: threads and changed models stay in this process."""
        kept = ("_size", "_model", "_frame_skip", "_change")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def advance_with(self, names: tuple[str, ...]) -> Callable[..., np.ndarray]:
        """Return `advance` with these names, the same object each time.

        JAX compiles a program for every object.
        """
        return self._named.setdefault(names, functools.partial(self.advance, names))

    def advance(
        self,
        names: Sequence[str],
        states: Float[np.ndarray, "*n x"],
        actions: Float[np.ndarray, "*n a"],
        factors: Float[np.ndarray, "*n f"],
    ) -> Float[np.ndarray, "*n x"]:
        """Return the states after a step of each; those of an unstable simulation are not a number.

        Args:
            names: What the factors are of.
            states: Time apart, MuJoCo's full state, followed by numbers that are returned as zeros.
            actions: What the actuators are told.
            factors: Of each environment.
        """
        states, shape = np.asarray(states), np.shape(states)
        rows = states.reshape(-1, shape[-1])
        begun = np.zeros((len(rows), self._size))
        begun[:, 1:] = rows[:, : self._size - 1]
        actions = np.asarray(actions, dtype=float).reshape(len(rows), 1, -1)
        control = np.repeat(actions, self._frame_skip, axis=1)
        factors = np.ascontiguousarray(np.asarray(factors).reshape(len(rows), -1))
        with quiet():
            pool, data = self._threads()
            after = pool.rollout(self._models_for(tuple(names), factors), data, begun, control)[0][:, -1, 1:]
        ended = np.zeros(rows.shape, states.dtype)
        ended[:, : self._size - 1] = np.where(np.abs(after) < HUGE, after, np.nan)
        return ended.reshape(shape)

    def _threads(self) -> tuple[Any, list[Any]]:
        """Return the pool of threads, and what each of them works on."""
        if self._pool is None:
            from mujoco import rollout

            count = count_threads()
            # A pool without threads works in the calling one.
            pool = rollout.Rollout(nthread=count if count > 1 else 0)
            self._pool = pool, [require_mujoco().MjData(self._model) for _ in range(count)]
        return self._pool

    def _models_for(self, names: tuple[str, ...], factors: Float[np.ndarray, "n f"]) -> list[Any]:
        """Return the model of every environment; factors seldom change from one step to the next."""
        asked = names, factors.shape, factors.tobytes()
        if asked != self._last[0]:
            self._last = None, []  # The models of a large batch should not be there twice.
            self._last = asked, [self._find(names, row) for row in factors]
        return self._last[1]

    def _find(self, names: tuple[str, ...], row: Float[np.ndarray, " f"]) -> Any:
        key = names, row.tobytes()
        if key not in self._models:
            model = self._change(dict(zip(names, row.tolist(), strict=True)))
            model.opt.disableflags |= NO_RESET
            self._models[key] = model
        self._models.move_to_end(key)
        while len(self._models) > MODELS_KEPT:
            self._models.popitem(last=False)
        return self._models[key]
