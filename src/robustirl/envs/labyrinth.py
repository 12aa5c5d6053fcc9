r"""Mice in a labyrinth: 238 bouts of 500 steps in a binary tree of corridors (Rosenberg et al., eLife 10, 2021).

The labyrinth is a tree of depth 6. State 0 is the entrance; the children of node n are 2n+1 and 2n+2, and the 64 end
nodes 63 to 126 are dead ends. One of them, node 116, has a water port. Four actions lead from a node to its neighbors;
which action leads where differs from node to node, and an action without a corridor does not exist. At the entrance
action 3 stays put: the mouse has gone home.

The recordings were prepared in the repository BRAINML-GT/SWIRL (MIT; `data/labyrinth-LICENSE.txt`).
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from robustirl.envs.recorded import RecordedEnvironment, read_data
from robustirl.envs.registry import register_recorded
from robustirl.envs.tabular import Outcomes

WATER = 116
DEPTH = 6
ENTRANCE, HOME = 0, 3  # The one state and action that stays put.


@dataclasses.dataclass(frozen=True, eq=False)
class Labyrinth(RecordedEnvironment):
    """The labyrinth, and the bouts that were recorded in it."""


def labyrinth(*, discount: float = 0.95) -> Labyrinth:
    """Return the labyrinth with its 238 bouts.

    Args:
        discount: γ for a step.

    Example:
        >>> env = labyrinth()
        >>> len(env.episodes), env.mdp().num_states, env.episodes[0][0].size
        (238, 127, 500)
    """
    data = read_data("labyrinth.npz")
    states, actions = data["states"].astype(int), data["actions"].astype(int)
    successors = data["successors"].astype(int)
    exists = successors != np.arange(len(successors))[:, None]
    exists[ENTRANCE, HOME] = True
    starts = np.bincount(states[:, 0], minlength=len(successors))
    return Labyrinth(
        "labyrinth",
        outcomes=Outcomes(successors[..., None], exists[..., None].astype(float)),
        rewards=np.zeros(len(successors)),
        initial=starts / starts.sum(),
        discount=discount,
        # The last action's successor was not recorded.
        episodes=tuple((bout, moves[:-1]) for bout, moves in zip(states, actions, strict=True)),
    )


def node_positions() -> Float[np.ndarray, "S 2"]:
    """Return where to draw each node of the tree.

    Its edges are the arms of an H, which halve in turns, as the maze is built.

    Example:
        >>> node_positions()[[0, 1, 2]].tolist()
        [[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]
    """
    places = np.zeros((2 ** (DEPTH + 1) - 1, 2))
    for node in range(2**DEPTH - 1):
        depth = int(np.log2(node + 1))
        reach = 0.5 ** (depth // 2)
        axis = depth % 2
        for child, sign in ((2 * node + 1, -1), (2 * node + 2, 1)):
            places[child] = places[node]
            places[child, axis] += sign * reach
    return places


register_recorded("labyrinth", labyrinth)
