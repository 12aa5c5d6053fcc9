"""Which steps serve best below α = 1? Gaps and regrets of the default, Newton steps, and Adam with and without decay.

python benchmarks/settling.py

Six worlds, two noises of the expert, three α, exact occupancies: 60 cells. Regret is the share of the optimal return
that the learned player gives up in the learner's world without noise. The best iterate is kept throughout.
"""

import collections
import time

import numpy as np
import optax

from robustirl import envs, irl, planning

GRIDS = ("gridworld-1", "gridworld-2", "gridworld-3", "gridworld-4")
OTHERS = ("frozen-lake-8x8", "cliff-walking")
METHODS = {
    "NEWTON": {"optimizer": irl.NEWTON},
    "SETTLING_ADAM": {"optimizer": irl.SETTLING_ADAM},
    "ADAM (the paper's)": {"optimizer": irl.ADAM},
    "decay over 400 steps": {"optimizer": optax.adam(optax.cosine_decay_schedule(0.5, 400, alpha=0.02)), "steps": 400},
}


def main() -> None:
    """Print a row a method."""
    found = collections.defaultdict(list)
    for name in (*GRIDS, *OTHERS):
        environment = envs.make(name)
        models = ("uniform-state", "uniform-action") if name in GRIDS else environment.noise_models[:1]
        for model, noise in ((model, noise) for model in models for noise in (0.1, 0.2)):
            expert_world, world = environment.mdp(noise, model), environment.mdp(0.0, model)
            expert = planning.expert_policy(expert_world, environment.reward, temperature=1.0 if name in GRIDS else 0.0)
            rho = planning.state_occupancy(expert_world, expert)
            best = planning.expert_policy(world, environment.reward, temperature=0.0)
            optimum = float(planning.total_return(world, best, environment.reward))
            for alpha in (0.95, 0.9, 0.8):
                for method, options in METHODS.items():
                    begin = time.perf_counter()
                    fit = irl.fit(world, rho, alpha=alpha, throw=False, **options)
                    seconds = time.perf_counter() - begin
                    reached = float(planning.total_return(world, fit.player, environment.reward))
                    gap = float(fit.verdict.occupancy_gap)
                    found[method].append((gap, (optimum - reached) / abs(optimum), seconds))
    print("| method | mean gap | median regret | mean regret | median seconds |\n" + "|" + " --- |" * 5)
    for method, rows in found.items():
        gaps, regrets, seconds = np.array(rows).T
        print(
            f"| {method} | {gaps.mean():.4f} | {np.median(regrets):.3f} | {regrets.mean():.3f} |"
            f" {np.median(seconds):.2f} |"
        )


if __name__ == "__main__":
    main()
