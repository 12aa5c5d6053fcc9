"""Annotated shapes and types are those of what is computed: one world through every solver and one fit, checked.

A wrong annotation is seen here, in one world through every solver and a fit.
"""

import subprocess
import sys

PROGRAM = """
import jaxtyping
jaxtyping.install_import_hook(
    "robustirl", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
)
import numpy as np
from robustirl import MarkovGame, envs, fit, planning

for model in ("uniform-action", "uniform-state"):
    world = envs.make("gridworld-1").mdp(0.1, model)
    reward = np.linspace(-1.0, 0.0, world.num_states)
    values = []
    solvers = (planning.ValueIteration(), planning.Newton(), planning.krylov.NewtonKrylov(), None)
    for solver in solvers:
        solution = planning.solve(MarkovGame(world, 0.9), reward, solver=solver)
        values.append(np.asarray(solution.value))
    assert max(np.abs(value - values[0]).max() for value in values) < 1e-6
occupancy = planning.state_occupancy(world, solution.player)
for alpha in (1.0, 0.9):
    print(fit(world, occupancy, alpha=alpha, steps=3, throw=False).reward.shape)
envs.make(1.5)
"""


def test_solvers_and_a_fit_have_the_types_they_promise():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["(100,)", "(100,)"], done.stderr[-2000:]
    # The check itself is on: the last line gives a number where a name is due.
    assert "TypeCheckError" in done.stderr
