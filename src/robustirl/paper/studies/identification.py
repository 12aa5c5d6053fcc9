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
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robustirl import envs
from robustirl._runtime import double_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.theory import IdentifiedSet, identify, rank_worlds

MOVES = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
DISCOUNT = 0.9
WEAK = 0.01


class Case(NamedTuple):
    """A family of worlds: experts by name, in the order in which they come.

    All but the first few are candidates.
    """

    name: str
    experts: dict[str, MDP]
    known: int


class Outcome(NamedTuple):
    """What is left open after each expert of a case.

    For each candidate it holds what would be left open beside the known experts.
    """

    case: Case
    found: IdentifiedSet
    candidates: list[tuple[str, IdentifiedSet]]


def grid(side: int, *, walls: bool, wind: str | None = None, failing: str | None = None, strength: float = 0.2) -> MDP:
    """Return a square grid with four moves.

    The wind may make one of them, or one of them may fail.

    Args:
        side: The number of rows and of columns.
        walls: Whether moves stop at the border; else they go round.
        wind: The move that the wind may make in place of any chosen one: north, east, south or west.
        failing: The move that may fail, so that nothing happens.
        strength: How probable either is.

    Example:
        >>> grid(2, walls=False, wind="east", strength=0.25).kernel.to_array()[0, 0].tolist()  # From a corner, north.
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


def make_cases(side: int = 4, strength: float = 0.2) -> list[Case]:
    """Return the grids and the groups of buses."""
    with double_precision():
        cases = []
        for name, walls in (("torus", False), ("walls", True)):
            experts = {
                "calm": grid(side, walls=walls),
                "wind east": grid(side, walls=walls, wind="east", strength=strength),
                "wind north": grid(side, walls=walls, wind="north", strength=strength),
                "north fails": grid(side, walls=walls, failing="north", strength=strength),
            }
            cases.append(Case(name, experts, known=2))
        return [*cases, Case("buses", {f"group {n}": envs.buses(n).mdp() for n in (4, 3, 1, 2)}, known=1)]


def examine(case: Case) -> Outcome:
    """Return what the experts of a case leave open."""
    names, worlds = list(case.experts), list(case.experts.values())
    found = identify(worlds)
    ranked = rank_worlds(worlds[: case.known], worlds[case.known :])
    return Outcome(case, found, [(names[place + case.known], one) for place, one in ranked])


@register_study("identification")
@dataclasses.dataclass(frozen=True)
class IdentificationStudy:
    """Count what several experts leave open about a reward, on windy grids and on Rust's buses."""

    side: int = 4
    """Rows of the grids; even, so that the torus is a checkerboard."""
    strength: float = 0.2
    """How probable wind, and the failure of a move, are."""

    def run(self, frame: Frame) -> None:
        """Write two tables and a figure."""
        from robustirl.paper.figures import figure_identification  # Here, because it loads matplotlib.

        if self.side < 2 or self.side % 2:
            raise InvalidInputError(f"--side is {self.side}, but an even number of at least 2 is needed.")
        if not 0 < self.strength < 1:
            raise InvalidInputError(f"--strength is {self.strength!r}, but a number between 0 and 1 is needed.")
        outcomes = [examine(case) for case in make_cases(self.side, self.strength)]
        frame.write_table("identification", ("worlds", "experts", "open", f"weaker than {WEAK:g}"), counts(outcomes))
        headings = ("worlds", "known", "next", "open", f"weaker than {WEAK:g}", "weakest identified strength")
        frame.write_table("identification-next", headings, next_experts(outcomes), "Which further expert tells most")
        drawn = {one.case.name: (one.found.dimensions, one.found.nearly_open(WEAK)) for one in outcomes}
        (buses,) = (one for one in outcomes if one.case.name == "buses")
        weakest = {
            one.case.name: {name: float(left.strengths[-1][1]) for name, left in one.candidates} for one in outcomes
        }
        frame.save_figure(
            "identification",
            figure_identification(drawn, list(buses.case.experts), buses.found.strengths, weakest, WEAK),
        )


def counts(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return how many directions are open after each expert."""
    rows = []
    for case, found, _ in outcomes:
        for place, (dimension, weak) in enumerate(zip(found.dimensions, found.nearly_open(WEAK), strict=True)):
            rows.append((case.name, ", ".join(list(case.experts)[: place + 1]), str(dimension), str(weak)))
    return rows


def next_experts(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return what each candidate would leave open, the best first."""
    return [
        (
            case.name,
            ", ".join(list(case.experts)[: case.known]),
            name,
            str(found.dimensions[-1]),
            str(found.nearly_open(WEAK)[-1]),
            f"{found.sharpness:.2g}",
        )
        for case, _, ranked in outcomes
        for name, found in ranked
    ]
