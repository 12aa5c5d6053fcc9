"""Figures of the library's objects: one of the two rooms that import matplotlib."""

from robustirl.plotting.alpha import figure_alpha as figure_alpha
from robustirl.plotting.film import figure_strip as figure_strip
from robustirl.plotting.film import save_film as save_film
from robustirl.plotting.fit import figure_fit as figure_fit
from robustirl.plotting.layouts import layout_of as layout_of
from robustirl.plotting.maps import bare as bare
from robustirl.plotting.maps import draw_policy as draw_policy
from robustirl.plotting.maps import draw_reward_map as draw_reward_map
from robustirl.plotting.maps import landmarks as landmarks
from robustirl.plotting.maps import occupancy_bar as occupancy_bar
from robustirl.plotting.maps import scaled as scaled
from robustirl.plotting.objects import ShownFigure as ShownFigure
from robustirl.plotting.objects import plot_certificate as plot_certificate
from robustirl.plotting.objects import plot_demonstrations as plot_demonstrations
from robustirl.plotting.objects import plot_fit as plot_fit
from robustirl.plotting.style import LEARNER as LEARNER
from robustirl.plotting.style import OPTIMAL as OPTIMAL
from robustirl.plotting.style import ROBUST as ROBUST
from robustirl.plotting.style import STANDARD as STANDARD
from robustirl.plotting.style import STYLE as STYLE
from robustirl.plotting.style import Look as Look
from robustirl.plotting.style import bottom_legend as bottom_legend
from robustirl.plotting.style import looks as looks
from robustirl.plotting.style import plain_text as plain_text
from robustirl.plotting.style import save_figure as save_figure
from robustirl.plotting.theory import figure_theory as figure_theory

__all__ = ["figure_fit", "save_figure"]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "draw_reward_map",
    "figure_alpha",
    "figure_fit",
    "figure_theory",
    "save_figure",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
