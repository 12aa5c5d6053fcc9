"""Compare relative-entropy IRL with robust imitation in the same worlds: what they earn, and processor time.

    python benchmarks/imitation.py --worlds cart-pole pendulum cart-pole-swing-up --seeds 3

The expert is trained in the usual world; the learner's mass is a multiple of it. Relative-entropy IRL is given the
observations, their squares and a constant as features, and a linear policy of them; imitation the observations alone.
Returns are measured in the learner's world: 0 is a policy that does nothing, 1 the expert of that world.
"""

import argparse
import dataclasses
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from robustirl.control import measure_returns, train_policy
from robustirl.demonstrations import record
from robustirl.envs import physics
from robustirl.irl import ImitationConfig, RelativeEntropyIRL, RobustImitation
from robustirl.irl.relative_entropy.config import GAME, RelativeEntropyConfig


def squares(seen: jax.Array) -> jax.Array:
    """Return observations, their squares, and a constant."""
    return jnp.concatenate([seen, seen**2, jnp.ones(1, dtype=seen.dtype)])


def mean_return(world: physics.PhysicsWorld, policy: object) -> float:
    """Return what mean actions earn."""
    keys = [jax.random.key(5)]
    return float(np.asarray(measure_returns([world], [policy], episodes=16, keys=keys)).mean())  # pyright: ignore


def rows_of(name: str, factor: float, seeds: int, alphas: list[float], steps: int) -> list[dict]:
    """Return a row for every algorithm, α and seed."""
    usual = physics.make(name)
    mass = factor * float(usual.parameters["mass"])
    away, featured = physics.make(name, mass=mass), physics.make(name, mass=mass, features=squares)
    expert, local = (train_policy(w, steps=600_000, key=jax.random.key(0)).policy for w in (usual, away))
    seen = record(usual, expert, episodes=16, key=jax.random.key(1))
    means = np.mean([np.asarray(jax.vmap(squares)(jnp.asarray(one))).mean(0) for one in seen.observations], axis=0)
    still = jax.tree.map(lambda leaf: leaf * 0, expert)
    low, high = mean_return(away, still), mean_return(away, local)
    carried = (mean_return(away, expert) - low) / (high - low)
    game = dataclasses.replace(GAME, horizon=min(usual.horizon, 250))
    found = [{"world": name, "algorithm": "carried over", "alpha": 1.0, "seed": 0, "return": carried, "cpu": 0.0}]
    for alpha in alphas:
        for seed in range(seeds):
            for algorithm in ("relative entropy", "imitation"):
                began = time.process_time()
                if algorithm == "imitation":
                    config = ImitationConfig(steps=steps)
                    model = RobustImitation(alpha, config=config, seed=seed).fit(away, seen.without_actions())
                    earned = mean_return(away, model.policy_)
                else:
                    config = RelativeEntropyConfig(game=game)
                    # Numbers that are not finite end a fit; the last valid round is measured then.
                    model = RelativeEntropyIRL(alpha, config=config, seed=seed, throw=False)
                    model.fit(featured, means)
                    earned = mean_return(featured, model.policy_)
                row = {"world": name, "algorithm": algorithm, "alpha": alpha, "seed": seed}
                found.append({**row, "return": (earned - low) / (high - low), "cpu": time.process_time() - began})
                print(json.dumps(found[-1]), flush=True)
    return found


def main() -> None:
    """Run the comparison, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", default=["cart-pole", "pendulum", "cart-pole-swing-up"])
    parser.add_argument("--factor", type=float, default=2.0)
    parser.add_argument("--alphas", type=float, nargs="+", default=[1.0, 0.95])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows: list[dict] = []
    for name in given.worlds:
        rows += rows_of(name, given.factor, given.seeds, given.alphas, given.steps)
        if given.out is not None:
            given.out.write_text("\n".join(map(json.dumps, rows)) + "\n")


if __name__ == "__main__":
    main()
