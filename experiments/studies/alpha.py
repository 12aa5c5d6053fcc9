"""Ways to choose α against the best α in hindsight, over worlds, mismatches, amounts of data and draws.

On each draw of demonstrations the learner is fitted at every candidate α. Beside them stand the automatic choice
(`irl.select_alpha`, `auto`) and the estimates from moves with and without actions (`demonstrations.estimate_alpha`).
Returns are exact, in the learner's world. The share of a choice is the part of standard IRL's loss that it removes,

    1 - (optimum - return) / (optimum - return at α = 1):        0 is α = 1, 1 is optimal, negative is worse.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from experiments import runner
from experiments.runner import Outcome, Where
from experiments.tables import Output, grouped, interval
from robustirl import envs
from robustirl.demonstrations import sample_demonstrations
from robustirl.demonstrations.alpha import estimate_alpha
from robustirl.envs.noise import NOISE_MODELS
from robustirl.errors import InvalidInputError
from robustirl.irl import fit_many, select_alpha
from robustirl.mdp import MDP
from robustirl.planning import expert_policy, total_return
from robustirl.rewards import AbstractReward, TabularReward, make_reward_model

PAPER_WORLDS = ("gridworld-1", "gridworld-2", "gridworld-3", "gridworld-4", "gridworld-l", "objectworld")
TOY_TEXT = {"frozen-lake": 2 / 3, "frozen-lake-8x8": 2 / 3, "cliff-walking": 0.4, "taxi": 0.2}
"""By environment: the noise of the noisier world."""
MISMATCHES = ("uniform", "local", "relabeled", "one-state", "reversed")
RANDOM_SEEDS = 10
HORIZON = 400
NO_LOSS = 1e-6  # Where α = 1 loses less than this part of the optimum, there is nothing to remove.
WORST_SHARE = -2.0  # Means count anything worse as this, so that one cell cannot hide all others.


class Cell(NamedTuple):
    """A pair of worlds, the true reward, the kind of expert and the learner's reward model."""

    learner: MDP
    expert: MDP
    reward: np.ndarray
    kind: str
    model: AbstractReward


@dataclasses.dataclass(frozen=True)
class AlphaSpec:
    """One draw of demonstrations in one pair of worlds.

    Attributes:
        group: `paper`, `toy text`, `hole` or `random`.
        world: The environment, or the kind of mismatch of a random world.
        noise_model: That of the environment.
        learner: The learner's noise; of random worlds the seed.
        expert: The expert's noise.
        episodes: How many.
        draw: Which draw of them.
    """

    group: str
    world: str
    noise_model: str
    learner: float
    expert: float
    episodes: int = 0
    draw: int = 0

    def cell(self) -> Cell:
        """Return the worlds."""
        if self.group == "random":
            return _random(self.world, int(self.learner))
        if self.group == "hole":
            return _hole(self.learner, self.expert)
        env = envs.make(self.world)
        learner, expert = (env.mdp(noise, self.noise_model) for noise in (self.learner, self.expert))
        model = make_reward_model(env.reward_model, learner.num_states, env.features, seed=0)
        paper = self.group == "paper"
        kind, own = ("soft", model) if paper else ("optimal", TabularReward(learner.num_states))
        return Cell(learner, expert, np.asarray(env.reward), kind, own)


def cells() -> list[AlphaSpec]:
    """Return all pairs of worlds, without episodes.

    Example:
        >>> len(cells())
        108
    """
    models = [model for model in NOISE_MODELS if model != "published"]
    noises = ((0.0, 0.1), (0.0, 0.2), (0.1, 0.0), (0.2, 0.0))
    found = [AlphaSpec("paper", name, model, *pair) for name in PAPER_WORLDS for model in models for pair in noises]
    for name, noise in TOY_TEXT.items():
        model = envs.make(name).noise_models[0]
        found += [AlphaSpec("toy text", name, model, *pair) for pair in ((0.0, noise), (noise, 0.0))]
    found += [AlphaSpec("hole", "corridor", "", *pair) for pair in ((0.0, 0.2), (0.2, 0.0))]
    return found + [AlphaSpec("random", kind, "", seed, 0.0) for kind in MISMATCHES for seed in range(RANDOM_SEEDS)]


def _hole(learner: float, expert: float) -> Cell:
    """Return a corridor of six cells to a goal; slips in the middle ones fall into a hole."""
    goal, hole, over, worlds = 5, 6, 7, []
    for slip in (learner, expert):
        kernel = np.zeros((8, 3, 8))
        for cell in range(5):
            for action, step in enumerate((-1, 0, 1)):
                kernel[cell, action, min(max(cell + step, 0), goal)] += 1 - slip
                kernel[cell, action, hole if cell in (2, 3) and step else cell] += slip
        kernel[[goal, hole, over], :, over] = 1.0
        worlds.append(MDP(kernel, discount=0.95, initial=np.eye(8)[0]))
    reward = np.array([-0.1] * 5 + [1.0, -1.0, 0.0])
    return Cell(worlds[0], worlds[1], reward, "optimal", TabularReward(8))


def _random(kind: str, seed: int) -> Cell:
    """Return a world of twenty states and four actions with three outcomes each, and a mismatch."""
    random = np.random.default_rng(seed)
    states, actions = 20, 4
    rows = np.zeros((states, actions, states))
    for row in rows.reshape(-1, states):
        row[random.choice(states, 3, replace=False)] = random.dirichlet([6, 1, 1])
    reward = 2 * random.normal(size=states) * (random.random(states) < 0.4)
    uniform = 0.75 * rows + 0.25 / states
    state = int(random.integers(states))
    one = np.where((np.arange(states) == state)[:, None, None], 0.2 * rows + 0.8 / states, rows)
    experts = {
        "uniform": uniform,
        "local": 0.7 * rows + 0.3 * rows.mean(1, keepdims=True),
        "relabeled": rows[:, random.permutation(actions)],
        "one-state": one,
        "reversed": rows,
    }
    learner = MDP(uniform if kind == "reversed" else rows, discount=0.95)
    return Cell(learner, MDP(experts[kind], discount=0.95), reward, "soft", TabularReward(states))


def choose(specs: Sequence[AlphaSpec]) -> list[Outcome]:
    """Fit every candidate once on one draw, and measure every way to choose among them."""
    (spec,) = specs
    learner, expert, reward, kind, model = spec.cell()
    teacher, key = expert_policy(expert, reward, kind=kind), jax.random.key(spec.draw)
    walks = sample_demonstrations(expert, teacher, episodes=spec.episodes, horizon=HORIZON, key=key)
    selection = select_alpha(learner, walks, reward=model)

    def measure(policy: Any) -> float:
        return float(total_return(learner, policy, reward))

    best = measure(expert_policy(learner, reward, kind="optimal"))
    earned = {
        float(alpha): measure(fit.player) for alpha, fit in zip(selection.candidates, selection.fits, strict=True)
    }
    chosen = {"auto": float(selection.alpha)}
    for name, actions in (("moves, states", False), ("moves, actions", True)):
        chosen[name] = float(estimate_alpha(learner, walks, actions=actions).alpha)
    for alpha in sorted(set(chosen.values()) - earned.keys()):
        (found,) = fit_many([learner], [selection.fit.expert_occupancy], [alpha], rewards=model, throw=False)
        earned[alpha] = measure(found.player)
    loss = best - earned[1.0]
    fixed = {f"{float(alpha):g}": float(alpha) for alpha in selection.candidates}
    some = loss > NO_LOSS * max(1.0, abs(best))
    shares = {name: 1 - (best - earned[alpha]) / loss if some else 0.0 for name, alpha in (fixed | chosen).items()}
    return [(shares | {"in hindsight": max(shares[name] for name in fixed), "alpha": chosen["auto"]}, {})]


@dataclasses.dataclass(frozen=True)
class Study:
    """Compare the automatic α and the estimates from moves with every fixed α and the best in hindsight."""

    draws: int = 10
    """How many draws of the demonstrations."""
    episodes: tuple[int, ...] = (20, 100, 1000)
    """Numbers of episodes."""
    worlds: tuple[str, ...] = ()
    """Names of groups or worlds, such as paper, gridworld-1 or relabeled; all if omitted."""

    def run(self, out: Output, where: Where) -> None:
        """Run what is missing, and write a table."""
        asked = [one for one in cells() if not self.worlds or {one.group, one.world} & set(self.worlds)]
        if not asked:
            raise InvalidInputError(
                f"there are no worlds {', '.join(self.worlds)}; choose from paper, gridworld-1, etc."
            )
        specs = [
            dataclasses.replace(one, episodes=count, draw=draw)
            for draw in range(self.draws)
            for one in asked
            for count in self.episodes
        ]
        results = runner.run(specs, choose, out.folder, key=lambda s: (s.group, s.world), size=1, where=where)
        names = [name for name in results[0].row if name not in ("seconds", "alpha")]
        others = [name for name in names[-4:] if name != "auto"]
        rows = []
        for place, own in grouped(results, lambda r: (r.spec.group, r.spec.world, r.spec.episodes)).items():
            means = {name: np.mean([max(r.row[name], WORST_SHARE) for r in own]) for name in names}
            auto = interval([max(r.row["auto"], WORST_SHARE) for r in own])
            best = max((name for name in names if name[0].isdigit()), key=means.__getitem__)
            numbers = (f"{means[name]:.2f}" for name in others)
            rows.append((*place, len(own), auto, *numbers, best, f"{means[best]:.2f}"))
        headings = ("group", "world", "episodes", "fits", "auto", *others, "best fixed α", "its share")
        out.table("alpha", headings, rows)
