"""Pictures of finite worlds in plain NumPy: an RGB array, or text.

Cells are colored by reward, from deep red (the lowest) through near white (nothing) to green (the highest). A diamond
marks cells where the walk ends, green for those that pay best and gray for the others; a disc marks who walks. Worlds
that are no grid have their states laid out in a block, row by row.
"""

import math

import numpy as np

LARGEST = 512  # Pixels along the longer side, where cells of at least 8 pixels allow it.
BACKGROUND, LINE = np.array([255.0, 255.0, 255.0]), np.array([205.0, 208.0, 214.0])
NOTHING, BAD, GOOD = np.array([246.0, 246.0, 243.0]), np.array([178.0, 34.0, 34.0]), np.array([46.0, 139.0, 87.0])
WALKER, RIM = np.array([31.0, 78.0, 160.0]), np.array([255.0, 255.0, 255.0])
GOAL, HOLE = np.array([24.0, 92.0, 55.0]), np.array([70.0, 74.0, 82.0])


def block(states: int) -> tuple[int, int]:
    """Return rows and columns of the smallest near-square block that holds so many states.

    Example:
        >>> block(501)
        (22, 23)
    """
    columns = math.isqrt(states - 1) + 1
    return -(-states // columns), columns


def picture(shape: tuple[int, int], rewards: np.ndarray, ends: np.ndarray, walker: int | None) -> np.ndarray:
    """Return the world as an array `[height, width, 3]` of bytes.

    Args:
        shape: Rows and columns of cells.
        rewards: What each state pays, `[S]`; states beyond the cells of the grid are not drawn.
        ends: Where the walk ends, `[S]`.
        walker: The state to mark; one beyond the grid grays the picture, since the walk is over.

    Example:
        >>> picture((1, 2), np.array([0.0, -1.0]), np.array([True, False]), walker=1).shape
        (48, 96, 3)
    """
    rows, columns = shape
    side = int(np.clip(LARGEST // max(shape), 8, 48))
    cells = np.tile(BACKGROUND, (rows * columns, 1))
    shown = min(len(rewards), rows * columns)
    cells[:shown] = _colors(rewards)[:shown]
    image = cells.reshape(rows, columns, 3).repeat(side, 0).repeat(side, 1)
    image[::side], image[:, ::side], image[-1], image[:, -1] = LINE, LINE, LINE, LINE
    y, x = (np.indices((side, side)) - (side - 1) / 2) / side
    goals = _goals(rewards, ends)
    for cell in np.flatnonzero(ends[:shown]).tolist():
        _paint(image, cell, shape, np.abs(x) + np.abs(y) < 0.38, RIM)
        _paint(image, cell, shape, np.abs(x) + np.abs(y) < 0.32, GOAL if goals[cell] else HOLE)
    if walker is not None and walker < shown:
        _paint(image, walker, shape, np.hypot(x, y) < 0.36, RIM)
        _paint(image, walker, shape, np.hypot(x, y) < 0.28, WALKER)
    elif walker is not None:
        image = (image + 2 * LINE) / 3
    return image.round().astype(np.uint8)


def text(shape: tuple[int, int], rewards: np.ndarray, ends: np.ndarray, walker: int | None) -> str:
    """Return the world in letters, one for each cell.

    `@` is who walks, `G` are the ends that pay best, `H` the other ends, `!` cells that cost much, `+` cells that pay
    much, and `.` all others.

    Example:
        >>> print(text((1, 4), np.array([0.0, -1.0, -100.0, -1.0]), np.array([True, False, False, False]), walker=3))
        G . ! @
    """
    rows, columns = shape
    costs = np.where((rewards < 0) & ~ends, rewards, -np.inf)
    costly = (rewards <= rewards.min() / 2) & (rewards < costs.max())  # Not the common price of a step.
    paying = (rewards >= rewards.max() / 2) & (rewards > 0)
    letters = np.select([ends & _goals(rewards, ends), ends, costly, paying], ["G", "H", "!", "+"], ".")
    cells = np.full(rows * columns, " ")
    shown = min(len(letters), len(cells))
    cells[:shown] = letters[:shown]
    if walker is not None and walker < shown:
        cells[walker] = "@"
    lines = [" ".join(row).rstrip() for row in cells.reshape(shape)]
    if walker is not None and walker >= shown:
        lines.append(f"state {walker}: over")
    return "\n".join(lines)


def _goals(rewards: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the ends that pay best."""
    return ends & (rewards == np.max(rewards, where=ends, initial=-np.inf))


def _colors(rewards: np.ndarray) -> np.ndarray:
    """Return a color for each reward, by the square root of its size relative to the largest.

    So -1 beside -100 is still told from 0.
    """
    scale = np.abs(rewards).max() or 1.0
    strength = np.sqrt(np.abs(rewards) / scale)[:, None]
    return (1 - strength) * NOTHING + strength * np.where(rewards[:, None] < 0, BAD, GOOD)


def _paint(image: np.ndarray, cell: int, shape: tuple[int, int], where: np.ndarray, color: np.ndarray) -> None:
    side = len(where)
    row, column = divmod(cell, shape[1])
    image[row * side : (row + 1) * side, column * side : (column + 1) * side][where] = color
