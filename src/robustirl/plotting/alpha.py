"""What decided on an automatic α: explained and missed visits, and the gain, over the candidates."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robustirl.irl import AlphaSelection
from robustirl.plotting.style import OPTIMAL, ROBUST, STANDARD, STYLE


def figure_alpha(selection: AlphaSelection) -> Figure:
    """Draw the curves of `select_alpha`.

    The left ones decide which α are admissible, the right ones which of them is chosen.

    Example:
        >>> from robustirl.irl import select_alpha
        >>> from robustirl.demonstrations import Demonstrations
        >>> from robustirl.mdp import MDP
        >>> world = MDP([[[0.5, 0.5], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> walks = Demonstrations.from_arrays([[0, 0, 1], [0, 1]] * 10, terminated=True)
        >>> len(figure_alpha(select_alpha(world, walks, candidates=[1.0, 0.9])).axes)
        2
    """
    strength = 1 - selection.candidates
    chosen = 1 - selection.alpha
    edges = np.concatenate([strength[:1], (strength[1:] + strength[:-1]) / 2, strength[-1:]])
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot(strength, selection.most_missed, color=ROBUST[3], marker="v", label="what it may miss")
        left.plot(strength, selection.missed, color=ROBUST[1], marker="D", label="what it misses")
        left.set(title="what the opponent misses", ylabel="visits, l1 distance")
        right.errorbar(
            strength, selection.gain, np.nan_to_num(selection.gain_error, posinf=0.0), color=STANDARD, marker="o",
            capsize=3, label="gain over α = 1",
        )  # fmt: skip
        right.axhline(0, color=OPTIMAL, linewidth=1)
        right.set(title="gain by the rewards of two halves", ylabel="discounted return")
        for axis in (left, right):
            axis.set_xlabel("1 - α, the opponent's share")
            for count, place in enumerate(np.flatnonzero(~selection.admissible)):
                label = "not admissible" if count == 0 else None
                axis.axvspan(edges[place], edges[place + 1], color="#eeeeee", linewidth=0, zorder=0, label=label)
            axis.axvline(chosen, color=ROBUST[4], linestyle="--", label=f"chosen, α = {selection.alpha:g}")
            axis.legend(fontsize=8)
    return figure
