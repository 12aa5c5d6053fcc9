"""The pairs of worlds of the study of α: the paper's, Gymnasium's, a corridor with a hole, and random ones."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from robustirl import envs
from robustirl.envs.noise import NOISE_MODELS, PUBLISHED
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.paper.finite.context import ExperimentContext
from robustirl.rewards import AbstractReward, TabularReward

PAPER_WORLDS = ("gridworld-1", "gridworld-2", "gridworld-3", "gridworld-4", "gridworld-l", "objectworld")
PAIRS = ((0.0, 0.1), (0.0, 0.2), (0.1, 0.0), (0.2, 0.0))  # (ε_L, ε_E), both directions.
TOY_TEXT: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {
    ("frozen-lake", "slip"): ((0.0, 0.2), (0.0, 2 / 3), (0.2, 0.0), (2 / 3, 0.0)),
    ("frozen-lake-8x8", "slip"): ((0.0, 0.2), (0.0, 2 / 3), (0.2, 0.0), (2 / 3, 0.0)),
    ("cliff-walking", "wind"): ((0.0, 0.1), (0.0, 0.4), (0.1, 0.0), (0.4, 0.0)),
    ("taxi", "rain"): ((0.0, 0.2), (0.2, 0.0)),
}
HOLES = ("hole, expert slips", "hole, learner slips")
MISMATCHES = ("uniform", "local", "relabeled", "one-state", "reversed")
RANDOM_SEEDS = 10
LAYOUTS = ("grid layout", "object layout")
LAYOUT_SEEDS = 5
DANGER, DANGEROUS = -100.0, 0.3  # Reward of a dangerous cell of a random grid, and how many of its cells are.


@dataclasses.dataclass(frozen=True, eq=False)
class Cell:
    """One pair of worlds.

    Attributes:
        name: What tables call it.
        group: `paper`, `toy text`, `hole`, `random` or `layouts`.
        learner, expert: The worlds that plans and fits are made in.
        learner_walks, expert_walks: The worlds that returns are measured and demonstrations drawn in; they differ from
            the others only under the noise model `published`.
        reward: The true reward.
        expert_kind: `soft` or `optimal`.
        total: Whether returns are totals of 1000 steps; otherwise they are discounted.
        model: The learner's reward model.
    """

    name: str
    group: str
    learner: MDP
    expert: MDP
    learner_walks: MDP
    expert_walks: MDP
    reward: np.ndarray
    expert_kind: str
    total: bool
    model: AbstractReward


def cell_names(first_seed: int = 0) -> tuple[str, ...]:
    """Return the names of all cells; those of random worlds have seeds from `first_seed` on.

    Example:
        >>> names = cell_names()
        >>> len(names), names[0]
        (138, 'gridworld-1, uniform-state, 0 / 0.1')
    """
    paper = [_pair_name(env, noise, *pair) for env in PAPER_WORLDS for noise in NOISE_MODELS for pair in PAIRS]
    toys = [_pair_name(env, noise, *pair) for (env, noise), pairs in TOY_TEXT.items() for pair in pairs]
    seeds = range(first_seed, first_seed + RANDOM_SEEDS)
    drawn = [f"random, {kind}, {seed}" for kind in MISMATCHES for seed in seeds]
    return (*paper, *toys, *HOLES, *drawn)


def layout_names(first_seed: int = 0) -> tuple[str, ...]:
    """Return the names of cells with random layouts of grids and object worlds.

    No rule was tuned on them.

    Example:
        >>> layout_names(7)[0]
        'grid layout 7, uniform-state, 0 / 0.2'
    """
    seeds, pairs = range(first_seed, first_seed + LAYOUT_SEEDS), [pair for pair in PAIRS if 0.2 in pair]
    models = NOISE_MODELS[:2]
    return tuple(
        _pair_name(f"{kind} {n}", m, *pair) for kind in LAYOUTS for n in seeds for m in models for pair in pairs
    )


def _pair_name(environment: str, noise_model: str, learner: float, expert: float) -> str:
    return f"{environment}, {noise_model}, {learner:.3g} / {expert:.3g}"


def group_of(cell: str) -> str:
    """Return the group of a cell, without making its worlds.

    Example:
        >>> group_of("gridworld-1, uniform-action, 0 / 0.2"), group_of("taxi, rain, 0 / 0.2")
        ('paper', 'toy text')
    """
    first = cell.split(", ")[0]
    if first.rpartition(" ")[0] in LAYOUTS:
        return "layouts"
    if first in ("hole", "random"):
        return first
    return "paper" if first in PAPER_WORLDS else "toy text"


@functools.lru_cache(maxsize=32)
def find_cell(name: str) -> Cell:
    """Return the cell of this name."""
    first, second, last = [*name.split(", "), "", ""][:3]
    layout, _, number = first.rpartition(" ")
    known = cell_names(int(last) if first == "random" and last.isdecimal() else 0)
    if layout in LAYOUTS and number.isdecimal():
        known = layout_names(int(number))
    if name not in known:
        raise InvalidInputError(f"there is no cell {name!r}; the study's cell_names() lists all of them.")
    if name in HOLES:
        return _hole(name)
    if first == "random":
        return _random(name, second, int(last))
    paper = first in PAPER_WORLDS or layout in LAYOUTS
    pairs = PAIRS if paper else TOY_TEXT[first, second]
    learner, expert = next(pair for pair in pairs if _pair_name(first, second, *pair) == name)
    environment = _layout(layout, int(number)) if layout in LAYOUTS else envs.make(first)
    walks: Callable[..., MDP] = environment.evaluation_mdp if second == PUBLISHED else environment.mdp
    context = ExperimentContext(environment, second)
    return Cell(
        name,
        group_of(name),
        environment.mdp(learner, second),
        environment.mdp(expert, second),
        walks(learner, second),
        walks(expert, second),
        np.asarray(environment.reward),
        "soft" if paper else "optimal",
        total=True,
        model=context.reward_model() if paper else TabularReward(environment.mdp(learner, second).num_states),
    )


def _layout(kind: str, seed: int) -> envs.Environment:
    """Return an object world, or a grid like the paper's fourth with other dangerous cells."""
    if kind == "object layout":
        return envs.make("objectworld", seed=seed)
    random = np.random.default_rng(seed)
    rewards = np.where(random.random((6, 6)) < DANGEROUS, DANGER, -1.0)
    rewards[0, 0] = 0.0
    return envs.GridWorld(f"{kind} {seed}", rewards=rewards)


def _hole(name: str) -> Cell:
    """Return a corridor of six cells to a goal; slips in the middle ones fall into a hole."""
    goal, hole, over = 5, 6, 7
    calm, slippery = (np.zeros((8, 3, 8)) for _ in range(2))
    for cell in range(5):
        for action, step in enumerate((-1, 0, 1)):
            place = min(max(cell + step, 0), goal)
            calm[cell, action, place] = 1.0
            slippery[cell, action, place] += 0.8
            slippery[cell, action, hole if cell in (2, 3) and step else cell] += 0.2
    for rows in (calm, slippery):
        rows[[goal, hole, over], :, over] = 1.0
    reward = np.array([-0.1] * 5 + [1.0, -1.0, 0.0])
    start = np.eye(8)[0]
    worlds = [MDP(rows, discount=0.95, initial=start) for rows in (calm, slippery)]
    learner, expert = worlds if name == HOLES[0] else worlds[::-1]
    return Cell(name, "hole", learner, expert, learner, expert, reward, "optimal", True, TabularReward(8))


def _random(name: str, kind: str, seed: int) -> Cell:
    """Return a world of twenty states and four actions with three outcomes each, and a mismatch."""
    random = np.random.default_rng(seed)
    states, actions = 20, 4
    rows = np.zeros((states, actions, states))
    for state in range(states):
        for action in range(actions):
            rows[state, action, random.choice(states, 3, replace=False)] = random.dirichlet([6, 1, 1])
    reward = 2 * random.normal(size=states) * (random.random(states) < 0.4)
    learner = expert = rows
    uniform = 0.75 * rows + 0.25 / states
    if kind == "uniform":
        expert = uniform
    elif kind == "local":
        expert = 0.7 * rows + 0.3 * rows.mean(1, keepdims=True)
    elif kind == "relabeled":
        expert = rows[:, random.permutation(actions)]
    elif kind == "one-state":
        expert = rows.copy()
        state = int(random.integers(states))
        expert[state] = 0.2 * rows[state] + 0.8 / states
    else:
        learner = uniform
    ours, theirs = MDP(learner, discount=0.95), MDP(expert, discount=0.95)
    return Cell(name, "random", ours, theirs, ours, theirs, reward, "soft", False, TabularReward(states))
