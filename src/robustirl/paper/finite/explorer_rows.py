"""What the explorer shows of finite runs: their worlds, their numbers, and a certificate for each player.

Everything but the certificate stands in the store. The certificate is the exact range of the player's discounted return
over all kernels within d_dyn(T^L, T^E) of the learner's (`robustirl.theory.certify`).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from robustirl import envs
from robustirl.envs import GridWorld
from robustirl.envs.objectworld import ObjectWorld
from robustirl.explorer import Pool, RunView, register_view
from robustirl.mdp import dynamics_distance
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.finite.specs import Record, RunSpec
from robustirl.sweeps import RunResult, Store
from robustirl.theory import certify

COMPASS = {(-1, 0): "up", (0, 1): "right", (1, 0): "down", (0, -1): "left"}
SHOWN = (
    "total_return", "optimal_return", "expert_return", "discounted_return", "optimal_discounted_return",
    "occupancy_gap", "halfway_gap", "largest_reward", "sampled_mean", "sampled_deviation", "steps", "verdict",
)  # fmt: skip


class Finite:
    """Make the rows and worlds of finite runs; contexts are made once and shared."""

    def __init__(self, pool: Pool, *, certificates: bool):
        self._pool = pool
        self._certificates = certificates
        self._contexts: dict[RunSpec, ExperimentContext] = {}
        self._distances: dict[tuple[RunSpec, float, float], float] = {}
        self._indices: dict[tuple[str, int, str], int] = {}
        self.worlds: list[dict[str, Any]] = []

    def __call__(self, result: RunResult) -> dict[str, Any]:
        """Return one run: where it belongs, its numbers, and where its arrays are."""
        record, spec = result.record, result.record.spec
        pool, arrays = self._pool, result.arrays
        return {
            "environment": spec.environment,
            "kernel": spec.noise_model,
            "setting": setting(spec),
            "seed": f"{spec.seed}, draw {spec.draw}" if spec.demonstrations else f"{spec.seed}",
            "learner": spec.learner_noise,
            "expert": spec.expert_noise,
            "alpha": record.alpha_used,
            "estimated": bool(spec.auto),
            "world": self._world(spec),
            "run": spec.identity,
            **{name: getattr(record, name) for name in SHOWN},
            # Stores of 0.1 hold bounds for soft experts as well, which no theorem of the paper gives.
            "bound": record.bound if spec.optimal_expert else None,
            "bound_of": _bound_of(record),
            **self._certificate(spec, arrays),
            "reward": pool.numbers(arrays["reward"]),
            "player": pool.probabilities(arrays["player"]),
            "opponent": pool.probabilities(arrays["opponent"]),
            "expert_occupancy": pool.numbers(arrays["expert_occupancy"]),
            "player_occupancy": pool.numbers(arrays["player_occupancy"]),
            "occupancy": pool.numbers(arrays["occupancy"]),
        }

    def _certificate(self, spec: RunSpec, arrays: Mapping[str, np.ndarray]) -> dict[str, float | str | None]:
        """Return the range of the player's return, or why there is none."""
        place, context = self._context(spec)
        world = context.world(spec.learner_noise)
        reasons = {
            "the kernel leaks probability": world.kernel.leaky,
            "actions are paid for, not states": context.reward.ndim > 1,
            "none was asked for": not self._certificates,
        }
        for reason, holds in reasons.items():
            if holds:
                return {"distance": None, "worst": None, "best": None, "uncertified": reason}
        key = place, spec.learner_noise, spec.expert_noise
        if key not in self._distances:
            self._distances[key] = float(dynamics_distance(world, context.world(spec.expert_noise)))
        distance = self._distances[key]
        found = certify(world, arrays["player"], context.reward, radius=distance)
        return {"distance": distance, "worst": float(found.worst_return), "best": float(found.best_return)}

    def _context(self, spec: RunSpec) -> tuple[RunSpec, ExperimentContext]:
        place = RunSpec(spec.environment, spec.noise_model, 0.0, 0.0, 1.0, seed=spec.seed, start=spec.start)
        if place not in self._contexts:
            self._contexts[place] = ExperimentContext.of(place)
        return place, self._contexts[place]

    def _world(self, spec: RunSpec) -> int:
        key = spec.environment, spec.seed, spec.start
        if key not in self._indices:
            self._indices[key] = len(self.worlds)
            self.worlds.append(describe(self._context(spec)[1].environment, self._pool))
        return self._indices[key]


def describe(environment: envs.Environment, pool: Pool) -> dict[str, Any]:
    """Return an environment as a page needs it.

    Its size and shape, where actions lead, where walks end, its true reward.
    """
    world = environment.mdp(0.0)
    states, actions = world.num_states, world.num_actions
    shape = getattr(environment, "shape", None)
    directions = None if shape is None else _directions(world, shape)
    reward = np.asarray(environment.reward)
    names = [f"a{i + 1}" for i in range(actions)]
    if directions is not None:
        names = [COMPASS.get(step, name) for step, name in zip(directions, names, strict=True)]
    objects = environment.objects if isinstance(environment, ObjectWorld) else ()
    goals = environment.goals if isinstance(environment, GridWorld) else ()
    return {
        "states": states,
        "actions": names,
        "shape": None if directions is None else shape,
        "directions": directions,
        "ends": [row * shape[1] + column for row, column in goals] if shape and goals else _ends(world),
        "objects": [dataclasses.astuple(item) for item in objects],
        "discount": float(world.discount),
        # Where actions are paid for, a map can show one number a state: what the best paid one brings.
        "paid": "actions" if reward.ndim > 1 else "states",
        "true": pool.numbers(_best_paid(reward, np.asarray(world.mask)) if reward.ndim > 1 else reward),
        "largest_gap": 2 * float(np.abs(reward).max()) / (1 - float(world.discount)),
    }


def setting(spec: RunSpec) -> str:
    """Return what else decides a run, besides its place, its noises and α, in words.

    Example:
        >>> setting(RunSpec("gridworld-1", "published", 0.0, 0.1, 1.0, start="fixed", expert_alpha=0.9))
        'soft expert with α_E = 0.9, 200 steps, fixed start'
    """
    words = [f"{spec.expert} expert" + (f" with α_E = {spec.expert_alpha:g}" if spec.expert_alpha < 1 else "")]
    words.append(f"{spec.steps} steps")
    if spec.start != "uniform":
        words.append(f"{spec.start} start")
    if spec.train_noise is not None:
        words.append(f"reward learned at ε = {spec.train_noise:g}")
    if spec.demonstrations:
        words.append(f"{spec.demonstrations} demonstrations")
    if spec.auto:
        words.append(f"α from {spec.auto}")
    if spec.sampled:
        words.append(f"{spec.sampled} trajectories a start")
    return ", ".join(words)


def _bound_of(record: Record) -> str:
    """Name the theorem that a bound is of, or say why there is none."""
    if not record.spec.optimal_expert:
        return "none: the theorems are about optimal experts"
    if record.spec.train_noise is not None:
        return "reward transfer"
    return "Theorem 1" if record.alpha_used == 1 else "Theorem 3"


def _best_paid(reward: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.where(mask, reward, -np.inf).max(1)


def _directions(world: Any, shape: tuple[int, int]) -> list[tuple[int, int]] | None:
    """Return the step of every action on the grid as (down, right); None if one is no step."""
    cells = shape[0] * shape[1]
    states = np.arange(world.num_states)
    away = 1e6  # States beyond the grid are far from any cell, so that going there is no step.
    place = np.where(states < cells, np.stack([states // shape[1], states % shape[1]]), away)
    led = [np.asarray(world.kernel.expect(jnp.asarray(axis, dtype=float))) for axis in place]
    steps = np.stack([(led[i] - place[i][:, None])[:cells] for i in range(2)], -1)
    found = []
    for action in range(world.num_actions):
        seen = [tuple(np.rint(step).astype(int).tolist()) for step in steps[:, action]]
        moves = [step for step in seen if step in COMPASS]
        if not moves:
            return None
        found.append(max(set(moves), key=moves.count))
    return found


def _ends(world: Any) -> list[int]:
    """Return the absorbing states."""
    states = np.arange(world.num_states, dtype=float)
    mean = np.asarray(world.kernel.expect(jnp.asarray(states)))
    square = np.asarray(world.kernel.expect(jnp.asarray(states**2)))
    stays = np.isclose(mean, states[:, None]) & np.isclose(square, states[:, None] ** 2)
    mask = np.asarray(world.mask)
    return np.flatnonzero((stays | ~mask).all(1)).tolist()


def _make_rows(pool: Pool, certificates: bool, store: Store) -> Finite:
    del store
    return Finite(pool, certificates=certificates)


register_view(RunView("finite", _make_rows, lambda finite: {"worlds": finite.worlds}))  # pyright: ignore
