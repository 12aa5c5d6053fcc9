"""Gridworlds: any array of rewards, a grid of characters, and the paper's layouts as data.

Cells are numbered row by row; walls are no states and have no number. The moves are up, right, down, left; a move off
the grid or into a wall is not available to anyone. A goal is absorbing.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl._check import as_floats, as_list, require_finite, require_kind, short_repr
from robustirl.envs.noise import noise_model_names, noisy_kernel
from robustirl.envs.registry import Environment, frozen, grid_positions, register
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.mdp import require_discount

MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
BLANK = " "


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
        walls: `[rows, columns]`, cells that nobody can be in; they are no states.
        kinds: `[rows, columns]`, words that say which cells are alike (`classes`), if that is known.

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
    walls: np.ndarray | None = None
    kinds: np.ndarray | None = None

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
        for field, what, axes in (
            ("initial", "the start distribution", 2),
            ("cell_features", "the features of the cells", 3),
        ):
            if (given := getattr(self, field)) is not None:
                array = as_floats(what, given)
                if array.ndim != axes or array.shape[:2] != rewards.shape or not array.size:
                    needed = (*rewards.shape, "d")[:axes]
                    raise InvalidInputError(f"{what} has shape {array.shape}, but {needed} is needed.")
                object.__setattr__(self, field, frozen(array))

    @classmethod
    def from_text(
        cls,
        text: str | Sequence[str],
        *,
        rewards: Mapping[str, float] | None = None,
        goals: str = "G",
        start: str = "S",
        walls: str = "#",
        discount: float = 0.99,
        name: str = "grid",
    ) -> "GridWorld":
        """Return the grid of a map of characters, one row a line.

        The letters are the classes of the cells (`classes`), so that one reward can be learned for all cells of a
        letter. A blank stands for a dot.

        Args:
            text: The map. Rows are of equal length.
            rewards: What a cell pays by its letter. A letter that is left out pays -1, and 0 if it is a goal.
            goals: The letters of absorbing cells.
            start: The letters of cells in which episodes start, each as often; all cells but goals, if there is none.
            walls: The letters of walls. They are no states, whatever the noise.
            discount: γ.
            name: What to call it.

        Example:
            >>> maze = GridWorld.from_text('''
            ... S.#G
            ... .~..''', rewards={"~": -10.0})
            >>> maze.classes, maze.reward.tolist()
            (('S', '.', 'G', '.', '~', '.', '.'), [-1.0, -1.0, 0.0, -1.0, -10.0, -1.0, -1.0])
            >>> maze.mdp(0.1, "uniform-action").num_states
            7
        """
        rows = text.strip("\n").split("\n") if isinstance(text, str) else as_list("the map", text, "rows of characters")
        if not rows or len({len(require_kind("a row of the map", row, str, "a text")) for row in rows}) > 1:
            raise InvalidInputError(f"the map is {short_repr(text)}, but rows of equal length are needed.")
        letters = np.array([list(row.replace(BLANK, ".")) for row in rows])
        known = dict(rewards or {})
        for letter in known:
            if letter not in letters:
                raise InvalidInputError(f"the letter {letter!r} has a reward, but it is not in the map; remove it.")
        paid = {letter: known.get(letter, 0.0 if letter in goals else -1.0) for letter in np.unique(letters).tolist()}
        wall, goal = np.isin(letters, list(walls)), np.isin(letters, list(goals))
        begin = np.isin(letters, list(start))
        if not begin.any():
            begin = ~wall & ~goal
        if not begin.any():
            raise InvalidInputError(f"the map {short_repr(text)} has no cell to start in; give one that is no wall.")
        return cls(
            name,
            rewards=np.vectorize(paid.__getitem__, otypes=[float])(letters),
            goals=tuple((int(row), int(column)) for row, column in np.argwhere(goal)),
            discount=discount,
            initial=begin / begin.sum(),
            walls=frozen(wall) if wall.any() else None,
            kinds=letters,
        )

    @property
    def shape(self) -> tuple[int, int] | None:
        """Return rows and columns, where every cell is a state; None where there are walls (see `positions`)."""
        return self.rewards.shape if self.walls is None else None  # pyright: ignore[reportReturnType]

    @property
    def _open(self) -> np.ndarray:
        """Return which cells are states, `[rows · columns]`."""
        return np.ones(self.rewards.size, bool) if self.walls is None else ~self.walls.ravel()

    @property
    def positions(self) -> Float[np.ndarray, "S 2"]:
        """Return the places of the cells; between them, places without a state are walls."""
        rows, columns = self.rewards.shape
        return grid_positions((rows, columns), rows * columns)[self._open]

    @property
    def reward(self) -> np.ndarray:
        return self.rewards.ravel()[self._open]

    @property
    def features(self) -> np.ndarray | None:
        if self.cell_features is None:
            return None
        return self.cell_features.reshape(self.rewards.size, -1)[self._open]

    @property
    def classes(self) -> tuple[str, ...] | None:
        return None if self.kinds is None else tuple(str(kind) for kind in self.kinds.ravel()[self._open])

    @property
    def action_names(self) -> tuple[str, ...]:
        return tuple(MOVES)

    def fixed_start(self) -> np.ndarray:
        """Return P₀ `[rows, columns]` with all its mass on the cell farthest from the nearest goal.

        If there are several such cells, it is the last one.
        """
        rows, columns = np.indices(self.rewards.shape)
        distance = np.min([np.abs(rows - r) + np.abs(columns - c) for r, c in self.goals], axis=0)
        distance = np.where(self._open.reshape(distance.shape), distance, -1)
        start = np.zeros(distance.size)
        start[distance.size - 1 - int(distance.ravel()[::-1].argmax())] = 1.0
        return start.reshape(distance.shape)

    @property
    def noise_models(self) -> tuple[str, ...]:
        return noise_model_names()

    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        return self._world(noise, noise_model, evaluation=False)

    def evaluation_mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        return self._world(noise, noise_model, evaluation=True)

    def _world(self, noise: float, noise_model: str | None, *, evaluation: bool) -> MDP:
        model = self.choose_noise_model(noise, noise_model)
        moves, available, absorbing = self.geometry()
        kernel = noisy_kernel(moves, absorbing, noise, model, available=available, evaluation=evaluation)
        initial = None if self.initial is None else self.initial.ravel()[self._open]
        return MDP(kernel, discount=self.discount, initial=initial, mask=available, **self._labels)

    def geometry(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where moves lead `[S, A]`, which are available `[S, A]`, and absorbing cells `[S]`."""
        shape, is_open = self.rewards.shape, self._open
        number = np.where(is_open, np.cumsum(is_open) - 1, -1).reshape(shape)
        cells = np.argwhere(number >= 0)[:, None]
        targets = cells + np.array(list(MOVES.values()))
        inside = np.all((targets >= 0) & (targets < shape), axis=-1)
        landing = number[tuple(np.moveaxis(np.where(inside[..., None], targets, 0), -1, 0))]
        available = inside & (landing >= 0)
        absorbing = np.zeros(len(cells), dtype=bool)
        absorbing[[number[goal] for goal in self.goals]] = True
        enclosed = ~(available.any(-1) | absorbing)
        if enclosed.any():
            row, column = cells[int(np.argmax(enclosed)), 0].tolist()
            raise InvalidInputError(
                f"no move leads out of the cell in row {row}, column {column}, and it is no goal; make it a wall."
            )
        available |= absorbing[:, None] & ~available.any(-1, keepdims=True)
        here = np.arange(len(cells))[:, None]
        return np.where(available & inside & (landing >= 0), landing, here), available, absorbing


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
KINDS = {0.0: "goal", -1.0: "ordinary", -100.0: "danger", -2.0: "danger of the first kind"}
KINDS[-6.0] = "danger of the second kind"


def _kinds(rewards: np.ndarray) -> np.ndarray:
    return np.vectorize(KINDS.__getitem__, otypes=[object])(rewards)


def _paper_grid(name: str) -> Callable[..., Environment]:
    rewards = PAPER_LAYOUTS[name]
    return lambda **options: GridWorld(name, rewards=rewards, kinds=_kinds(rewards), **options)


def _low_dimensional(**options: Any) -> Environment:
    rewards, features = two_danger_grid(10)
    return GridWorld("gridworld-l", rewards=rewards, cell_features=features, kinds=_kinds(rewards), **options)


for _name in PAPER_LAYOUTS:
    register(_name, _paper_grid(_name))
register("gridworld-l", _low_dimensional)
