"""The figures of the paper and of the studies: they read records and draw; nothing is computed here."""

from matplotlib.figure import Figure as Figure

from robustirl.paper.figures.continuous import figure_continuous as figure_continuous
from robustirl.paper.figures.identification import figure_identification as figure_identification
from robustirl.paper.figures.landscape import figure_landscape as figure_landscape
from robustirl.paper.figures.maps import figure_maps as figure_maps
from robustirl.paper.figures.readme import figure_front as figure_front
from robustirl.paper.figures.returns import figure_alpha_study as figure_alpha_study
from robustirl.paper.figures.returns import figure_gap as figure_gap
from robustirl.paper.figures.returns import figure_returns as figure_returns
from robustirl.paper.figures.studies import figure_convergence as figure_convergence
from robustirl.paper.figures.studies import figure_layouts as figure_layouts
from robustirl.paper.figures.studies import figure_robust_experts as figure_robust_experts
from robustirl.paper.figures.studies import figure_sampled as figure_sampled
from robustirl.paper.figures.studies import figure_transfer as figure_transfer
from robustirl.paper.figures.trajectories import figure_trajectories as figure_trajectories
from robustirl.paper.figures.transfer import figure_regrets as figure_regrets
from robustirl.plotting import figure_fit as figure_fit
from robustirl.plotting import figure_theory as figure_theory
from robustirl.plotting import save_figure as save_figure
