"""The solvers by name, for tests that compare them: `solve` with one solver each."""

import functools

from robustirl.planning import Newton, NewtonSparse, ValueIteration, solve

newton = functools.partial(solve, solver=Newton())
newton_sparse = functools.partial(solve, solver=NewtonSparse())
value_iteration = functools.partial(solve, solver=ValueIteration())
