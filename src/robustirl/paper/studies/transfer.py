"""How far does a learned reward carry? Learn it in one world, plan with it in changed ones, measure the regret.

A task is a learner's world and demonstrations by experts; a method turns it into a reward (`transfer_methods.py`, one
function each). The reward is planned with in a family of changed worlds (`transfer_families.py`). The regret of the
optimal policy for it is measured there (`transfer_runs.py`).
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from robustirl.errors import InvalidInputError
from robustirl.paper.statistics import t_half_width
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.paper.studies.transfer_families import FAMILIES, Change, Family, make_family
from robustirl.paper.studies.transfer_methods import METHODS, load_methods
from robustirl.paper.studies.transfer_runs import TransferRecord, specs_of


class Regrets(NamedTuple):
    """What every method loses in every changed world.

    Attributes:
        methods: `M` names.
        changes: `C` changed worlds.
        values: `[M, C, N]`, the regrets of N draws.
    """

    methods: tuple[str, ...]
    changes: tuple[Change, ...]
    values: Float[np.ndarray, "M C N"]


def regrets_of(family: Family, records: Sequence[TransferRecord]) -> Regrets:
    """Return the regrets of one family's runs, in the order of their methods, changes and draws."""
    found = {(record.spec.method, record.spec.change, record.spec.draw): record.regret for record in records}
    methods, _, draws = (tuple(dict.fromkeys(key)) for key in zip(*found, strict=True))
    values = [[[found[m, c, draw] for draw in draws] for c in range(len(family.changes))] for m in methods]
    return Regrets(methods, family.changes, np.array(values))


def interval(values: Float[np.ndarray, " N"]) -> tuple[float, float]:
    """Return a mean over draws, and the half width of its 95 % interval (Student's t).

    The half width is NaN for a single draw.

    Example:
        >>> mean, width = interval(np.array([0.1, 0.2, 0.3]))  # 4.303 · 0.1 / √3
        >>> round(mean, 3), round(width, 3)
        (0.2, 0.248)
    """
    return float(values.mean()), t_half_width(values) if values.size > 1 else float("nan")


@register_study("transfer", aliases=("reward-transfer",))
@dataclasses.dataclass(frozen=True)
class RewardTransfer:
    """Plan with learned rewards in changed worlds.

    Noise, blocked cells, starts, actions, slips and groups of buses change.
    """

    families: tuple[str, ...] = tuple(FAMILIES)
    """Which families of worlds: gridworld, frozen-lake, buses."""
    episodes: int = 200
    """How many episodes each expert records."""
    draws: int = 10
    """How many times demonstrations are drawn."""

    def run(self, frame: Frame) -> None:
        """Learn, plan, and write tables and curves of regrets."""
        from robustirl.paper.figures import figure_regrets  # Here, because it loads matplotlib.

        for name in self.families:
            if name not in FAMILIES:
                known = ", ".join(FAMILIES)
                raise InvalidInputError(f"there is no family {name!r}; choose of {known}.")
        for name, value in (("--draws", self.draws), ("--episodes", self.episodes)):
            if value < 1:
                raise InvalidInputError(f"{name} is {value}, but at least 1 is needed.")
        load_methods()
        families = {name: make_family(name) for name in self.families}
        records = frame.compute(specs_of(families, self.episodes, self.draws))
        found = [
            regrets_of(family, [record for record in records if record.spec.family == name])
            for name, family in families.items()
        ]
        rows = []
        for part in found:
            for c, change in enumerate(part.changes):
                pairs = [interval(part.values[m, c]) for m in range(len(part.methods))]
                rows.append((change.kind, f"{change.strength:.3g}", *(f"{mean:.4f} ± {w:.4f}" for mean, w in pairs)))
        frame.write_table("transfer", ("change", "strength", *METHODS), rows)
        frame.write_table("transfer-summary", ("change", *METHODS), summarize(found), "Mean regret over strengths")
        frame.save_figure("transfer", figure_regrets(curves(found)))


def summarize(found: list[Regrets]) -> list[tuple[str, ...]]:
    """Return mean regrets over the strengths of each kind of change, with intervals over draws."""
    rows = []
    for part in found:
        for kind in dict.fromkeys(change.kind for change in part.changes):
            own = [c for c, change in enumerate(part.changes) if change.kind == kind]
            pairs = [interval(values[own].mean(0)) for values in part.values]
            rows.append((kind, *(f"{mean:.4f} ± {width:.4f}" for mean, width in pairs)))
    return rows


def curves(found: list[Regrets]) -> dict[str, dict[str, list[tuple[float, float, float]]]]:
    """Return for every kind of change and method: strength, mean and half width of its interval."""
    drawn: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for part in found:
        for c, change in enumerate(part.changes):
            for m, method in enumerate(part.methods):
                point = (change.strength, *interval(part.values[m, c]))
                drawn.setdefault(change.kind, {}).setdefault(method, []).append(point)
    return drawn
