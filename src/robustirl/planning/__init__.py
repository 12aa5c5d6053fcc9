"""Known model to value, policy, occupancy: Bellman operators, solvers, evaluation, experts."""

from typing import TYPE_CHECKING

from robustirl._runtime import deprecated_names
from robustirl.planning._deprecated import choose_method as choose_method
from robustirl.planning._deprecated import newton as newton
from robustirl.planning._deprecated import newton_sparse as newton_sparse
from robustirl.planning._deprecated import value_iteration as value_iteration
from robustirl.planning.backward_induction import backward_induction as backward_induction
from robustirl.planning.evaluation import discounted_return as discounted_return
from robustirl.planning.evaluation import policy_value as policy_value
from robustirl.planning.evaluation import state_action_occupancy as state_action_occupancy
from robustirl.planning.evaluation import state_occupancy as state_occupancy
from robustirl.planning.evaluation import total_return as total_return
from robustirl.planning.experts import expert_policy as expert_policy
from robustirl.planning.experts import require_expert_kind as require_expert_kind
from robustirl.planning.iterates import Iterate as Iterate
from robustirl.planning.iterates import choose as choose
from robustirl.planning.iterates import iterate as iterate
from robustirl.planning.linear.dense import PolicyInverse as PolicyInverse
from robustirl.planning.linear.dense import invert_matrix as invert_matrix
from robustirl.planning.linear.dense import invert_policy as invert_policy
from robustirl.planning.linear.dense import refine_occupancy as refine_occupancy
from robustirl.planning.linear.dense import solve_policy as solve_policy
from robustirl.planning.linear.dense import solve_policy_roughly as solve_policy_roughly
from robustirl.planning.linear.dense import solve_policy_transpose as solve_policy_transpose
from robustirl.planning.linear.dense import writes_matrices as writes_matrices
from robustirl.planning.operators import Temperatures as Temperatures
from robustirl.planning.operators import as_temperatures as as_temperatures
from robustirl.planning.operators import hard_backup as hard_backup
from robustirl.planning.operators import is_zero as is_zero
from robustirl.planning.operators import soft_backup as soft_backup
from robustirl.planning.operators import soft_maximum as soft_maximum
from robustirl.planning.operators import tie_margin as tie_margin
from robustirl.planning.operators import traced_temperatures as traced_temperatures
from robustirl.planning.operators import two_player_backup as two_player_backup
from robustirl.planning.padding import cut as cut
from robustirl.planning.padding import extended as extended
from robustirl.planning.padding import pad_alpha as pad_alpha
from robustirl.planning.padding import pad_world as pad_world
from robustirl.planning.sampling import sampled_total_return as sampled_total_return
from robustirl.planning.solve import choose_solver as choose_solver
from robustirl.planning.solve import solve as solve
from robustirl.planning.solvers.base import AbstractSolver as AbstractSolver
from robustirl.planning.solvers.following import MeanAccuracy as MeanAccuracy
from robustirl.planning.solvers.newton import Newton as Newton
from robustirl.planning.solvers.newton import newton_steps as newton_steps
from robustirl.planning.solvers.newton_krylov import NewtonKrylov as NewtonKrylov
from robustirl.planning.solvers.newton_sparse import NewtonSparse as NewtonSparse
from robustirl.planning.solvers.value_iteration import ValueIteration as ValueIteration
from robustirl.planning.solvers.value_iteration import most_sweeps as most_sweeps
from robustirl.planning.verdict import Solution as Solution
from robustirl.planning.verdict import StoppingRule as StoppingRule
from robustirl.planning.verdict import Verdict as Verdict
from robustirl.planning.verdict import checked as checked
from robustirl.planning.verdict import stopping_rule as stopping_rule

if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)

__all__ = ["discounted_return", "expert_policy", "policy_value", "solve", "state_occupancy", "total_return"]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "AbstractSolver",
    "Newton",
    "NewtonKrylov",
    "NewtonSparse",
    "Solution",
    "Temperatures",
    "ValueIteration",
    "Verdict",
    "backward_induction",
    "discounted_return",
    "expert_policy",
    "hard_backup",
    "policy_value",
    "sampled_total_return",
    "soft_backup",
    "solve",
    "state_action_occupancy",
    "state_occupancy",
    "total_return",
    "two_player_backup",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
