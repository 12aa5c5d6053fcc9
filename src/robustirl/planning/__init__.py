"""Plan in known worlds: Bellman operators, solvers, evaluation of policies, experts."""

from robustirl.planning.evaluation import discounted_return as discounted_return
from robustirl.planning.evaluation import policy_value as policy_value
from robustirl.planning.evaluation import sampled_total_return as sampled_total_return
from robustirl.planning.evaluation import state_action_occupancy as state_action_occupancy
from robustirl.planning.evaluation import state_occupancy as state_occupancy
from robustirl.planning.evaluation import total_return as total_return
from robustirl.planning.experts import expert_policy as expert_policy
from robustirl.planning.krylov import NewtonKrylov as NewtonKrylov
from robustirl.planning.newton import Newton as Newton
from robustirl.planning.operators import Temperatures as Temperatures
from robustirl.planning.solve import solve as solve
from robustirl.planning.value_iteration import ValueIteration as ValueIteration
from robustirl.planning.value_iteration import backward_induction as backward_induction
from robustirl.planning.verdict import Solution as Solution
from robustirl.planning.verdict import Verdict as Verdict

__all__ = [
    "Newton",
    "NewtonKrylov",
    "Solution",
    "Temperatures",
    "ValueIteration",
    "Verdict",
    "backward_induction",
    "discounted_return",
    "expert_policy",
    "policy_value",
    "sampled_total_return",
    "solve",
    "state_action_occupancy",
    "state_occupancy",
    "total_return",
]
