"""A warehouse of 30 by 30 cells, with walls, racks, slippery aisles and a loading dock: a world of 900 states.

It is drawn by a rule, so that a test and the study of other people's worlds have the same one. Racks cannot be entered,
cells beside the wall cost more, and the dock is the end of an episode.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl.mdp import MDP, SuccessorKernel
from robustirl.paper.studies.strangers_worlds import Pair

SIDE, DISCOUNT = 30, 0.99
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))  # Up, right, down, left.
SLIP, STRONG_SLIP = 0.05, 0.2  # To one of the two sides, with this probability.
STEP, WALL_STEP, SPILL = -1.0, -2.0, -20.0


def racks(side: int = SIDE) -> Bool[np.ndarray, "side side"]:
    """Return which cells are racks: rows of them with two cross aisles.

    Example:
        >>> racks(10)[2].astype(int).tolist()
        [0, 0, 1, 1, 0, 1, 0, 1, 1, 0]
    """
    there = np.zeros((side, side), bool)
    there[2 : side - 2 : 3, 2 : side - 1] = True
    there[:, [side // 2 - 1, side - 4]] = False  # The cross aisles.
    there[:, side - 1] = False
    return there


def warehouse(slip: float, side: int = SIDE) -> MDP:
    """Return the world: a step that is blocked stays, and a slip goes to either side.

    Example:
        >>> warehouse(0.1, side=10).num_states
        100
    """
    where, chance = _successors(slip, side)
    free = ~racks(side).ravel()
    return MDP(SuccessorKernel(where, chance), discount=DISCOUNT, initial=free / free.sum())


def warehouse_reward(side: int = SIDE) -> Float[np.ndarray, " S"]:
    """Return the true reward: a step costs 1, by the outer wall 2, in a spill 20, at the dock 0."""
    reward = np.full((side, side), STEP)
    reward[[0, -1]] = reward[:, [0, -1]] = WALL_STEP
    reward[side // 2, side // 3] = reward[side // 3, -4] = SPILL
    reward[0, 0] = 0.0
    return reward.ravel()


def warehouse_pairs() -> Iterator[Pair]:
    """Return the warehouse with the same expert and with one whose aisles are more slippery."""
    for slip in (SLIP, STRONG_SLIP):
        yield Pair(
            f"warehouse-{SIDE}x{SIDE}", "warehouse", warehouse(SLIP), warehouse(slip), warehouse_reward(), slip != SLIP
        )


def _successors(slip: float, side: int) -> tuple[Int[np.ndarray, "S A 3"], Float[np.ndarray, "S A 3"]]:
    """Return where each action leads, meant or to either side, and how likely that is."""
    blocked = racks(side)
    rows, columns = np.divmod(np.arange(side * side), side)
    reached = []
    for down, right in MOVES:
        row, column = np.clip(rows + down, 0, side - 1), np.clip(columns + right, 0, side - 1)
        stays = blocked[row, column] | blocked[rows, columns]
        stays[0] = True  # The dock.
        reached.append(np.where(stays, np.arange(side * side), row * side + column))
    order = [[action, (action + 1) % 4, (action + 3) % 4] for action in range(4)]
    where = np.stack(reached, axis=1)[:, order]
    return where, np.broadcast_to([1 - slip, slip / 2, slip / 2], where.shape).copy()
