"""Worlds known through samples: rollouts, policies, the policy gradient of one or two players, and PPO."""

from robustirl.control.policies import GaussianPolicy
from robustirl.control.policy_gradient import EXPERT, PAPER, PolicyGradientConfig, solve_game, train_expert
from robustirl.control.ppo import PPOConfig
from robustirl.control.rollouts import collect, evaluate
from robustirl.control.training import measure_returns, train_policy
from robustirl.control.worlds import World

__all__ = [
    "EXPERT",
    "PAPER",
    "GaussianPolicy",
    "PPOConfig",
    "PolicyGradientConfig",
    "World",
    "collect",
    "evaluate",
    "measure_returns",
    "solve_game",
    "train_expert",
    "train_policy",
]
