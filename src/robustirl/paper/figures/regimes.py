"""Where robustness pays: the gain of every robust α over α = 1, condition by condition."""

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

from robustirl.errors import InvalidInputError
from robustirl.paper.finite.layouts import Interval
from robustirl.paper.studies.regime_results import ConditionResult
from robustirl.plotting import STYLE, bottom_legend, looks

WIDE = 8.0
"""From this ratio of the largest to the smallest number on, an axis is logarithmic on both sides of zero."""


def figure_regimes(results: Sequence[ConditionResult]) -> Figure:
    """Draw a row per condition: returns on the left, the gain of each robust α on the right.

    The gain is over α = 1. Bars are 95 % intervals. Filled markers say that the intervals of α and of α = 1 do not
    overlap.
    """
    names = list(dict.fromkeys(f.name for f in results))
    if not names:
        raise InvalidInputError("there are no results to draw; run the study first.")
    alphas = sorted({f.alpha for f in results}, reverse=True)
    styles = looks(alphas)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.5, 1.6 + 0.55 * len(names)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        handles: dict[str, object] = {}
        for result in results:
            look = styles[result.alpha]
            shift = 0.6 * (alphas.index(result.alpha) / max(len(alphas) - 1, 1) - 0.5)
            place = names.index(result.name) + shift
            for axes, value in ((left, result.returns), (right, result.gain)):
                if axes is right and result.alpha == 1:
                    continue
                sure = result.alpha == 1 or result.verdict != "open"
                handles[look.label] = axes.errorbar(
                    value.mean,
                    place,
                    xerr=[[value.mean - value.low], [value.high - value.mean]],
                    fmt=look.marker,
                    color=look.color,
                    markerfacecolor=look.color if sure else "white",
                    markersize=5,
                    capsize=2,
                    linewidth=1,
                )
        _stretch(left, [f.returns for f in results])
        _stretch(right, [f.gain for f in results if f.alpha < 1])
        left.set_yticks(range(len(names)), names)
        left.invert_yaxis()
        left.set_xlabel("mean return in the learner's world")
        right.axvline(0, color="#444444", linewidth=0.8)
        right.set_xlabel(r"gain over α = 1, same seeds")
        left.set_title("returns")
        right.set_title("what robustness gains (filled: intervals apart)")
        labels = [styles[alpha].label for alpha in alphas if styles[alpha].label in handles]
        bottom_legend(figure, [handles[label] for label in labels], labels)
    return figure


def _stretch(axes: Axes, values: Sequence[Interval]) -> None:
    """Use a symmetric log axis where one failed seed would make all other conditions look alike."""
    sizes = sorted(abs(v.mean) for v in values if v.mean)
    if not sizes:
        return
    largest = max(max(abs(v.low), abs(v.high)) for v in values)
    if largest < WIDE * sizes[len(sizes) // 2]:
        return
    linear = 10.0 ** max(1, len(str(int(sizes[0]))) - 1)
    axes.set_xscale("symlog", linthresh=linear)
    subs = [1.0, 3.0] if largest < 100 * linear else [1.0]
    axes.xaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=linear, subs=subs))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.tick_params(axis="x", labelsize=7)
