"""Worlds known through samples: rollouts, policies, and the policy gradient of one or two players."""

from typing import TYPE_CHECKING

from robustirl._runtime import deprecated_names
from robustirl.control.checks import as_key as as_key
from robustirl.control.checks import list_worlds as list_worlds
from robustirl.control.checks import require_one_kind as require_one_kind
from robustirl.control.checks import require_policy as require_policy
from robustirl.control.checks import world_width as world_width
from robustirl.control.config import EXPERT as EXPERT
from robustirl.control.config import PAPER as PAPER
from robustirl.control.config import PolicyGradientConfig as PolicyGradientConfig
from robustirl.control.config import require_choice as require_choice
from robustirl.control.evaluation import Evaluation as Evaluation
from robustirl.control.evaluation import evaluate as evaluate
from robustirl.control.host_training import episodes_of as episodes_of
from robustirl.control.host_worlds import HostField as HostField
from robustirl.control.host_worlds import HostStep as HostStep
from robustirl.control.host_worlds import HostWorld as HostWorld
from robustirl.control.interface import RewardedWorld as RewardedWorld
from robustirl.control.interface import World as World
from robustirl.control.memory import SINGLE as SINGLE
from robustirl.control.memory import count_weights as count_weights
from robustirl.control.memory import require_episodes as require_episodes
from robustirl.control.memory import require_history as require_history
from robustirl.control.memory import require_training as require_training
from robustirl.control.networks import Network as Network
from robustirl.control.networks import Scale as Scale
from robustirl.control.policies import GaussianPolicy as GaussianPolicy
from robustirl.control.policies import linear_policy as linear_policy
from robustirl.control.policies import network_policy as network_policy
from robustirl.control.policy_gradient import Ascent as Ascent
from robustirl.control.policy_gradient import Players as Players
from robustirl.control.policy_gradient import begin as begin
from robustirl.control.ppo import Agents as Agents
from robustirl.control.ppo import RewardFunction as RewardFunction
from robustirl.control.ppo import folded as folded
from robustirl.control.ppo_config import PPOConfig as PPOConfig
from robustirl.control.ppo_training import PolicyTraining as PolicyTraining
from robustirl.control.ppo_training import measure_returns as measure_returns
from robustirl.control.ppo_training import stacked as stacked
from robustirl.control.ppo_training import train_policies as train_policies
from robustirl.control.ppo_training import train_policy as train_policy
from robustirl.control.ppo_training import training_setting as training_setting
from robustirl.control.ppo_training import usual_horizon as usual_horizon
from robustirl.control.rollouts import Episodes as Episodes
from robustirl.control.rollouts import collect as collect
from robustirl.control.schedules import falling_rate as falling_rate
from robustirl.control.segments import Segment as Segment
from robustirl.control.segments import Walkers as Walkers
from robustirl.control.segments import walk as walk
from robustirl.control.stretches import begin_batch as begin_batch
from robustirl.control.stretches import join_logs as join_logs
from robustirl.control.stretches import stretch_of as stretch_of
from robustirl.control.stretches import take_batch as take_batch
from robustirl.control.training import Training as Training
from robustirl.control.training import game_steps as game_steps
from robustirl.control.training import initial_players as initial_players
from robustirl.control.training import solve_game as solve_game
from robustirl.control.training import train_expert as train_expert
from robustirl.control.updates import Judge as Judge
from robustirl.control.updates import Progress as Progress
from robustirl.control.updates import Setting as Setting

if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)

__all__ = ["train_policy"]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "EXPERT",
    "PAPER",
    "Episodes",
    "Evaluation",
    "GaussianPolicy",
    "PPOConfig",
    "Players",
    "PolicyGradientConfig",
    "RewardedWorld",
    "Training",
    "World",
    "collect",
    "evaluate",
    "linear_policy",
    "measure_returns",
    "network_policy",
    "solve_game",
    "train_expert",
    "train_policy",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
