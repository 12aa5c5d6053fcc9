r"""FrozenLake, CliffWalking and Taxi, as Gymnasium has them, with how much they slip as the noise.

Gymnasium pays for transitions. The expected pay R(s,a) then changes with the noise, and a reward
of states could not express it. Here the reward is the same at every noise, and for the first two it is one of
states:

`frozen_lake`
    The goal pays 1, and like the holes leads to one more state, where the episode is over: it pays once.
`cliff_walking`
    A fall leads to the cell fallen into, which pays -100 and from there on is the start: its moves are the start's. (In
    Gymnasium those cells are never entered.) Other cells pay -1, the goal 0 at every step.
`taxi`
    R(s,a) as in Gymnasium, because it fines actions. A delivery leads to one more state, as in `from_gymnasium`.

The undiscounted return from the start is Gymnasium's, at every noise. In the discounted value a state pays when the
next action is taken, one step later than Gymnasium pays for entering it; `from_gymnasium` has those values exactly.
"""

import functools

import numpy as np

from robustirl.envs.registry import register
from robustirl.envs.tables import Outcomes, TabularEnvironment, blend
from robustirl.errors import InvalidInputError

SLIP, WIND, RAIN = "slip", "wind", "rain"

# S start, F frozen, H hole, G goal.
LAKES: dict[str, tuple[str, ...]] = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": ("SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"),
}
LETTERS = {"S": "ice", "F": "ice", "H": "hole", "G": "goal"}
LEFT, DOWN, RIGHT, UP = (0, -1), (1, 0), (0, 1), (-1, 0)


def frozen_lake(
    *, name: str = "frozen-lake", lake: str | tuple[str, ...] = "4x4", discount: float = 0.99
) -> TabularEnvironment:
    """Make the environment FrozenLake.

    At noise ε of the model `slip` a move goes astray to either side with probability ε/2. Gymnasium's default,
    `success_rate` 1/3, is ε = 2/3. The moves are left, down, right, up.

    Args:
        name: What to call it.
        lake: `4x4`, `8x8`, or a map of the letters S, F, H, G.
        discount: γ.

    Example:
        >>> env = frozen_lake()
        >>> env.mdp(2 / 3).num_states, env.noise_models
        (17, ('slip', 'uniform-state', 'uniform-action'))
    """
    letters = _letters(lake)
    end = letters.size
    over = np.append(np.isin(letters.ravel(), ["H", "G"]), True)
    moves = np.vstack([_grid_moves(letters.shape, (LEFT, DOWN, RIGHT, UP)), np.full(4, end)])  # pyright: ignore[reportArgumentType]
    moves[over] = end
    initial = np.append(letters.ravel() == "S", False)
    return TabularEnvironment(
        name,
        outcomes=Outcomes.certain(moves),
        rewards=np.append(letters.ravel() == "G", False).astype(float),
        initial=initial / initial.sum(),
        discount=discount,
        disturbances={SLIP: _sideways(Outcomes.certain(moves), [3, 0, 1, 2], [1, 2, 3, 0])},
        calm=over,
        grid=letters.shape,  # pyright: ignore[reportArgumentType]
        last=end,
        words={
            "classes": (*(LETTERS[letter] for letter in letters.ravel().tolist()), "over"),
            "action_names": ("left", "down", "right", "up"),
        },
    )


def cliff_walking(*, name: str = "cliff-walking", discount: float = 0.99) -> TabularEnvironment:
    """Make CliffWalking. Its noise models are `slip`, as on the lake, and `wind`.

    At ε = 2/3 `slip` is Gymnasium's `is_slippery`. With `wind` a move ends one cell further down, towards the cliff,
    with probability ε. The moves are up, right, down, left.

    Example:
        >>> env = cliff_walking()
        >>> env.shape, float(env.reward.min()), env.mdp(0.1, "wind").num_states
        ((4, 12), -100.0, 48)
    """
    shape = (4, 12)
    start, goal, cliff = 36, 47, np.arange(37, 47)
    moves = _grid_moves(shape, (UP, RIGHT, DOWN, LEFT))
    moves[cliff] = moves[start]
    moves[goal] = goal
    table = Outcomes.certain(moves)
    below = _grid_moves(shape, (DOWN,))[:, 0]
    rewards = np.full(48, -1.0)
    rewards[cliff], rewards[goal] = -100.0, 0.0
    return TabularEnvironment(
        name,
        outcomes=table,
        rewards=rewards,
        initial=np.eye(48)[start],
        discount=discount,
        disturbances={
            SLIP: _sideways(table, [3, 0, 1, 2], [1, 2, 3, 0]),
            WIND: Outcomes(below[table.next_states], table.probabilities),
        },
        grid=shape,
        words={
            "classes": tuple({-1.0: "ground", -100.0: "cliff", 0.0: "goal"}[pay] for pay in rewards.tolist()),
            "action_names": ("up", "right", "down", "left"),
        },
    )


PLACES = ((0, 0), (0, 4), (4, 0), (4, 3))  # Where passengers wait and want to go: red, green, yellow, blue.
WALLS = ((0, 1), (1, 1), (3, 0), (4, 0), (3, 2), (4, 2))  # To the east of these cells.
INSIDE = 4  # Where a passenger in the taxi is.


def taxi(*, name: str = "taxi", discount: float = 0.99) -> TabularEnvironment:
    """Make the environment Taxi.

    At noise ε of the model `rain` a move goes astray to either side with probability ε/2. Gymnasium's `is_rainy` with
    its `rainy_probability` p is ε = 1-p. As there, a move against a wall never goes astray. The actions are south,
    north, east, west, pick up, drop off; states are numbered as Gymnasium's, and state 500 is where the ride is over.
    The reward is `[S, A]`.

    Example:
        >>> env = taxi()
        >>> env.reward.shape, env.noise_models
        ((501, 6), ('rain', 'uniform-state', 'uniform-action'))
    """
    row, column, passenger, destination = (index.ravel() for index in np.indices((5, 5, 5, 4)))
    places = np.array(PLACES)
    waits = np.minimum(passenger, len(places) - 1)  # Any place will do for a passenger inside.
    here = np.stack([row, column], -1)
    aboard = passenger == INSIDE
    found = ~aboard & np.all(here == places[waits], -1)
    arrived = aboard & np.all(here == places[destination], -1)
    at = np.all(here[:, None] == places, -1)  # [S, places]
    dropped = np.where(aboard & at.any(-1), at.argmax(-1), passenger)

    def state(row=row, column=column, passenger=passenger):
        return ((row * 5 + column) * 5 + passenger) * 4 + destination

    walled = np.zeros((5, 6), dtype=bool)  # walled[r, c]: a wall between columns c-1 and c.
    walled[:, [0, 5]] = True
    walled[tuple(np.transpose([(r, c + 1) for r, c in WALLS]))] = True
    moves = np.stack(
        [
            state(row=np.minimum(row + 1, 4)),
            state(row=np.maximum(row - 1, 0)),
            state(column=np.where(walled[row, column + 1], column, column + 1)),
            state(column=np.where(walled[row, column], column, column - 1)),
            state(passenger=np.where(found, INSIDE, passenger)),
            np.where(arrived, 500, state(passenger=dropped)),
        ],
        -1,
    )
    rewards = np.full(moves.shape, -1.0)
    rewards[:, 4] = np.where(found, -1, -10)
    rewards[:, 5] = np.where(arrived, 20, np.where(aboard & at.any(-1), -1, -10))
    table = Outcomes.certain(np.vstack([moves, np.full((1, 6), 500)]))
    still = np.arange(501)[:, None] == table.next_states[..., 0]
    left, right = (np.where(still, np.arange(6), turn) for turn in ([2, 2, 0, 0, 4, 5], [3, 3, 1, 1, 4, 5]))
    starts = np.append(~aboard & (passenger != destination), False)
    return TabularEnvironment(
        name,
        outcomes=table,
        rewards=np.vstack([rewards, np.zeros((1, 6))]),
        initial=starts / starts.sum(),
        discount=discount,
        disturbances={RAIN: _sideways(table, left, right)},
        last=500,
        words={"action_names": ("south", "north", "east", "west", "pick up", "drop off")},
    )


def _grid_moves(shape: tuple[int, int], directions: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Return where moves lead on a grid, `[S, A]`; against its border, nowhere."""
    rows, columns = np.indices(shape).reshape(2, -1, 1)
    down, right = np.array(directions).T
    return np.clip(rows + down, 0, shape[0] - 1) * shape[1] + np.clip(columns + right, 0, shape[1] - 1)


def _sideways(table: Outcomes, left: list[int] | np.ndarray, right: list[int] | np.ndarray) -> Outcomes:
    """Return a move to either side of the one intended, as likely as each other."""
    return blend((0.5, table.after(np.asarray(left))), (0.5, table.after(np.asarray(right))))


def _letters(lake: str | tuple[str, ...]) -> np.ndarray:
    rows = LAKES.get(lake, lake) if isinstance(lake, str) else lake
    if isinstance(rows, str):
        raise InvalidInputError(f"there is no lake {rows!r}; choose one of {', '.join(LAKES)}, or give its rows.")
    letters = np.array([list(row) for row in rows]) if len({len(row) for row in rows}) == 1 else np.empty((0, 0))
    if not letters.size or not np.isin(letters, list("SFHG")).all() or not {"S", "G"} <= set(letters.ravel().tolist()):
        raise InvalidInputError(
            f"the lake is {lake!r}, but rows of equal length are needed, of the letters S, F, H and G,"
            " with at least one S (start) and one G (goal)."
        )
    return letters


register("frozen-lake", frozen_lake)
register("frozen-lake-8x8", functools.partial(frozen_lake, name="frozen-lake-8x8", lake="8x8"))
register("cliff-walking", cliff_walking)
register("taxi", taxi)
