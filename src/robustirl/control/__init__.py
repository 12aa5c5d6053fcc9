"""Worlds known through samples: rollouts, policies, the policy gradient of one or two players, and PPO."""

from robustirl.control.policies import GaussianPolicy, linear_policy, network_policy
from robustirl.control.policy_gradient import EXPERT, PAPER, PolicyGradientConfig, solve_game, train_expert
from robustirl.control.ppo import PPOConfig
from robustirl.control.rollouts import Episodes, collect, evaluate
from robustirl.control.training import measure_returns, train_policies, train_policy
from robustirl.control.worlds import HostWorld, RewardedWorld, World

__all__ = [
    "EXPERT",
    "PAPER",
    "Episodes",
    "GaussianPolicy",
    "HostWorld",
    "PPOConfig",
    "PolicyGradientConfig",
    "RewardedWorld",
    "World",
    "collect",
    "evaluate",
    "linear_policy",
    "measure_returns",
    "network_policy",
    "solve_game",
    "train_expert",
    "train_policies",
    "train_policy",
]
