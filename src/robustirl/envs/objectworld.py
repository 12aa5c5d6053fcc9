"""ObjectWorld: a grid whose reward hangs on the distance to colored objects (Section 5; after Levine et al., 2011).

Every object has an outer and an inner color; only the outer one matters, the inner one distracts. A cell
pays -2 within three cells of an outer blue object, 0 if it is also within two cells of an outer green one, and -1
otherwise (ℓ1 distances). One of the cells that pay 0 is the goal, which is absorbing. The reward is not
linear in the features, which say of every color, outer and inner, whether the nearest such object is closer than
d = 1, 2, …, 10 cells; one feature more flags the goal.
"""

import dataclasses

import numpy as np

from robustirl._check import as_count, as_seed, require_memory
from robustirl.envs.gridworld import GridWorld
from robustirl.envs.registry import register
from robustirl.errors import InvalidInputError

COLORS = ("blue", "green")
BLUE, GREEN = range(2)
NEAR_BLUE, NEAR_GREEN = 3, 2
THRESHOLDS = np.arange(1, 11)
PAPER_DISCOUNT = 0.7
# The published layout is lost. At γ = 0.7 a third of all layouts have an optimal policy that stays in cells of -1 for
# ever rather than cross cells of -2, which the published one's cannot; this layout is, like that one, of the others.
USUAL_LAYOUT = 7
MOST_DRAWS = 10_000
CELL_BYTES, DISTANCE_BYTES = 800, 16  # A cell's, for its features and, for every object, its distance.


@dataclasses.dataclass(frozen=True)
class PlacedObject:
    """An object: its cell, and its colors as indices into `COLORS`."""

    row: int
    column: int
    outer: int
    inner: int


@dataclasses.dataclass(frozen=True, eq=False)
class ObjectWorld(GridWorld):
    """A grid with objects in it; `object_world` draws one."""

    objects: tuple[PlacedObject, ...] = ()
    seed: int = 0

    @property
    def classes(self) -> tuple[str, ...]:
        kinds = {-1.0: "far from blue", -2.0: "near blue", 0.0: "near blue and green"}
        labels = np.array([kinds[value] for value in self.rewards.ravel().tolist()], dtype=object)
        labels[[row * self.rewards.shape[1] + column for row, column in self.goals]] = "goal"
        return tuple(labels.tolist())

    @property
    def layout(self) -> int:
        return self.seed

    @property
    def expert(self) -> str:
        return "optimal"

    @property
    def reward_model(self) -> str:
        return "network"


def object_world(
    *,
    seed: int = USUAL_LAYOUT,
    size: int = 10,
    num_objects: int = 6,
    discount: float = PAPER_DISCOUNT,
    initial: np.ndarray | None = None,
) -> ObjectWorld:
    """Draw a layout: objects in distinct cells, their colors, and a goal in a cell that pays 0.

    A draw without such a cell is thrown away and the next one taken, so every seed has a layout, and always the same.

    Example:
        >>> world = object_world(seed=3)
        >>> world.features.shape, sorted(set(world.reward.tolist())), float(world.rewards[world.goals[0]])
        ((100, 41), [-2.0, -1.0, 0.0], 0.0)
    """
    seed, size = as_seed("the seed", seed), as_count("the size", size, 2)
    num_objects = as_count("the number of objects", num_objects)
    if not 2 <= num_objects <= size * size:
        raise InvalidInputError(
            f"the number of objects is {num_objects}, but it must lie between 2 (a blue and a green one)"
            f" and the {size * size} cells."
        )
    needed = (CELL_BYTES + DISTANCE_BYTES * num_objects) * float(size) ** 2
    require_memory(needed, f"an ObjectWorld of {size} x {size} cells and {num_objects} objects", "use a smaller one")
    generator = np.random.default_rng(seed)
    for _ in range(MOST_DRAWS):
        cells = generator.choice(size * size, num_objects, replace=False)
        outer, inner = generator.integers(len(COLORS), size=(2, num_objects))
        objects = tuple(
            PlacedObject(int(cell) // size, int(cell) % size, int(o), int(i))
            for cell, o, i in zip(cells, outer, inner, strict=True)
        )
        rewards = _rewards(objects, size)
        white = np.argwhere(rewards == 0)
        if len(white):
            break
    else:
        raise InvalidInputError(
            f"no layout of {num_objects} objects on {size} x {size} cells with a cell that pays 0 was"
            f" found in {MOST_DRAWS}"
            " draws; use more objects or a larger grid."
        )
    row, column = (int(i) for i in generator.choice(white))
    return ObjectWorld(
        "objectworld",
        rewards=rewards,
        goals=((row, column),),
        discount=discount,
        initial=initial,
        cell_features=_features(objects, (row, column), size),
        objects=objects,
        seed=seed,
    )


def _distance(objects: tuple[PlacedObject, ...], size: int) -> np.ndarray:
    """Return the ℓ1 distance of every cell to the nearest of some objects, `[size, size]`.

    It is infinite if there are no objects.
    """
    rows, columns = np.indices((size, size))
    distances = [np.abs(rows - item.row) + np.abs(columns - item.column) for item in objects]
    return np.min(distances, axis=0) if distances else np.full((size, size), np.inf)


def _rewards(objects: tuple[PlacedObject, ...], size: int) -> np.ndarray:
    blue, green = (_distance(tuple(item for item in objects if item.outer == color), size) for color in (BLUE, GREEN))
    return np.where(blue <= NEAR_BLUE, np.where(green <= NEAR_GREEN, 0.0, -2.0), -1.0)


def _features(objects: tuple[PlacedObject, ...], goal: tuple[int, int], size: int) -> np.ndarray:
    """Return the features φ of every cell, `[size, size, 41]`.

    They are, for outer, then inner, for every color, "closer than d"; the last one is the goal's flag.
    """
    nearest = [
        _distance(tuple(item for item in objects if getattr(item, side) == color), size)
        for side in ("outer", "inner")
        for color in range(len(COLORS))
    ]
    closer = np.concatenate([distance[..., None] < THRESHOLDS for distance in nearest], axis=-1)
    flag = np.zeros((size, size, 1))
    flag[goal] = 1.0
    return np.concatenate([closer, flag], axis=-1)


register("objectworld", object_world)
