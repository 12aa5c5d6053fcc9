r"""What several experts leave open about a reward, and which further world would leave the least.

`theory.identify` on three families of worlds, for any reward of states and actions:

    torus    a grid without walls and of even side. Every move changes the color of a checkerboard, and so does wind:
             a reward of white cells is left open by any number of winds. An expert whose moves north may fail, where
             the color depends on the choice, tells it.
    walls    a grid where moves against a wall stay. One wind identifies the reward up to a constant.
    buses    Rust's groups. If mileage could grow without end, the potential v(x) = x would be left open by all groups
             together: E[v(x + j)] - v(x) is the mean growth, a constant. Only the last bin, where mileage stays, tells
             it, and the strength of that direction is small.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from experiments.runner import Where
from experiments.tables import Output
from robustirl import envs
from robustirl._jax import double_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.theory import identify
from robustirl.theory.identify import rank_worlds

MOVES = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
DISCOUNT = 0.9
WEAK = 0.01


class Case(NamedTuple):
    """A family of worlds: experts in the order in which they come; all but the first few are candidates."""

    name: str
    experts: dict[str, MDP]
    known: int


def grid(side: int, *, walls: bool, wind: str | None = None, failing: str | None = None, strength: float = 0.2) -> MDP:
    """Return a square grid with four moves.

    Args:
        side: The number of rows and of columns.
        walls: Whether moves stop at the border; else they go round.
        wind: The move that the wind may make in place of any chosen one: north, east, south or west.
        failing: The move that may fail, so that nothing happens.
        strength: How probable either is.

    Example:
        >>> grid(2, walls=False, wind="east", strength=0.25).kernel.dense()[0, 0].tolist()  # From a corner, north.
        [0.0, 0.25, 0.75, 0.0]
    """
    rows, columns = np.divmod(np.arange(side * side), side)
    targets = []
    for down, right in MOVES.values():
        ends = (rows + down, columns + right)
        ends = [np.clip(end, 0, side - 1) if walls else end % side for end in ends]
        targets.append(ends[0] * side + ends[1])
    chosen = np.eye(side * side)[np.stack(targets, 1)]
    kernel = chosen.copy()
    if wind is not None:
        kernel = (1 - strength) * kernel + strength * chosen[:, [list(MOVES).index(wind)]]
    if failing is not None:
        kernel[:, list(MOVES).index(failing)] *= 1 - strength
        kernel[:, list(MOVES).index(failing)] += strength * np.eye(side * side)
    return MDP(kernel, discount=DISCOUNT)


def cases(side: int = 4, strength: float = 0.2) -> list[Case]:
    """Return the grids and the groups of buses."""
    winds = {"wind east": {"wind": "east"}, "wind north": {"wind": "north"}, "north fails": {"failing": "north"}}
    found = []
    for name, walls in (("torus", False), ("walls", True)):
        blown = {label: grid(side, walls=walls, strength=strength, **options) for label, options in winds.items()}
        found.append(Case(name, {"calm": grid(side, walls=walls), **blown}, known=2))
    return [*found, Case("buses", {f"group {n}": envs.buses(n).mdp() for n in (4, 3, 1, 2)}, known=1)]


@dataclasses.dataclass(frozen=True)
class Study:
    """Count what several experts leave open about a reward, on windy grids and on Rust's buses."""

    side: int = 4
    """Rows of the grids; even, so that the torus is a checkerboard."""
    strength: float = 0.2
    """How probable wind, and the failure of a move, are."""

    def run(self, out: Output, where: Where) -> None:  # noqa: ARG002
        """Write how many directions are open after each expert, and what each candidate would leave open."""
        if self.side < 2 or self.side % 2 or not 0 < self.strength < 1:
            raise InvalidInputError("--side must be even and at least 2, and --strength between 0 and 1.")
        counts, further = [], []
        with double_precision():
            for name, experts, known in cases(self.side, self.strength):
                names, worlds = list(experts), list(experts.values())
                found = identify(worlds)
                for place, numbers in enumerate(zip(found.dimensions, found.nearly_open(WEAK), strict=True)):
                    counts.append((name, ", ".join(names[: place + 1]), *numbers))
                for place, left in rank_worlds(worlds[:known], worlds[known:]):
                    numbers = left.dimensions[-1], left.nearly_open(WEAK)[-1], f"{left.sharpness:.2g}"
                    further.append((name, ", ".join(names[:known]), names[place + known], *numbers))
        weak = f"weaker than {WEAK:g}"
        out.table("identification", ("worlds", "experts", "open", weak), counts)
        headings = ("worlds", "known", "next", "open", weak, "weakest identified strength")
        out.table("identification-next", headings, further)
