"""Gridworlds: any array of rewards, and the paper's layouts as data.

Cells are numbered row by row. The moves are up, right, down, left; a move off the grid is not available to
anyone. A goal is absorbing.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from robustirl.envs.environment import Environment
from robustirl.envs.noise import noise_model_names, noisy_kernel
from robustirl.envs.registry import register
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, as_floats, require_discount, require_finite

MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}


@dataclasses.dataclass(frozen=True, eq=False)
class GridWorld(Environment):
    """A grid whose cells carry rewards.

    Args:
        name: What to call it.
        rewards: `[rows, columns]`, the reward of being in each cell.
        goals: The absorbing cells, as (row, column).
        discount: γ.
        initial: P₀ over cells, `[rows, columns]`; uniform if omitted.
        cell_features: φ of every cell, `[rows, columns, d]`; one-hot features if omitted.

    Example:
        >>> corridor = GridWorld("corridor", rewards=np.array([[0.0, -1.0, -1.0]]))
        >>> corridor.mdp(noise=0.1).num_states, corridor.reward.tolist()
        (3, [0.0, -1.0, -1.0])
    """

    rewards: np.ndarray
    goals: tuple[tuple[int, int], ...] = ((0, 0),)
    discount: float = 0.99
    initial: np.ndarray | None = None
    cell_features: np.ndarray | None = None

    def __post_init__(self) -> None:
        rewards = as_floats("the grid of rewards", self.rewards)
        if rewards.ndim != 2 or rewards.size < 2:
            raise InvalidInputError(
                f"the grid of rewards has shape {rewards.shape}, but two axes and at least two cells are needed."
            )
        require_finite("the grid of rewards", rewards, ("row", "column"))
        require_discount(self.discount)
        object.__setattr__(self, "rewards", frozen(rewards))
        for goal in self.goals:
            if not (isinstance(goal, tuple) and len(goal) == 2 and all(isinstance(i, int | np.integer) for i in goal)):
                raise InvalidInputError(f"the goals are {self.goals!r}, but a tuple of (row, column) pairs is needed.")
            if not all(0 <= i < size for i, size in zip(goal, rewards.shape, strict=True)):
                raise InvalidInputError(f"the goal {goal} lies outside the grid of shape {rewards.shape}.")
        if self.initial is not None:
            initial = as_floats("the start distribution", self.initial)
            if initial.shape != rewards.shape:
                raise InvalidInputError(
                    f"the start distribution has shape {initial.shape}, but the grid's, {rewards.shape}, is needed."
                )
            object.__setattr__(self, "initial", frozen(initial))
        if self.cell_features is not None:
            features = as_floats("the features of the cells", self.cell_features)
            if features.ndim != 3 or features.shape[:2] != rewards.shape or not features.shape[2]:
                raise InvalidInputError(
                    f"the features of the cells have shape {features.shape}, but {(*rewards.shape, 'd')} is needed."
                )
            object.__setattr__(self, "cell_features", frozen(features))

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
        return self.rewards.shape  # pyright: ignore[reportReturnType]

    @property
    def reward(self) -> np.ndarray:
        return self.rewards.ravel()

    @property
    def features(self) -> np.ndarray | None:
        return None if self.cell_features is None else self.cell_features.reshape(self.rewards.size, -1)

    def fixed_start(self) -> np.ndarray:
        """Return P₀ `[rows, columns]` with all its mass on the cell farthest from the nearest goal.

        If there are several such cells, it is the last one.
        """
        rows, columns = np.indices(self.shape)
        distance = np.min([np.abs(rows - r) + np.abs(columns - c) for r, c in self.goals], axis=0)
        start = np.zeros(distance.size)
        start[distance.size - 1 - int(distance.ravel()[::-1].argmax())] = 1.0
        return start.reshape(self.shape)

    @property
    def noise_models(self) -> tuple[str, ...]:
        return noise_model_names()

    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        return self._world(noise, noise_model, evaluation=False)

    def evaluation_mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        return self._world(noise, noise_model, evaluation=True)

    def _world(self, noise: float, noise_model: str | None, *, evaluation: bool) -> MDP:
        model = self.choose_noise_model(noise, noise_model)
        moves, available, absorbing = self._geometry()
        kernel = noisy_kernel(moves, absorbing, noise, model, available=available, evaluation=evaluation)
        initial = None if self.initial is None else self.initial.ravel()
        return MDP(kernel, discount=self.discount, initial=initial, mask=available)

    def _geometry(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where moves lead `[S, A]`, which are available `[S, A]`, and absorbing cells `[S]`."""
        rows, columns = self.shape
        cells = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), -1).reshape(-1, 1, 2)
        targets = cells + np.array(list(MOVES.values()))
        available = np.all((targets >= 0) & (targets < (rows, columns)), axis=-1)
        here = np.arange(rows * columns)[:, None]
        moves = np.where(available, targets[..., 0] * columns + targets[..., 1], here)
        absorbing = np.zeros(rows * columns, dtype=bool)
        absorbing[[row * columns + column for row, column in self.goals]] = True
        return moves, available, absorbing


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to.

    Layouts are shared by all callers that make the environment.
    """
    array = array.copy()
    array.setflags(write=False)
    return array


def danger_grid(size: int, *regions: tuple[slice | list[int], slice | list[int]], danger: float = -100.0) -> np.ndarray:
    """Return rewards of a square grid: `danger` in the regions, 0 in the goal (0, 0), else -1."""
    rewards = np.full((size, size), -1.0)
    for rows, columns in regions:
        rewards[rows, columns] = danger
    rewards[0, 0] = 0.0
    return rewards


def two_danger_grid(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rewards and features of GridWorld-L.

    Three features tell apart two kinds of danger among the inner cells. The first kind lies strictly below the
    diagonal, the second in the other inner cells. The third feature is one on every cell but the goal, dangers
    included, so that the weights -1, -5, -1 give rewards of -2, -6 and -1.
    """
    rows, columns = np.indices((size, size))
    inner = (rows > 0) & (rows < size - 1) & (columns > 0) & (columns < size - 1)
    ordinary = (rows > 0) | (columns > 0)
    features = np.stack([inner & (rows > columns), inner & (rows <= columns), ordinary], axis=-1).astype(float)
    return features @ np.array([-1.0, -5.0, -1.0]), features


INNER = slice(1, -1)

# The paper's layouts, as its figures show them: which cells are dangerous. The goal is the corner (0, 0).
PAPER_LAYOUTS = {
    "gridworld-1": danger_grid(10, (INNER, INNER)),
    "gridworld-2": danger_grid(10, (slice(4, 6), INNER), (INNER, slice(4, 6))),
    "gridworld-3": danger_grid(10, ([0, 2, -3, -1], slice(2, -2))),
    "gridworld-4": danger_grid(6, ([0, 2], INNER)),
}


def _paper_grid(name: str) -> Callable[..., Environment]:
    return lambda **options: GridWorld(name, rewards=PAPER_LAYOUTS[name], **options)


def _low_dimensional(**options: Any) -> Environment:
    rewards, features = two_danger_grid(10)
    return GridWorld("gridworld-l", rewards=rewards, cell_features=features, **options)


for _name in PAPER_LAYOUTS:
    register(_name, _paper_grid(_name))
register("gridworld-l", _low_dimensional)
