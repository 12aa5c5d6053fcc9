"""Train experts and imitators in Gymnasium's vector environments with every setting at its default.

    python benchmarks/vector_worlds.py --worlds Pendulum-v1 CartPole-v1 --seeds 3 --out vector-worlds.jsonl
    python benchmarks/vector_worlds.py --page vector-worlds.jsonl --out docs/data/vector-worlds.md

The expert is trained by `train_policy` and recorded for 16 episodes; `RobustImitation` sees states alone and learns in
the same environments, without a mismatch, so that what is missing is the fault of the defaults. In mountain cars, where
training finds no goal to learn from, the expert is a rule: push the way the car moves. Processor time is that of all
threads, with compilation.
"""

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robustirl.control import GaussianPolicy, measure_returns, train_policy
from robustirl.demonstrations import record
from robustirl.envs import from_gymnasium_vector
from robustirl.irl import ImitationConfig, RobustImitation

WORLDS = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1", "MountainCarContinuous-v0", "InvertedPendulum-v5")
RULES = {"MountainCarContinuous-v0": [[0.0], [100.0]]}
"""Weights of linear rules, by world: what is pushed for a place and a speed."""
ALPHA = 0.95
HEAD = """# Vector environments with the defaults

Written by `python benchmarks/vector_worlds.py --page`. `RobustImitation` at α = 0.95 has seen the states of 16 episodes
and learns in the expert's own environments; nothing was set. Returns are means of 16 episodes of mean actions, one
number a seed.

| environment | expert | it earns | imitators earn | judged | processor seconds, expert and imitator |
| --- | --- | --- | --- | --- | --- |
"""


def mean_return(world: Any, policy: GaussianPolicy) -> float:
    """Return what mean actions earn."""
    return float(np.asarray(measure_returns([world], [policy], episodes=16, keys=[jax.random.key(5)])).mean())


def rule_of(weights: Sequence[Sequence[float]]) -> GaussianPolicy:
    """Return a linear rule as a policy that hardly varies."""
    matrix = jnp.asarray(weights)
    return GaussianPolicy((matrix,), (), jnp.full(matrix.shape[1], -5.0))


def rows_of(name: str, seeds: Iterable[int], steps: int | None, imitation_steps: int | None) -> Iterable[dict]:
    """Yield an expert and an imitator for every seed."""
    world = from_gymnasium_vector(name)
    for seed in seeds:
        for kind in ("trained", "rule") if name in RULES else ("trained",):
            began, key = time.process_time(), jax.random.key(seed)
            if kind == "rule":
                expert = rule_of(RULES[name])
            else:
                given: dict[str, Any] = {} if steps is None else {"steps": steps}
                expert = train_policy(world, key=key, **given).policy
            spent, earned = time.process_time() - began, mean_return(world, expert)
            row = {"world": name, "expert": kind, "seed": seed, "expert_return": earned, "expert_cpu": spent}
            seen = record(world, expert, episodes=16, key=jax.random.key(seed + 100)).without_actions()
            began = time.process_time()
            config = None if imitation_steps is None else ImitationConfig(steps=imitation_steps)
            model = RobustImitation(ALPHA, config=config, seed=seed).fit(world, seen)
            row["imitator_cpu"] = time.process_time() - began
            yield {**row, "return": mean_return(world, model.policy_), "judged": str(model.judgment_).partition(":")[0]}


def page_of(lines: Sequence[dict[str, Any]]) -> str:
    """Return the table.

    Example:
        >>> row = {"world": "W", "expert": "trained", "seed": 0, "expert_return": -136.4, "expert_cpu": 20.6}
        >>> row |= {"return": -189.1, "imitator_cpu": 30.2, "judged": "trust"}
        >>> page_of([row]).splitlines()[-1]
        '| W | trained | -136 | -189 | trust | 21 and 30 |'
    """
    page = HEAD
    for world, kind in dict.fromkeys((line["world"], line["expert"]) for line in lines):
        own = [line for line in lines if (line["world"], line["expert"]) == (world, kind)]
        numbers = [", ".join(f"{line[name]:.0f}" for line in own) for name in ("expert_return", "return")]
        judged = ", ".join(line["judged"] for line in own)
        spent = [np.mean([line[name] for line in own]) for name in ("expert_cpu", "imitator_cpu")]
        page += f"| {world} | {kind} | {numbers[0]} | {numbers[1]} | {judged} | {spent[0]:.0f} and {spent[1]:.0f} |\n"
    return page


def main() -> None:
    """Run what is asked for and add its lines, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="of an expert; the default if omitted")
    parser.add_argument("--imitation-steps", type=int, help="of an imitator; the default if omitted")
    parser.add_argument("--page", type=Path, nargs="+", help="write the table of these lines")
    parser.add_argument("--out", type=Path, default=Path("vector-worlds.jsonl"))
    given = parser.parse_args()
    if given.page:
        lines = [json.loads(line) for file in given.page for line in file.read_text("utf-8").splitlines()]
        given.out.write_text(page_of(lines), "utf-8")
        return
    for name in given.worlds:
        for row in rows_of(name, range(given.seeds), given.steps, given.imitation_steps):
            line = json.dumps({key: round(v, 1) if isinstance(v, float) else v for key, v in row.items()})
            print(line, flush=True)
            with given.out.open("a", encoding="utf-8") as out:
                out.write(line + "\n")


if __name__ == "__main__":
    main()
