"""What an expert left behind: trajectories, their files, and the occupancy they show with its error."""

from robustirl.demonstrations.alpha import AlphaEstimate as AlphaEstimate
from robustirl.demonstrations.alpha import estimate_alpha as estimate_alpha
from robustirl.demonstrations.chain import TransitionCounts as TransitionCounts
from robustirl.demonstrations.chain import transition_counts as transition_counts
from robustirl.demonstrations.checks import absorbing_states as absorbing_states
from robustirl.demonstrations.concentration import episodes_needed as episodes_needed
from robustirl.demonstrations.concentration import l1_radius as l1_radius
from robustirl.demonstrations.files import load as load
from robustirl.demonstrations.files import save as save
from robustirl.demonstrations.gymnasium import rollout_gymnasium as rollout_gymnasium
from robustirl.demonstrations.minari import from_minari as from_minari
from robustirl.demonstrations.minari import to_minari as to_minari
from robustirl.demonstrations.occupancy import OccupancyEstimate as OccupancyEstimate
from robustirl.demonstrations.occupancy import estimate_occupancy as estimate_occupancy
from robustirl.demonstrations.rollouts import sample_demonstrations as sample_demonstrations
from robustirl.demonstrations.trajectories import Demonstrations as Demonstrations
from robustirl.demonstrations.trajectories import Episode as Episode
