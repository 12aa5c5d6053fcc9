"""Guarantees from data over the number of episodes, beside what is attained and the truth."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robustirl.plotting import OPTIMAL, ROBUST, STANDARD, STYLE


@runtime_checkable
class GuaranteeRow(Protocol):
    """The fields that are drawn; see `robustirl.paper.studies.guarantees.Row`."""

    @property
    def pair(self) -> str: ...
    @property
    def episodes(self) -> int: ...
    @property
    def shortfall(self) -> float: ...
    @property
    def attained(self) -> float: ...
    @property
    def truth(self) -> float: ...
    @property
    def without_data(self) -> float: ...


def figure_guarantees(rows: Sequence[GuaranteeRow]) -> Figure:
    """Draw the bound, what is attained and the truth over episodes, one panel a pair of worlds.

    Args:
        rows: Guarantees beside the truth, as the study `guarantees` computes them.
    """
    names = list(dict.fromkeys(row.pair for row in rows))
    across = min(3, len(names))
    down = -(-len(names) // across)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.1 * across + 0.4, 2.7 * down + 0.3), layout="constrained")
        axes = np.ravel(figure.subplots(down, across, sharex=True, sharey=True))
        for axis, name in zip(axes, names, strict=False):
            own = [row for row in rows if row.pair == name]
            counts = sorted({row.episodes for row in own})

            def means(field: str, own: list = own, counts: list[int] = counts) -> list[float]:
                return [float(np.nanmean([getattr(r, field) for r in own if r.episodes == n])) for n in counts]

            axis.axhline(np.mean([row.without_data for row in own]), color=OPTIMAL, linestyle=":", label="without data")
            axis.plot(counts, means("shortfall"), color=ROBUST[4], marker="o", label="guarantee (95 %)")
            axis.plot(
                counts, means("attained"), color=ROBUST[1], marker="^", linestyle="--", label="attained by a reward"
            )
            axis.plot(counts, means("truth"), color=STANDARD, marker="s", label="true reward, worst world")
            axis.set_xscale("log")
            axis.set_title(name, fontsize=9)
        for axis in axes[len(names) :]:
            axis.set_axis_off()
        axes[0].set_ylim(0, 1)
        figure.supxlabel("episodes", fontsize=10)
        figure.supylabel("shortfall of the policy (returns from 0 to 1)", fontsize=10)
        axes[min(1, len(names) - 1)].legend(fontsize=7, loc="upper right", bbox_to_anchor=(1, 0.92))
    return figure
