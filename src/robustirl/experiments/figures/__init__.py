"""All figures; the one room that imports matplotlib. It reads records and draws; nothing is computed here."""

from matplotlib.figure import Figure as Figure

from robustirl.experiments.figures.continuous import figure_continuous as figure_continuous
from robustirl.experiments.figures.fit import figure_fit as figure_fit
from robustirl.experiments.figures.front import figure_front as figure_front
from robustirl.experiments.figures.landscape import figure_landscape as figure_landscape
from robustirl.experiments.figures.maps import draw_reward_map as draw_reward_map
from robustirl.experiments.figures.maps import figure_maps as figure_maps
from robustirl.experiments.figures.returns import figure_alpha_study as figure_alpha_study
from robustirl.experiments.figures.returns import figure_gap as figure_gap
from robustirl.experiments.figures.returns import figure_returns as figure_returns
from robustirl.experiments.figures.studies import figure_convergence as figure_convergence
from robustirl.experiments.figures.studies import figure_layouts as figure_layouts
from robustirl.experiments.figures.studies import figure_robust_experts as figure_robust_experts
from robustirl.experiments.figures.studies import figure_sampled as figure_sampled
from robustirl.experiments.figures.studies import figure_transfer as figure_transfer
from robustirl.experiments.figures.style import save_figure as save_figure
from robustirl.experiments.figures.theory import figure_theory as figure_theory
from robustirl.experiments.figures.trajectories import figure_trajectories as figure_trajectories
