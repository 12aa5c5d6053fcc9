"""The planners by name, as tests call them."""

from robustirl.planning import Newton, ValueIteration, solve
from robustirl.planning.krylov import NewtonKrylov


def newton(game, reward, **options):
    return solve(game, reward, solver=Newton(), **options)


def newton_krylov(game, reward, **options):
    return solve(game, reward, solver=NewtonKrylov(), **options)


def value_iteration(game, reward, **options):
    return solve(game, reward, solver=ValueIteration(), **options)
