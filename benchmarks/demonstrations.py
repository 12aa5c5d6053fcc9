"""Seconds from recorded trajectories to a robust policy: some 10^5 transitions on 2,500 states, α from the data.

python benchmarks/demonstrations.py
"""

import json
import time

import jax

import robustirl
from robustirl import envs
from robustirl.demonstrations import estimate_alpha, estimate_occupancy, sample_demonstrations
from robustirl.envs.gridworld import danger_grid
from robustirl.irl import RobustIRL
from robustirl.planning import expert_policy


def main() -> None:
    """Measure under both noise models, the first fit with its compilation and one after it."""
    robustirl.enable_x64()
    inner = slice(1, -1)
    env = envs.GridWorld("large", rewards=danger_grid(50, (inner, inner)))
    for model in ("uniform-state", "uniform-action"):
        expert, learner = env.mdp(0.1, model), env.mdp(0.0, model)
        policy = expert_policy(expert, env.reward)
        demos = sample_demonstrations(expert, policy, episodes=2000, horizon=100, key=jax.random.key(0))
        row: dict[str, object] = {"noise_model": model, "demonstrations": demos.describe()}
        row["occupancy"] = clock(lambda d=demos: estimate_occupancy(d, num_states=2500, discount=0.99))
        row["alpha"] = clock(lambda d=demos, w=learner: estimate_alpha(w, d))
        for name in ("first_fit", "second_fit"):
            row[name] = clock(lambda d=demos, w=learner: RobustIRL(alpha="auto").fit(w, d))
        print(json.dumps(row), flush=True)


def clock(work) -> float:
    """Return seconds of one call."""
    begin = time.perf_counter()
    work()
    return round(time.perf_counter() - begin, 2)


if __name__ == "__main__":
    main()
