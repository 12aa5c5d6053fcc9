"""Plan in known worlds: Bellman operators, solvers, evaluation of policies, experts."""

from robustirl.planning.evaluation import discounted_return as discounted_return
from robustirl.planning.evaluation import policy_value as policy_value
from robustirl.planning.evaluation import sampled_total_return as sampled_total_return
from robustirl.planning.evaluation import state_occupancy as state_occupancy
from robustirl.planning.evaluation import total_return as total_return
from robustirl.planning.experts import expert_policy as expert_policy
from robustirl.planning.newton import Newton as Newton
from robustirl.planning.operators import Temperatures as Temperatures
from robustirl.planning.solve import solve as solve
from robustirl.planning.value_iteration import ValueIteration as ValueIteration

__all__ = [
    "Newton",
    "Temperatures",
    "ValueIteration",
    "discounted_return",
    "expert_policy",
    "policy_value",
    "sampled_total_return",
    "solve",
    "state_occupancy",
    "total_return",
]
