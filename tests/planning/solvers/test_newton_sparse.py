"""Newton's method with sparse factorizations: the systems themselves, and the loop in Python."""

from types import SimpleNamespace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.chains import BandedChain, DenseChain, DisturbedChain, ListChain
from robustirl.planning.iterates import iterate
from robustirl.planning.solvers import newton_sparse as solver_file
from robustirl.planning.solvers.newton_sparse import NewtonSparse, solve_sparse
from tests.planners import newton, newton_sparse

RNG = np.random.default_rng(0)
STAY, GO = np.array([0.5, 0.2, 0.3, 0.6, 1.0]), np.array([0.5, 0.8, 0.7, 0.4, 0.0])  # The last state is never left.
BANDED = BandedChain((jnp.asarray(STAY), jnp.asarray(GO)), (0, 1))
LISTS = ListChain(jnp.asarray(RNG.integers(5, size=(2, 5))), jnp.asarray(RNG.dirichlet(np.ones(2), size=5).T))
CHAINS = {
    "array": DenseChain(jnp.asarray(RNG.dirichlet(np.ones(5), size=5))),
    "diagonals": BANDED,
    "lists": LISTS,
    "disturbed": DisturbedChain(
        BandedChain((jnp.asarray(0.7 * STAY), jnp.asarray(0.7 * GO)), BANDED.offsets),
        jnp.asarray(np.full(5, 0.3)),
        jnp.asarray(RNG.dirichlet(np.ones(5))),
    ),
}


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize("discount", [0.0, 0.9, 0.99999])
def test_a_system_is_solved_for_every_kind_of_chain(kind, discount):
    chain, right = CHAINS[kind], RNG.normal(size=5)
    matrix = np.stack([np.asarray(chain.expect(e)) for e in jnp.eye(5)], axis=1)
    exact = np.linalg.solve(np.eye(5) - discount * matrix, right)
    np.testing.assert_allclose(solve_sparse(chain, discount, right), exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())


GRID = envs.GridWorld(
    "grid", rewards=np.random.default_rng(1).uniform(-3, 0, (5, 4)).round(2), goals=((0, 0),), discount=0.9999
)


def test_a_far_sighted_grid_takes_a_few_steps_and_none_from_the_solution():
    game = MarkovGame(GRID.mdp(0.1, "uniform-action"), 0.95)
    found = newton_sparse(game, GRID.reward, initial_value=np.zeros(20))
    np.testing.assert_allclose(found.value, newton(game, GRID.reward).value, rtol=1e-9)
    assert 2 <= int(found.verdict.iterations) <= 12
    assert int(newton_sparse(game, GRID.reward, initial_value=found.value).verdict.iterations) == 0
    # Sweeps go on from where a budget ends, and are counted.
    one = newton_sparse(game, GRID.reward, initial_value=np.zeros(20), max_steps=1)
    assert int(one.verdict.iterations) > 100
    assert np.abs(one.value - found.value).max() <= float(one.verdict.error_bound + found.verdict.error_bound)


def test_it_does_not_run_inside_compiled_code(refused):
    game = MarkovGame(GRID.mdp(0.1))
    with refused("NewtonSparse cannot run inside jit; use Newton or NewtonKrylov there."):
        eqx.filter_jit(lambda reward: newton_sparse(game, reward).value)(jnp.asarray(GRID.reward))


def test_where_there_is_nothing_to_choose_one_step_is_all():
    walk = MDP(RNG.dirichlet(np.ones(5), size=(5, 1)), discount=0.9)
    found = newton_sparse(walk, RNG.normal(size=5), initial_value=np.zeros(5))
    assert int(found.verdict.iterations) == 1


def test_sweeps_follow_steps_that_brought_nothing_and_are_doubled_each_time(monkeypatch):
    # What a look finds: a residual that stays, stays, and is halved.
    sizes, swept = iter([1.0, 1.0, 1.0, 0.25, 0.0]), []

    def look(columns, value, rule, steps):
        size = next(sizes)
        return iterate(value, value + size, "chain", steps), size == 0

    monkeypatch.setattr(solver_file, "column_game", lambda *_: "columns")
    monkeypatch.setattr(solver_file, "_look", look)
    monkeypatch.setattr(solver_file, "solve_sparse", lambda chain, discount, fault: fault)
    monkeypatch.setattr(solver_file, "_sweep", lambda columns, value, count: swept.append(int(count)) or value)
    monkeypatch.setattr(solver_file, "_finish", lambda problem, columns, value, steps: (value.tolist(), int(steps)))
    game = SimpleNamespace(mdp=SimpleNamespace(discount=0.5))
    problem = SimpleNamespace(game=game, reward=None, temperatures=None, start=jnp.zeros(1), cold=False, rule=None)
    assert NewtonSparse(sweeps=3).run(problem, None) == ([1 + 1 + 1 + 0.25], 4)  # pyright: ignore
    assert swept == [6, 12]  # Nothing after the first step, and nothing once the residual is halved.
