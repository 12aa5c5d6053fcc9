"""Successor lists: a second way to store a kernel, which must give the answers of the first."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl._runtime import double_precision
from robustirl.mdp import MDP, DenseKernel, MarkovGame, SuccessorKernel, dynamics_distance
from robustirl.planning import state_occupancy
from tests.compiled import call
from tests.planners import newton, value_iteration
from tests.strategies import generators, policies

SHAPES = ((1, 1, 1), (6, 3, 4))


@st.composite
def lists(draw, shape=None, leaky=False):
    """Successors and probabilities; successors repeat within rows, places are unused, and some rows are missing."""
    states, actions, width = shape or draw(st.sampled_from(SHAPES))
    rng = draw(generators())
    places = rng.integers(states, size=(states, actions, width))
    weights = rng.dirichlet(np.full(width, draw(st.sampled_from([0.2, 2.0]))), size=(states, actions))
    if width > 1:
        weights[rng.random(weights.shape) < 0.2] = 0  # Unused places.
        weights[weights.sum(-1) == 0] = np.eye(width)[0]
        weights /= weights.sum(-1, keepdims=True)
    missing = rng.random((states, actions)) < draw(st.sampled_from([0.0, 0.4]))
    missing[np.arange(states), rng.integers(actions, size=states)] = False
    weights[missing] = 0
    if leaky:
        weights *= rng.random((states, actions, 1))
    return places, weights


def twice(arrays, leaky=False):
    """One kernel as successor list and as array."""
    places, weights = arrays
    dense = np.zeros((*places.shape[:2], len(places)))
    for s, a, k in np.ndindex(places.shape):
        dense[s, a, places[s, a, k]] += weights[s, a, k]
    return SuccessorKernel(places, weights, leaky=leaky), DenseKernel(dense, leaky=leaky)


@given(lists(), generators())
def test_every_method_agrees_with_the_dense_kernel(arrays, rng):
    listed, dense = twice(arrays)
    size = (dense.num_states, dense.num_actions)
    assert (listed.num_states, listed.num_actions) == size
    value, measure = jnp.asarray(rng.normal(size=size[0])), jnp.asarray(rng.normal(size=size))
    for method, arguments in {
        "expect": (value,),
        "push": (measure,),
        "policy_matrix": (measure,),
        "row_sums": (),
    }.items():
        one, other = (call(kernel, method, *arguments) for kernel in (listed, dense))
        np.testing.assert_allclose(one, other, atol=1e-14, err_msg=method)
    np.testing.assert_allclose(listed.to_sparse().toarray(), dense.to_sparse().toarray(), atol=1e-14)


@given(lists())
def test_the_sparse_matrix_has_one_row_a_pair_and_each_successor_once(arrays):
    listed, dense = twice(arrays)
    for matrix in (listed.to_sparse(), dense.to_sparse()):
        assert matrix.shape == (dense.num_states * dense.num_actions, dense.num_states)
        assert matrix.has_canonical_format
        assert (matrix.data > 0).all()
        rows = matrix.toarray().reshape(dense.probabilities.shape)
        np.testing.assert_allclose(rows, dense.probabilities, atol=1e-15)


@given(st.data())
def test_distances_agree_in_all_four_combinations(data):
    shape = data.draw(st.sampled_from(SHAPES))
    (one, one_dense), (two, two_dense) = (twice(data.draw(lists(shape))) for _ in range(2))
    expected = np.abs(np.asarray(one_dense.probabilities) - np.asarray(two_dense.probabilities)).sum(-1)
    for first, second in ((one, two), (two, one), (one, two_dense), (one_dense, two), (one_dense, two_dense)):
        np.testing.assert_allclose(call(first, "row_distances", second), expected, atol=1e-14)
    np.testing.assert_allclose(call(one, "row_distances", one_dense), 0, atol=1e-15)


def test_lists_of_different_length_have_a_distance():
    short = SuccessorKernel([[[1]], [[1]]], [[[1.0]], [[1.0]]])
    long = SuccessorKernel([[[1, 0, 1]], [[1, 1, 1]]], [[[0.5, 0.25, 0.25]], [[0.5, 0.25, 0.25]]])
    assert short.row_distances(long).tolist() == [[0.5], [0.0]]
    assert jax.jit(lambda one, two: one.row_distances(two))(long, short).tolist() == [[0.5], [0.0]]
    assert dynamics_distance(MDP(short, discount=0.5), MDP(long, discount=0.5)).item() == 0.5


@pytest.mark.slow
@given(st.data())
def test_planning_agrees_with_the_dense_kernel(data):
    listed, dense = twice(data.draw(lists((6, 3, 4))))
    discount = data.draw(st.sampled_from([0.0, 0.9, 0.99]))
    rng = data.draw(generators())
    initial, reward = rng.dirichlet(np.ones(dense.num_states)), rng.normal(size=dense.num_states)
    worlds = [MDP(kernel, discount=discount, initial=initial) for kernel in (listed, dense)]
    np.testing.assert_array_equal(worlds[0].mask, worlds[1].mask)
    games = [MarkovGame(world, 0.9) for world in worlds]
    for solver in (newton, value_iteration):
        one, two = (solver(game, reward) for game in games)
        np.testing.assert_allclose(one.value, two.value, atol=1e-8)
        np.testing.assert_allclose(one.player, two.player, atol=1e-8)
    policy = data.draw(policies(worlds[1]))
    one, two = (state_occupancy(world, policy) for world in worlds)
    np.testing.assert_allclose(one, two, atol=1e-12)


def test_samples_follow_the_list_also_where_a_successor_repeats():
    kernel = SuccessorKernel([[[2, 0, 2, 1]], [[1, 1, 1, 1]], [[0, 0, 1, 1]]], [[[0.3, 0.5, 0.2, 0.0]]] * 3)
    draws = 20_000
    states = jnp.repeat(jnp.arange(3), draws)
    successors = np.asarray(kernel.sample(states, jnp.zeros_like(states), key=jax.random.key(0))).reshape(3, draws)
    observed = np.stack([(successors == t).mean(-1) for t in range(3)], -1)
    expected = kernel.to_sparse().toarray()
    assert (observed[expected == 0] == 0).all()
    np.testing.assert_allclose(observed, expected, atol=4 * np.sqrt(0.25 / draws))


def test_samples_have_the_shape_of_the_pairs_and_repeat_for_the_same_key():
    kernel = SuccessorKernel(np.arange(4).reshape(1, 1, 4).repeat(4, 0), np.full((4, 1, 4), 0.25))
    states = jnp.zeros((50, 2), int)
    first, again, other = (kernel.sample(states, states, key=jax.random.key(seed)) for seed in (1, 1, 2))
    assert first.shape == (50, 2)
    np.testing.assert_array_equal(first, again)
    assert (np.asarray(first) != np.asarray(other)).any()


def test_kernels_pass_through_jit_and_vmap():
    rng = np.random.default_rng(0)
    single = [SuccessorKernel(rng.integers(3, size=(3, 2, 2)), np.full((3, 2, 2), 0.5)) for _ in range(4)]
    values = jnp.asarray(rng.normal(size=(4, 3)))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *single)
    batched = eqx.filter_vmap(lambda kernel, value: kernel.expect(value))(stacked, values)
    np.testing.assert_allclose(batched, [k.expect(v) for k, v in zip(single, values, strict=True)], atol=1e-14)
    inside = jax.jit(lambda places, weights: SuccessorKernel(places, weights).expect(values[0]))
    np.testing.assert_allclose(inside(single[0].next_states, single[0].probabilities), batched[0])


@given(lists(leaky=True), generators())
def test_a_leaky_list_loses_what_the_dense_kernel_loses(arrays, rng):
    listed, dense = twice(arrays, leaky=True)
    assert listed.leaky
    assert jax.jit(lambda kernel: kernel)(listed).leaky
    measure = jnp.asarray(rng.random((dense.num_states, dense.num_actions)))
    np.testing.assert_allclose(listed.push(measure), dense.push(measure), atol=1e-14)
    np.testing.assert_allclose(listed.row_sums(), dense.row_sums(), atol=1e-14)


def test_a_leaky_kernel_cannot_be_sampled(refused):
    kernel = SuccessorKernel([[[0]]], [[[0.9]]], leaky=True)
    with refused("leaky"):
        kernel.sample(jnp.array([0]), jnp.array([0]), key=jax.random.key(0))


def _sizes(jaxpr):
    """The sizes of everything a computation makes, inner computations included."""
    for equation in jaxpr.eqns:
        yield from (variable.aval.size for variable in equation.outvars if hasattr(variable.aval, "size"))
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "eqns")):
            yield from _sizes(getattr(inner, "jaxpr", inner)) if hasattr(inner, "eqns") else ()


def test_only_the_chain_of_a_policy_takes_the_square_of_the_states():
    states, size = 1000, (1000, 2)
    places = (np.arange(states)[:, None, None] + np.arange(2)[:, None] + np.arange(3)) % states
    kernel = SuccessorKernel(places, np.full((*size, 3), 1 / 3))
    value, measure, draws = jnp.ones(states), jnp.ones(size), jnp.arange(10)

    def largest(method, *arguments):
        return max(_sizes(jax.make_jaxpr(method)(*arguments).jaxpr))

    for product in (
        (kernel.expect, value),
        (kernel.push, measure),
        (lambda one: one.row_sums(), kernel),
        (kernel.row_distances, kernel),
        (lambda s, a: kernel.sample(s, a, key=jax.random.key(0)), draws, draws * 0),
    ):
        assert largest(*product) <= 4 * kernel.probabilities.size
    assert largest(kernel.policy_matrix, measure) == states**2


PLACES = [[[0, 1], [0, 0]], [[1, 1], [0, 1]]]
WEIGHTS = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]])


def changed(index, value):
    weights = WEIGHTS.copy()
    weights[index] = value
    return weights


BAD_LISTS = {
    "row too small": (PLACES, changed((1, 0), [0.0, 0.9]), ["state 1, action 0", "0.9", "instead of 1"]),
    "row too large": (PLACES, changed((0, 1), [1.0, 0.5]), ["state 0, action 1", "1.5", "instead of 1"]),
    "negative": (PLACES, changed((1, 1), [-0.25, 1.25]), ["negative", "state 1, action 1, successor 0", "-0.25"]),
    "nan": (PLACES, changed((0, 0, 1), np.nan), ["not finite", "state 0, action 0, successor 1", "nan"]),
    "infinite": (PLACES, changed((0, 0, 1), np.inf), ["not finite", "successor 1", "inf"]),
    "words": (PLACES, "certain", ["the probabilities of the successors", "real numbers"]),
    "other shape": (PLACES, WEIGHTS[:, :, :1], ["(2, 2, 1)", "(2, 2, 2)", "as the list of successors"]),
    "beyond the last": ([[[0, 2]], [[0, 1]]], WEIGHTS[:, :1], ["state 2", "state 0, action 0, successor 1", "0 to 1"]),
    "unused but outside": ([[[0, 9]], [[0, 1]]], np.array([[[1.0, 0.0]]] * 2), ["state 9", "probability 0"]),
    "below the first": ([[[0, 0]], [[-1, 1]]], WEIGHTS[:, :1], ["state -1", "state 1, action 0, successor 0"]),
    "not whole": (np.array(PLACES) / 2, WEIGHTS, ["float64", "whole numbers"]),
    "truth values": (np.array(PLACES) > 0, WEIGHTS, ["bool", "whole numbers"]),
    "ragged": ([[[0]], [[0, 1]]], WEIGHTS, ["the list of successors", "rectangular"]),
    "two axes": ([[0, 1]], [[0.5, 0.5]], ["(1, 2)", "(S, A, K)"]),
    "no states": (np.zeros((0, 1, 1), int), np.zeros((0, 1, 1)), ["(0, 1, 1)", "at least one state"]),
    "no successors": (np.zeros((1, 1, 0), int), np.zeros((1, 1, 0)), ["(1, 1, 0)", "successor"]),
}


@pytest.mark.parametrize(("places", "weights", "culprits"), BAD_LISTS.values(), ids=BAD_LISTS.keys())
def test_bad_lists_are_refused(places, weights, culprits, refused):
    with refused(*culprits):
        SuccessorKernel(places, weights)


def test_even_a_leaky_row_may_not_exceed_one(refused):
    with refused("state 0, action 0", "1.5"):
        SuccessorKernel([[[0, 0]]], [[[0.75, 0.75]]], leaky=True)


def test_a_row_of_zeros_is_no_action():
    world = MDP(SuccessorKernel(PLACES, changed((0, 1), [0.0, 0.0])), discount=0.5)
    assert world.mask.tolist() == [[True, False], [True, True]]


def test_kernels_of_different_sizes_have_no_distance(refused):
    with refused("(2, 2) against (1, 1)"):
        SuccessorKernel(PLACES, WEIGHTS).row_distances(SuccessorKernel([[[0]]], [[[1.0]]]))
    with refused("(2, 2) against (1, 1)"):
        SuccessorKernel(PLACES, WEIGHTS).row_distances(DenseKernel([[[1.0]]]))


def test_numpy_arrays_enter_where_double_precision_is_the_default():
    with double_precision():
        kernel = SuccessorKernel([[[0, 1]], [[1, 1]]], [[[0.5, 0.5]], [[1.0, 0.0]]])
        value: Any = np.array([2.0, 4.0])
        measure: Any = np.array([[1.0], [1.0]])
        assert kernel.expect(value).tolist() == [[3.0], [4.0]]
        assert kernel.push(measure).tolist() == [0.5, 1.5]


def test_the_worst_case_takes_half_of_the_radius_from_the_best_successors():
    kernel = SuccessorKernel([[[0, 1, 2]]] * 3, [[[0.5, 0.25, 0.25]]] * 3)
    value, radius = jnp.array([1.0, 3.0, 2.0]), jnp.array([[0.0], [0.25], [1.0]])
    found = eqx.filter_jit(lambda kernel: kernel.worst_case(value, radius).to_array())(kernel)
    # State 1 is the best and state 2 the next; state 0 is the lowest and receives what they lose.
    expected = [[0.5, 0.25, 0.25], [0.625, 0.125, 0.25], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-15)
