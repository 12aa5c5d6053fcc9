# pyright: reportMissingImports=false
"""Compare the worlds of the study of physics with MuJoCo's own engine and with Gymnasium's worlds.

    python benchmarks/contacts.py solver --worlds hopper walker-2d --out contacts.jsonl
    python benchmarks/contacts.py gymnasium --out contacts.jsonl
    python benchmarks/contacts.py experts docs/data/physics-experts-hopper.npz --out contacts.jsonl
    python benchmarks/contacts.py page contacts.jsonl --out docs/data/contacts.md

`solver` says what is left of the change of speeds after so many steps of MJX's contact solver, beside MuJoCo's engine
with a converged solver, on random walks. `gymnasium` follows Gymnasium's worlds step by step: what is seen, what is
paid, whether an episode ends, and where MJX goes from the same state. `experts` measures mean actions of the experts of
a packed store in MuJoCo's engine and in Gymnasium's worlds. Every part adds lines to a file; `page` writes the tables.

It needs mujoco and mujoco-mjx, and for Gymnasium's worlds what Gymnasium draws with (glfw and imageio).
"""

import argparse
import copy
import importlib
import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from contacts_page import page_of
from robustirl.envs import physics
from robustirl.envs.physics.mujoco import MujocoEquations
from robustirl.envs.physics.mujoco_models import FIELDS

WORLDS = ("inverted-double-pendulum", "hopper", "half-cheetah", "walker-2d")
NAMES = {
    "inverted-pendulum": "InvertedPendulum-v5",
    "inverted-double-pendulum": "InvertedDoublePendulum-v5",
    "hopper": "Hopper-v5",
    "half-cheetah": "HalfCheetah-v5",
    "walker-2d": "Walker2d-v5",
}
CONVERGED = (100, 50)
HELD = 4
"""Steps of the world for which a random walk holds an action."""


def walks(equations: MujocoEquations, model: Any, episodes: int, steps: int) -> tuple[np.ndarray, ...]:
    """Return states with their warm starts, actions, and positions and speeds after them, of MuJoCo's own engine.

    Half of the walks act with a third of the force, so that some stand for a while.
    """
    mujoco: Any = importlib.import_module("mujoco")  # Its own types lack what is made when it is imported.

    rng, data, rows = np.random.default_rng(0), mujoco.MjData(model), []
    for episode in range(episodes):
        mujoco.mj_resetData(model, data)
        data.qpos += rng.uniform(-0.1, 0.1, model.nq)
        data.qvel += rng.uniform(-0.5, 0.5, model.nv)
        for step in range(steps):
            if step % HELD == 0:
                data.ctrl[:] = rng.uniform(-1, 1, model.nu) * (0.3 if episode % 2 else 1.0)
            before = np.concatenate([data.qpos, data.qvel, data.qacc_warmstart])
            for _ in range(equations.frame_skip):
                mujoco.mj_step(model, data)
            rows.append((before, data.ctrl.copy(), np.concatenate([data.qpos, data.qvel])))
    return tuple(np.array(part) for part in zip(*rows, strict=True))


def moves(equations: MujocoEquations, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return positions and speeds after one step of MJX from each state, in single precision."""
    parameters = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), equations.check({}))
    step = jax.jit(jax.vmap(lambda state, action: equations.transition(state, action, None, parameters)))
    after = step(jnp.asarray(states, jnp.float32), jnp.asarray(actions, jnp.float32))
    return np.asarray(after)[:, : equations.model.nq + equations.model.nv]


def solver_rows(name: str, counts: Iterable[int], episodes: int, steps: int) -> Iterable[dict[str, Any]]:
    """Yield, for every number of steps of the solver, its error as a share of how much speeds change."""
    reference = physics.MODELS[name](iterations=CONVERGED, integrator="euler")
    states, actions, after = walks(reference, reference.model, episodes, steps)
    speeds = slice(reference.model.nq, None)
    change = np.abs(after[:, speeds] - states[:, reference.model.nq : after.shape[1]]).mean(1)
    for count in counts:
        equations = physics.MODELS[name](iterations=(count, count + 3), integrator="euler", engine="mjx")
        error = np.abs(moves(equations, states, actions)[:, speeds] - after[:, speeds]).mean(1)
        row = {"part": "solver", "world": name, "iterations": count, "steps": len(states)}
        yield {**row, "mean": error.mean() / change.mean(), "worst": np.quantile(error, 0.99) / change.mean()}


def judge(equations: MujocoEquations) -> Callable[..., tuple[np.ndarray, float, bool]]:
    """Return a function of positions and speeds before and after a step into what is seen, paid and over."""

    def look(before: Any, action: Any, after: Any) -> Any:
        seen = equations.observation(after, None, {})
        paid = equations.reward(before, action, after, None, {})
        return seen, paid, equations.terminal(after, None, {})

    compiled = jax.jit(look)

    def compute(before: np.ndarray, action: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, float, bool]:
        seen, paid, over = compiled(before.astype(np.float32), action.astype(np.float32), after.astype(np.float32))
        return np.asarray(seen), float(paid), bool(over)

    return compute


def gymnasium_row(name: str, steps: int, moved: bool) -> dict[str, Any]:
    """Follow Gymnasium's world under random actions; return the largest differences."""
    import gymnasium

    equations = physics.MODELS[name](engine="mjx")
    look, env = judge(equations), gymnasium.make(NAMES[name])
    inner: Any = env.unwrapped
    rng, rows, paid, seen, ends = np.random.default_rng(1), [], 0.0, 0.0, 0
    env.reset(seed=0)
    for _ in range(steps):
        action = rng.uniform(env.action_space.low, env.action_space.high)  # pyright: ignore
        before = np.concatenate([inner.data.qpos, inner.data.qvel, inner.data.qacc_warmstart])
        observation, reward, terminated, truncated, _ = env.step(action)
        after = np.concatenate([inner.data.qpos, inner.data.qvel, inner.data.qacc_warmstart])
        own_seen, own_paid, own_end = look(before, action, after)
        seen = max(seen, float(np.abs(own_seen - observation[: len(own_seen)]).max()))
        paid = max(paid, abs(own_paid - float(reward)))
        if own_end != terminated:
            raise RuntimeError(f"{name} ends an episode elsewhere than Gymnasium: {after}")
        rows.append((before, action, after[: inner.model.nq + inner.model.nv]))
        ends += terminated
        if terminated or truncated:
            env.reset()
    found = {"part": "gymnasium", "world": name, "steps": steps, "ends": ends, "seen": seen, "paid": paid}
    if moved:
        states, actions, after = (np.array(part) for part in zip(*rows, strict=True))
        speeds = slice(inner.model.nq, None)
        change = np.abs(after[:, speeds] - states[:, inner.model.nq : after.shape[1]]).mean()
        found["moved"] = float(np.abs(moves(equations, states, actions)[:, speeds] - after[:, speeds]).mean() / change)
    return found


def engine_return(equations: MujocoEquations, model: Any, act: Callable[..., Any], episodes: int) -> float:
    """Return what mean actions of a policy earn in MuJoCo's own engine."""
    mujoco: Any = importlib.import_module("mujoco")  # Its own types lack what is made when it is imported.

    look, totals = judge(equations), []
    for seed in range(episodes):
        rng, data, total = np.random.default_rng(seed), mujoco.MjData(model), 0.0
        data.qpos += rng.uniform(-equations.noise, equations.noise, model.nq)
        data.qvel += rng.uniform(-equations.noise, equations.noise, model.nv)
        now = np.concatenate([data.qpos, data.qvel, data.qacc_warmstart])
        seen, _, _ = look(now, np.zeros(model.nu), now)
        for _ in range(equations.horizon):
            data.ctrl[:] = np.clip(act(seen), *equations.action_space)
            for _ in range(equations.frame_skip):
                mujoco.mj_step(model, data)
            after = np.concatenate([data.qpos, data.qvel, data.qacc_warmstart])
            seen, paid, over = look(now, data.ctrl.copy(), after)
            total, now = total + paid, after
            if over:
                break
        totals.append(total)
    return float(np.mean(totals))


def gymnasium_return(name: str, act: Callable[..., Any], episodes: int) -> float:
    """Return what mean actions of a policy earn in Gymnasium's world."""
    import gymnasium

    env, totals = gymnasium.make(NAMES[name]), []
    space: Any = env.action_space
    for seed in range(episodes):
        (seen, _), over, total = env.reset(seed=seed), False, 0.0
        while not over:
            seen, paid, terminated, truncated, _ = env.step(np.clip(act(seen), space.low, space.high))
            total, over = total + float(paid), terminated or truncated
        totals.append(total)
    return float(np.mean(totals))


def expert_rows(file: Path, parameter: str, episodes: int) -> Iterable[dict[str, Any]]:
    """Yield what the best expert of every level earns, and the usual one carried over."""
    mujoco: Any = importlib.import_module("mujoco")  # Its own types lack what is made when it is imported.

    from robustirl.paper.studies import physics as _  # noqa: F401  It registers the kinds of runs.
    from robustirl.sweeps import unpack_store

    best: dict[float, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for result in unpack_store(file, Path(folder) / "store").results("physics-expert"):
            spec, earned = result.record.spec, result.record.mean_return
            level = best.get(spec.factor)
            if spec.parameter in ("", parameter) and (level is None or earned > level.record.mean_return):
                best[spec.factor] = result
    name = best[1.0].record.spec.world
    equations = physics.MODELS[name](iterations=CONVERGED, integrator="euler")
    for factor in sorted(best):
        model = copy.deepcopy(equations.model)
        for field, array in equations.check({parameter: factor})["model"].items():
            if field in FIELDS:
                getattr(model, field)[:] = array
        mujoco.mj_setConst(model, mujoco.MjData(model))
        own, usual = actor(best[factor].arrays), actor(best[1.0].arrays)
        row = {"part": "experts", "world": name, "parameter": parameter, "factor": factor}
        row["study"] = best[factor].record.mean_return
        row["engine"] = engine_return(equations, model, own, episodes)
        if factor == 1:
            row["gymnasium"] = gymnasium_return(name, own, episodes)
        else:
            row["carried"] = engine_return(equations, model, usual, episodes)
        yield row


def actor(arrays: dict[str, np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return the mean action of a stored policy, in NumPy."""
    weights, biases = ([arrays[n] for n in sorted(arrays) if n.startswith(kind)] for kind in ("weights_", "biases_"))

    def act(seen: np.ndarray) -> np.ndarray:
        hidden = seen
        for weight, bias in zip(weights[:-1], biases, strict=True):
            hidden = np.tanh(hidden @ weight + bias)
        return hidden @ weights[-1]

    return act


def main() -> None:
    """Measure one part and add its lines, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("solver", "gymnasium", "experts", "page"))
    parser.add_argument("files", type=Path, nargs="*", help="packed stores for experts, files of lines for the page")
    parser.add_argument("--worlds", nargs="+", choices=tuple(NAMES))
    parser.add_argument("--iterations", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--parameter", default="mass")
    parser.add_argument("--rules-only", action="store_true", help="do not compile MJX's steps of Gymnasium's worlds")
    parser.add_argument("--out", type=Path, default=Path("contacts.jsonl"))
    given = parser.parse_args()
    if given.part == "page":
        lines = [json.loads(line) for file in given.files for line in file.read_text("utf-8").splitlines()]
        given.out.write_text(page_of(lines), "utf-8")
        return
    names = given.worlds or (WORLDS if given.part == "solver" else tuple(NAMES))
    found: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
        "solver": lambda: (r for n in names for r in solver_rows(n, given.iterations, given.episodes, given.steps)),
        "gymnasium": lambda: (gymnasium_row(name, given.steps, not given.rules_only) for name in names),
        "experts": lambda: (row for file in given.files for row in expert_rows(file, given.parameter, given.episodes)),
    }
    for row in found[given.part]():
        line = json.dumps({key: float(f"{v:.4g}") if isinstance(v, float) else v for key, v in row.items()})
        print(line, flush=True)
        with given.out.open("a", encoding="utf-8") as out:
            out.write(line + "\n")


if __name__ == "__main__":
    main()
