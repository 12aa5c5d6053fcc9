"""Measured gaps, bounds and certificates over growing mismatch."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from robustirl.envs import Environment
from robustirl.plotting.style import OPTIMAL, ROBUST, STANDARD, STYLE, plain_text

ZERO_GAP = 1e-6


@runtime_checkable
class MismatchReport(Protocol):
    """What is drawn of one pair of worlds; `robustirl.reports.PairReport` has it."""

    @property
    def distance(self) -> float: ...
    @property
    def trivial(self) -> float: ...
    @property
    def optimal_return(self) -> float: ...
    @property
    def standard(self) -> Any: ...
    @property
    def robust(self) -> Any: ...


def figure_theory(environment: Environment, reports: Sequence[MismatchReport], note: str = "") -> Figure:
    """Draw measured gaps, their bounds and certificates over the mismatch of learner and expert."""
    reports = sorted(reports, key=lambda report: report.distance)
    distances = [report.distance for report in reports]
    standard, robust = [r.standard for r in reports], [r.robust for r in reports]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 4.3), layout=ConstrainedLayoutEngine(w_pad=0.12))
        left, right = figure.subplots(1, 2)
        for learned, color, marker, name in (
            (standard, STANDARD, "o", "standard"),
            (robust, ROBUST[3], "v", "robust"),
        ):
            gaps = [
                entry.gap if entry.gap > ZERO_GAP else np.nan for entry in learned
            ]  # Zero has no place on a log scale.
            label = f"measured gap, {name}" + (" (zero throughout)" if np.isnan(gaps).all() else "")
            left.plot(distances, gaps, color=color, marker=marker, markersize=4.5, label=label)
            limits = [entry.bound.value or np.nan for entry in learned]
            theorem = learned[-1].bound.name  # At the largest mismatch; without any, α is 1 for both.
            left.plot(distances, limits, color=color, linestyle="--", linewidth=1.1, label=f"{theorem}, {name}")
        left.axhline(reports[0].trivial, color=OPTIMAL, linestyle=":", linewidth=1.4, label="largest gap there can be")
        positive = [max(e.gap, e.bound.value) for e in standard + robust if e.bound.value > 0]
        smallest = min([e.gap for e in standard + robust if e.gap > ZERO_GAP], default=1e-3)
        left.set_yscale("log")
        left.set_ylim(smallest / 3, max([reports[0].trivial, *positive]) * 3)
        left.set_title("gap to the policy learned without mismatch")
        left.set_ylabel("discounted return, log scale")
        for learned, color, name in ((standard, STANDARD, "standard"), (robust, ROBUST[3], "robust")):
            worst = [float(entry.certificate.worst_return) for entry in learned]
            best = [float(entry.certificate.best_return) for entry in learned]
            nominal = [float(entry.certificate.nominal_return) for entry in learned]
            right.fill_between(distances, worst, best, color=color, alpha=0.13, linewidth=0)
            right.plot(distances, worst, color=color, linewidth=1.1, linestyle="--", label=f"worst case, {name}")
            right.plot(distances, nominal, color=color, marker="o", markersize=3.5, label=f"return, {name}")
        right.axhline(reports[0].optimal_return, color=OPTIMAL, linestyle=":", linewidth=1.4, label="optimal")
        right.set_title("certificate: all kernels within that distance")
        right.set_ylabel("discounted return")
        for axis in (left, right):
            axis.set_xlabel(r"mismatch $d_{\mathrm{dyn}}(T^L, T^E)$")
            axis.legend(fontsize=7.5)
        figure.suptitle(plain_text(environment.name) + (f"   ({note})" if note else ""), fontsize=11)
    return figure
