"""Linear systems without a matrix: each part against what it should do by itself, since the whole mends a weak part."""

import inspect
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse.linalg

from robustirl.mdp.dense import DenseChain
from robustirl.planning.linear.krylov import UNROLLED, bicgstab, correction, solve_chain, sweeps, system

SIZE = 12
RNG = np.random.default_rng(0)
CHAIN = DenseChain(jnp.asarray(RNG.dirichlet(np.full(SIZE, 0.2), size=SIZE)))
RIGHT = jnp.asarray(RNG.normal(size=SIZE))
SIDES = pytest.mark.parametrize("transposed", [False, True])


def matrix(discount, transposed=False):
    chain = np.asarray(CHAIN.matrix)
    return np.eye(SIZE) - discount * (chain.T if transposed else chain)


def operator(discount, transposed=False):
    return system(CHAIN, jnp.asarray(discount), transposed=transposed)


@SIDES
def test_the_system_is_the_matrix(transposed):
    np.testing.assert_allclose(operator(0.9, transposed)(RIGHT), matrix(0.9, transposed) @ RIGHT, atol=1e-14)


@jax.jit
def roughly(discount, reduction, most):
    """`bicgstab` on the chain; without its type checks, which want numbers, all cases are one program."""
    return inspect.unwrap(bicgstab)(system(CHAIN, discount), RIGHT, reduction, most)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_bicgstab_is_scipys(count):
    found, products = roughly(0.9, 0.0, count)
    theirs, _ = scipy.sparse.linalg.bicgstab(matrix(0.9), np.asarray(RIGHT), rtol=0.0, maxiter=count)
    assert int(products) == 2 * count
    np.testing.assert_allclose(found, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reduction", [0.3, 1e-2, 1e-10])
def test_bicgstab_stops_where_it_is_asked_to(reduction):
    found, products = roughly(0.99, reduction, 500)
    left = np.linalg.norm(RIGHT - matrix(0.99) @ found)
    assert left <= 1.001 * reduction * np.linalg.norm(RIGHT)
    before, fewer = roughly(0.99, 0.0, int(products) // 2 - 1)
    assert fewer == products - 2
    assert np.linalg.norm(RIGHT - matrix(0.99) @ before) > reduction * np.linalg.norm(RIGHT)


def test_bicgstab_stops_by_the_measure_it_is_given():
    def left(found):
        return abs(RIGHT - matrix(0.99) @ found).max()

    found, products = bicgstab(operator(0.99), RIGHT, 0.01, 500, jnp.max)
    before, _ = roughly(0.99, 0.0, int(products) // 2 - 1)
    assert left(found) <= 0.01001 * abs(RIGHT).max() < left(before)


def test_bicgstab_starts_again_when_it_breaks_down():
    # Around a ring in one direction the residual leaves the first one's only state for ever.
    ring = DenseChain(jnp.roll(jnp.eye(60), 1, axis=1))
    apply = system(ring, jnp.asarray(0.8))
    right = jnp.zeros(60).at[0].set(1.0)
    found, products = bicgstab(apply, right, 1e-6, 200)
    assert np.linalg.norm(right - apply(found)) <= 1.001e-6
    assert int(products) < 400
    # It breaks down in the first step. The second is then a first one, from the residual that is left.
    once, _ = bicgstab(apply, right, 0.0, 1)
    anew, _ = bicgstab(apply, right - apply(once), 0.0, 1)
    np.testing.assert_allclose(bicgstab(apply, right, 0.0, 2)[0], once + anew, atol=1e-12)


def test_bicgstab_gives_up_what_is_worse_than_nothing():
    # A rotation by nearly a right angle: the first step makes the residual longer.
    turn = jnp.array([[0.05, -1.0], [1.0, 0.05]])
    found, products = bicgstab(lambda x: turn @ x, jnp.array([1.0, 0.0]), 1e-9, 1)
    left = np.linalg.norm(jnp.array([1.0, 0.0]) - turn @ found)
    assert left <= 1
    assert int(products) == 2


def moved(x):
    return 0.99 * CHAIN.expect(x)


def test_sweeps_are_the_series_they_should_be():
    exact, power = np.zeros(SIZE), np.asarray(RIGHT)
    series = []
    for _ in range(2 * UNROLLED + 1):
        exact, power = exact + power, 0.99 * np.asarray(CHAIN.matrix) @ power
        series.append(exact)
    run = jax.jit(lambda share, most: inspect.unwrap(sweeps)(moved, RIGHT, jnp.max, share, most))
    for share, most, count in ((0.0, UNROLLED, UNROLLED), (0.0, UNROLLED + 1, 2 * UNROLLED), (1.0, 1000, UNROLLED)):
        np.testing.assert_allclose(run(share, most), series[count], rtol=1e-12)


def test_sweeps_go_on_from_a_start_unless_it_is_good_enough():
    start = jnp.asarray(np.linalg.solve(matrix(0.99), RIGHT)) + 1.0
    run = jax.jit(lambda share, whole: inspect.unwrap(sweeps)(moved, RIGHT, jnp.max, share, 1, whole, start))
    # A sweep changes every entry by 1 - 0.99 of what is too much.
    np.testing.assert_allclose(run(1e-3, 10.1), start - 0.01, rtol=1e-12)
    np.testing.assert_allclose(run(1e-3, 9.9), start - 1 + 0.99 ** (UNROLLED + 1), rtol=1e-12)


def test_bicgstab_may_end_by_another_share():
    first = float(jnp.linalg.norm(RIGHT))
    run = jax.jit(lambda whole: inspect.unwrap(bicgstab)(operator(0.99), RIGHT, 0.1, 500, None, whole))
    assert run(10 * first)[1] == 0
    assert run(first)[1] == roughly(0.99, 0.1, 500)[1] > 0
    assert run(1e-6 * first)[1] == roughly(0.99, 1e-7, 500)[1]


corrected = eqx.filter_jit(correction)


@pytest.mark.parametrize(("transposed", "reduction", "allowed"), [(False, None, 1e-2), (True, 1e-4, 1e-4)])
def test_a_correction_leaves_the_share_it_may(transposed, reduction, allowed):
    for discount, scale in itertools.product((0.9, 0.999), (1e-200, 1.0, 1e200)):
        fault = scale * RIGHT
        found = corrected(CHAIN, jnp.asarray(discount), fault, transposed=transposed, reduction=reduction)
        left = np.asarray(fault / scale) - matrix(discount, transposed) @ np.asarray(found / scale)
        assert np.linalg.norm(left) <= 1.1 * allowed * np.linalg.norm(fault / scale)
    assert not corrected(CHAIN, jnp.asarray(0.9), 0 * RIGHT, transposed=transposed, reduction=reduction).any()


def test_a_constant_fault_has_a_constant_correction():
    for discount in (0.9, 0.99):
        found = corrected(CHAIN, jnp.asarray(discount), jnp.full(SIZE, 3.0))
        assert np.unique(found).size == 1
        np.testing.assert_allclose(found, 3 / (1 - discount), rtol=1e-12)
    nearly = jnp.full(SIZE, 3.0).at[0].add(1e-4)
    assert np.unique(corrected(CHAIN, jnp.asarray(0.9), nearly)).size > 1


def relative(found, discount, transposed=False):
    return np.linalg.norm(RIGHT - matrix(discount, transposed) @ found) / np.linalg.norm(RIGHT)


def test_far_sighted_worlds_are_corrected_in_full_precision_and_others_in_half():
    assert relative(corrected(CHAIN, jnp.asarray(0.9996), RIGHT, reduction=1e-12), 0.9996) <= 1e-11
    assert 1e-10 < relative(corrected(CHAIN, jnp.asarray(0.9), RIGHT, reduction=1e-12), 0.9) < 1e-5


def test_a_fault_of_low_precision_gets_a_correction_of_low_precision():
    low = DenseChain(CHAIN.matrix.astype(jnp.float32))
    found = corrected(low, jnp.asarray(0.9, jnp.float32), RIGHT.astype(jnp.float32))
    assert found.dtype == jnp.float32
    assert relative(np.asarray(found, float), 0.9) <= 0.011


@pytest.mark.parametrize(("transposed", "reduction", "allowed"), [(True, None, 1e-3), (False, 1e-5, 1e-5)])
def test_on_an_accelerator_sweeps_do_the_same(monkeypatch, transposed, reduction, allowed):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")  # The program is the one of a GPU; it runs here, too.
    run = jax.jit(lambda discount: correction(CHAIN, discount, RIGHT, transposed=transposed, reduction=reduction))
    measure = np.sum if transposed else np.max
    left = np.asarray(RIGHT) - matrix(0.9, transposed) @ np.asarray(run(0.9))
    assert measure(np.abs(left)) <= allowed * measure(np.abs(RIGHT))
    # Beyond what float32 can tell, BiCGStab in full precision.
    assert relative(run(0.9999), 0.9999, transposed) <= (1e-2 if reduction is None else reduction)


solve = jax.jit(solve_chain, static_argnames="transposed")


@SIDES
@pytest.mark.parametrize("discount", [0.0, 0.9, 0.999])
def test_a_solution_is_as_exact_as_rounding_lets_it_be(discount, transposed):
    found, size, solved = solve(CHAIN, jnp.asarray(discount), RIGHT, RIGHT, jnp.asarray(0.0), transposed=transposed)
    exact = np.linalg.solve(matrix(discount, transposed), RIGHT)
    scale = np.abs(exact).sum()
    assert bool(solved)
    assert float(size) <= 16 * np.finfo(float).eps * (np.abs(RIGHT).sum() + scale)
    np.testing.assert_allclose(found, exact, atol=1e-13 * scale / (1 - discount))


@SIDES
def test_a_goal_is_enough(transposed):
    measure = np.sum if transposed else np.max
    start = jnp.asarray(np.linalg.solve(matrix(0.9, transposed), RIGHT) + 1e-5)
    left = measure(np.abs(RIGHT - matrix(0.9, transposed) @ np.asarray(start)))
    kept, size, solved = solve(CHAIN, jnp.asarray(0.9), RIGHT, start, jnp.asarray(1.01 * left), transposed=transposed)
    np.testing.assert_array_equal(kept, start)
    np.testing.assert_allclose(size, left, rtol=1e-9)
    assert bool(solved)
    better, size, _ = solve(CHAIN, jnp.asarray(0.9), RIGHT, start, jnp.asarray(0.99 * left), transposed=transposed)
    assert float(size) <= 0.99 * left
    assert np.abs(better - start).max() > 1e-6


@SIDES
def test_where_corrections_are_of_no_use_sweeps_get_there(monkeypatch, transposed):
    monkeypatch.setattr(
        "robustirl.planning.linear.krylov._correction", lambda _, __, fault, *___, **____: jnp.zeros_like(fault)
    )
    found, _, solved = solve_chain(CHAIN, jnp.asarray(0.9), RIGHT, RIGHT, transposed=transposed)
    assert bool(solved)
    np.testing.assert_allclose(found, np.linalg.solve(matrix(0.9, transposed), RIGHT), rtol=1e-12, atol=1e-12)
    # They go on until the residual is halved, and no further: the first such sum of the series.
    measure, system = (np.sum if transposed else np.max), matrix(0.9, transposed)
    whole, x = measure(np.abs(RIGHT)), np.zeros(SIZE)
    while (left := measure(np.abs(RIGHT - system @ x))) > whole / 2:
        x = x + (np.asarray(RIGHT) - system @ x)
    once, size, _ = solve_chain(CHAIN, jnp.asarray(0.9), RIGHT, jnp.zeros(SIZE), 0.99 * whole, transposed=transposed)
    np.testing.assert_allclose(once, x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(size, left)
