"""Kernels: one array behind an interface whose parts must agree with each other."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.errors import InvalidInputError
from robustirl.mdp import DenseKernel
from tests.strategies import SHAPES, generators, kernels, policies, worlds

TWO_ROWS = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]])


def changed(index, value):
    kernel = TWO_ROWS.copy()
    kernel[index] = value
    return kernel


@given(worlds(), generators())
def test_expect_averages_the_next_value(mdp, rng):
    value = rng.normal(size=mdp.num_states)
    dense = np.asarray(mdp.kernel.probabilities)
    expected = [[dense[s, a] @ value for a in range(mdp.num_actions)] for s in range(mdp.num_states)]
    np.testing.assert_allclose(mdp.kernel.expect(jnp.asarray(value)), expected, atol=1e-13)


@given(worlds(), generators())
def test_push_is_the_adjoint_of_expect(mdp, rng):
    value, measure = jnp.asarray(rng.normal(size=mdp.num_states)), jnp.asarray(rng.normal(size=mdp.mask.shape))
    left, right = jnp.vdot(measure, mdp.kernel.expect(value)), mdp.kernel.push(measure) @ value
    np.testing.assert_allclose(left, right, atol=1e-12)


@given(st.data())
def test_policy_matrix_agrees_with_expect_and_push(data):
    mdp = data.draw(worlds())
    policy = jnp.asarray(data.draw(policies(mdp)))
    rng = data.draw(generators())
    value, measure = jnp.asarray(rng.normal(size=mdp.num_states)), jnp.asarray(rng.normal(size=mdp.num_states))
    chain = mdp.kernel.policy_matrix(policy)
    np.testing.assert_allclose(chain @ value, (policy * mdp.kernel.expect(value)).sum(-1), atol=1e-13)
    np.testing.assert_allclose(measure @ chain, mdp.kernel.push(measure[:, None] * policy), atol=1e-13)
    np.testing.assert_allclose(chain.sum(-1), 1, atol=1e-12)


@given(st.sampled_from(SHAPES).flatmap(kernels))
def test_row_sums_are_one_or_zero_where_the_action_is_missing(drawn):
    probabilities, mask = drawn
    probabilities[~mask] = 0
    np.testing.assert_allclose(DenseKernel(probabilities).row_sums(), mask, atol=1e-12)


@given(st.data())
def test_row_distances_are_those_of_the_arrays(data):
    shape = data.draw(st.sampled_from(SHAPES))
    (one, _), (two, _) = data.draw(kernels(shape)), data.draw(kernels(shape))
    distances = DenseKernel(one).row_distances(DenseKernel(two))
    np.testing.assert_allclose(distances, np.abs(one - two).sum(-1), atol=1e-14)
    np.testing.assert_array_equal(distances, DenseKernel(two).row_distances(DenseKernel(one)))


def test_samples_follow_the_kernel():
    rng = np.random.default_rng(3)
    probabilities = rng.dirichlet(np.full(5, 0.7), size=(5, 2))
    probabilities[1, 0] = [0.0, 0.25, 0.0, 0.75, 0.0]
    probabilities[2, 1] = np.eye(5)[4]
    kernel, draws = DenseKernel(probabilities), 20_000
    states, actions = (jnp.asarray(np.repeat(index.ravel(), draws)) for index in np.indices((5, 2)))
    successors = np.asarray(kernel.sample(states, actions, key=jax.random.key(0))).reshape(5, 2, draws)
    observed = np.stack([(successors == t).sum(-1) for t in range(5)], axis=-1)
    expected = draws * probabilities
    assert (observed[expected == 0] == 0).all()
    statistic = np.where(expected > 0, (observed - expected) ** 2 / np.where(expected > 0, expected, 1), 0).sum(-1)
    freedom = (expected > 0).sum(-1) - 1
    assert (statistic <= freedom + 4 * np.sqrt(2 * freedom)).all()


def test_samples_repeat_for_the_same_key_and_differ_for_another():
    kernel = DenseKernel(np.full((4, 1, 4), 0.25))
    states, actions = jnp.zeros((50, 2), int), jnp.zeros((50, 2), int)
    first, again, other = (kernel.sample(states, actions, key=jax.random.key(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (np.asarray(first) != np.asarray(other)).any()


def test_a_leaky_kernel_may_lose_mass_and_keeps_its_flag():
    leaking = changed((0, 1), [0.9, 0.0])
    kernel = DenseKernel(leaking, leaky=True)
    assert kernel.leaky
    assert not DenseKernel(TWO_ROWS).leaky
    np.testing.assert_allclose(kernel.row_sums(), [[1, 0.9], [1, 1]])
    assert jax.jit(lambda k: k)(kernel).leaky


def test_kernels_pass_through_jit():
    value = jnp.array([1.0, 3.0])
    kernel = DenseKernel(TWO_ROWS)
    np.testing.assert_allclose(jax.jit(DenseKernel.expect)(kernel, value), kernel.expect(value))
    built_inside = jax.jit(lambda probabilities: DenseKernel(probabilities).expect(value))(jnp.asarray(TWO_ROWS))
    np.testing.assert_allclose(built_inside, kernel.expect(value))


def test_stacked_kernels_pass_through_vmap():
    rng = np.random.default_rng(0)
    single = [DenseKernel(rng.dirichlet(np.ones(3), size=(3, 2))) for _ in range(4)]
    values = jnp.asarray(rng.normal(size=(4, 3)))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *single)
    batched = eqx.filter_vmap(lambda kernel, value: kernel.expect(value))(stacked, values)
    np.testing.assert_allclose(batched, [k.expect(v) for k, v in zip(single, values, strict=True)], atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_other_number_types_become_doubles(dtype):
    kernel = DenseKernel(np.eye(2)[:, None].astype(dtype))
    assert kernel.probabilities.dtype == jnp.float64
    assert kernel.row_sums().tolist() == [[1.0], [1.0]]


BAD_KERNELS = {
    "row too small": (changed((1, 0), [0.0, 0.9]), ["state 1, action 0", "0.9", "instead of 1"]),
    "row too large": (changed((0, 1), [1.0, 0.5]), ["state 0, action 1", "1.5", "instead of 1"]),
    "first of two bad rows": (changed(([0, 1], [1, 1]), [0.9, 0.0]), ["state 0, action 1"]),
    "barely off": (changed((1, 0), [1e-9, 1.0]), ["state 1, action 0"]),
    "negative": (changed((1, 1), [-0.25, 1.25]), ["negative", "state 1, action 1, successor 0", "-0.25"]),
    "nan": (changed((0, 0, 1), np.nan), ["not finite", "state 0, action 0, successor 1", "nan"]),
    "infinite": (changed((0, 0, 1), np.inf), ["not finite", "state 0, action 0, successor 1", "inf"]),
    "two axes": (np.eye(2), ["(2, 2)", "(S, A, S)"]),
    "not square": (np.full((2, 1, 3), 1 / 3), ["(2, 1, 3)", "(S, A, S)"]),
    "no states": (np.zeros((0, 1, 0)), ["(0, 1, 0)", "at least one state"]),
    "no actions": (np.zeros((2, 0, 2)), ["(2, 0, 2)", "at least one state and action"]),
    "ragged": ([[[1.0]], [[0.5, 0.5]]], ["the transition kernel", "rectangular"]),
    "a string": ("stay", ["the transition kernel", "real numbers"]),
    "complex": (np.eye(2)[:, None] * 1j, ["the transition kernel", "complex"]),
    "nothing": (None, ["the transition kernel", "real numbers"]),
}


@pytest.mark.parametrize(("kernel", "culprits"), BAD_KERNELS.values(), ids=BAD_KERNELS.keys())
def test_bad_kernels_are_refused(kernel, culprits, refused):
    with refused(*culprits):
        DenseKernel(kernel)


@pytest.mark.parametrize(("excess", "dtype"), [(1e-12, np.float64), (5e-11, np.float64), (1e-6, np.float32)])
def test_rows_off_by_rounding_are_accepted_and_straightened(excess, dtype):
    kernel = DenseKernel(changed((1, 0), [excess, 1.0]).astype(dtype))
    np.testing.assert_allclose(kernel.row_sums(), 1, atol=4e-16)


def test_a_missing_action_and_a_leaky_row_are_not_straightened():
    assert DenseKernel(changed((1, 0), [0.0, 0.0])).row_sums().tolist() == [[1, 1], [0, 1]]
    np.testing.assert_allclose(DenseKernel(TWO_ROWS * 0.9, leaky=True).row_sums(), 0.9)


def test_even_a_leaky_row_may_not_exceed_one(refused):
    with refused("state 0, action 0", "1.5"):
        DenseKernel([[[1.5]]], leaky=True)


def test_a_leaky_kernel_cannot_be_sampled(refused):
    kernel = DenseKernel([[[0.9]]], leaky=True)
    with refused("leaky"):
        kernel.sample(jnp.array([0]), jnp.array([0]), key=jax.random.key(0))


def test_kernels_of_different_sizes_have_no_distance(refused):
    with refused("(2, 2) against (1, 1)"):
        DenseKernel(TWO_ROWS).row_distances(DenseKernel([[[1.0]]]))


def test_the_error_can_be_caught_as_a_value_error():
    assert issubclass(InvalidInputError, ValueError)
