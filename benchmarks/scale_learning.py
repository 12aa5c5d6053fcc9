"""The learning that `scale.py` times: large worlds, and the many small runs of the paper's figures."""

import math
from pathlib import Path
from typing import Any

import numpy as np

import measuring
from robustirl import envs
from scale_world import TOLERANCE, emit, grid, say


def learn(common: dict[str, Any], job: dict[str, Any], world, reward) -> None:
    """Measure robust IRL, from a soft expert in the noisy world to a learner in one without noise."""
    from robustirl.irl import fit
    from robustirl.mdp import MarkovGame
    from robustirl.planning import solve, state_occupancy

    # By the very program that was timed before: another one would have to be compiled.
    rho = state_occupancy(world, solve(MarkovGame(world, 1.0), reward, tolerance=TOLERANCE).player)
    learner, _ = grid(job["states"], 0.0, job["noise_model"])
    steps = job["irl_steps"]
    row, result = measuring.timed(
        lambda: fit(learner, rho, alpha=0.9, steps=steps, planner_tolerance=TOLERANCE, throw=False),
        repeats=3,
        seconds=1.0,
    )
    verdict = result.verdict
    emit(
        "irl",
        **common,
        alpha=0.9,
        discount=0.99,
        steps=int(verdict.steps),
        asked=steps,
        status=str(verdict.status),
        gap=float(verdict.occupancy_gap),
        first_gap=float(result.history.occupancy_gap[0]),
        seconds_a_step=row["seconds"] / max(int(verdict.steps), 1),
        **row,
    )
    say(f"  IRL, {int(verdict.steps)} steps: {row['seconds']:.3g} s")
    if job.get("picture"):
        save_picture(Path(job["picture"]), result, reward)


def save_picture(path: Path, result, true_reward: np.ndarray, most: int = 250) -> None:
    """Return the learned reward, the player's direction and the occupancies, on at most so many cells a side."""
    side = math.isqrt(len(true_reward))
    share = max(side // most, 1)
    cells = side // share * share

    def means(values) -> np.ndarray:
        square = np.asarray(values, np.float64).reshape(side, side)[:cells, :cells]
        return square.reshape(cells // share, share, cells // share, share).mean((1, 3)).astype(np.float32)

    direction = np.asarray(result.player).argmax(1).astype(np.uint8).reshape(side, side)
    half = share // 2
    np.savez_compressed(
        path,
        side=side,
        reward=means(result.reward),
        true_reward=means(true_reward),
        occupancy=means(result.occupancy),
        expert_occupancy=means(result.expert_occupancy),
        direction=direction[half:cells:share, half:cells:share],
    )


def batch_job(job: dict[str, Any]) -> None:
    """Return the runs of the paper's figures, many at a time.

    One environment, then all six, like-shaped ones together.
    """
    from robustirl.irl import fit_batch
    from robustirl.paper.finite import grid_of_specs
    from robustirl.paper.finite.context import ExperimentContext
    from robustirl.paper.finite.specs import PAPER_ENVIRONMENTS

    groups: dict[tuple, list[tuple]] = {}
    for name in PAPER_ENVIRONMENTS[: job["environments"]]:
        lab = ExperimentContext(envs.make(name), job["noise_model"])
        model = lab.reward_model()
        key = lab.world(0.0).num_states, type(model).__name__, np.shape(getattr(model, "features", ()))
        groups.setdefault(key, []).extend(
            (lab.world(spec.learner_noise), lab.expert_occupancy(spec.expert_noise), spec.alpha, model)
            for spec in grid_of_specs(name, job["noise_model"], steps=job["steps"])
        )
        say(f"  {name}: {len(groups[key])} runs")

    def learn(problems: list[tuple], steps: int = job["steps"]):
        worlds, occupancies, alphas, models = zip(*problems, strict=True)
        return fit_batch(worlds, occupancies, alphas, rewards=models, steps=steps)

    figure = next(iter(groups.values()))[:75]
    for runs, work in ((75, [figure]), (75 * job["environments"], list(groups.values()))):
        row, fits = measuring.timed(lambda work=work: [learn(g) for g in work], repeats=4, seconds=job["patience"])
        failed = sum(int((~np.asarray(fit.verdict.valid)).sum()) for fit in fits)
        emit(
            "batch",
            noise_model=job["noise_model"],
            runs=runs,
            calls=len(work),
            steps=job["steps"],
            failed=failed,
            **row,
        )
        say(f"  {runs} runs: {row['seconds']:.3g} s, {failed} failed")
    # Where the time goes: the first steps move the reward the most, and are the hardest to plan for.
    early = job["steps"] // 4
    row, _ = measuring.timed(lambda: learn(figure, early), repeats=4, seconds=job["patience"])
    emit("early", noise_model=job["noise_model"], runs=len(figure), steps=early, **row)
    say(f"  the first {early} steps of {len(figure)} runs: {row['seconds']:.3g} s")
