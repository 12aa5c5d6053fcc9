"""Every form of a kernel is the array that it stands for, and its parts agree with each other."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from robustirl._jax import single_precision
from robustirl.mdp import MDP
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.lists import EntryKernel, ListKernel
from robustirl.mdp.mixtures import MixtureKernel
from tests.strategies import generators, undisturbed_randomness

STATES, ACTIONS = 11, 3
assert_close = functools.partial(np.testing.assert_allclose, rtol=0)


@st.composite
def arrays(draw):
    """`[S, A, S]` with rows of any length, equal rows, actions that do not exist and states that absorb."""
    rng = draw(generators())
    longest = draw(st.sampled_from([1, 3, STATES]))
    array = np.zeros((STATES, ACTIONS, STATES))
    for row in array.reshape(-1, STATES):
        length = rng.integers(1, longest + 1)
        row[rng.permutation(STATES)[:length]] = rng.dirichlet(np.ones(length))
    alike = rng.random((STATES, ACTIONS)) < draw(st.sampled_from([0.0, 0.5]))
    array[alike] = array[0, 0]
    array[rng.integers(STATES)] = np.eye(STATES)[rng.integers(STATES)]
    missing = rng.random((STATES, ACTIONS)) < draw(st.sampled_from([0.0, 0.4]))
    missing[np.arange(STATES), rng.integers(ACTIONS, size=STATES)] = False
    array[missing] = 0
    return array


@st.composite
def forms(draw):
    """Kernels in every form, and the arrays that they stand for."""
    array, rng = draw(arrays()), draw(generators())
    weights = rng.random(STATES) * (rng.random(STATES) < 0.7)
    distribution = rng.dirichlet(np.ones(STATES))
    exists = array.sum(-1) > 0
    shares = rng.dirichlet(np.ones(ACTIONS), STATES) * exists
    shares /= shares.sum(-1, keepdims=True)
    thrown = (weights[:, None] * exists)[..., None]
    anywhere = (1 - weights)[:, None, None] * array + thrown * distribution
    mistaken = (1 - weights)[:, None, None] * array + thrown * np.einsum("sa,sat->st", shares, array)[:, None]
    pairs, targets = (part.ravel().astype(np.int32) for part in np.indices((STATES * ACTIONS, STATES)))
    both = (1 - weights)[:, None, None] * mistaken + thrown * distribution
    with undisturbed_randomness():
        twice = MixtureKernel(DenseKernel(array), weights, shares=shares)
        dense, lists = DenseKernel(array), ListKernel(scipy.sparse.csr_array(array.reshape(-1, STATES)), num_actions=3)
        return {
            "array": (dense, array),
            "lists": (lists, array),
            "draws of states": (MixtureKernel(lists, weights, distribution=distribution), anywhere),
            "other actions": (MixtureKernel(lists, weights, shares=shares), mistaken),
            "both": (MixtureKernel(twice, weights, distribution=distribution), both),
            "entries": (
                EntryKernel(*(jax.device_put(part) for part in (pairs, targets, array.ravel(), exists))),
                array,
            ),
        }


@jax.jit
def _answers(kernels, value, measure, policy):
    """What all kernels say, in one program."""
    return {form: _answers_of(kernel, value, measure, policy) for form, kernel in kernels.items()}


def _answers_of(kernel, value, measure, policy):
    chain = kernel.chain(policy)
    return {
        "dense": kernel.dense(),
        "expect": kernel.expect(value),
        "push": kernel.push(measure),
        "sums": kernel.row_sums(),
        "available": kernel.available(),
        "chain": chain.dense(),
        "chain expect": chain.expect(value),
        "chain push": chain.push(value),
    }


@given(forms(), generators())
def test_every_form_is_its_array(kernels, rng):
    value, measure = rng.normal(size=STATES), rng.normal(size=(STATES, ACTIONS))
    policy = rng.normal(size=(STATES, ACTIONS))  # Chains are linear in any weights.
    given = map(jnp.asarray, (value, measure, policy))
    answers = _answers({form: kernel for form, (kernel, _) in kernels.items()}, *given)
    for form, (_, array) in kernels.items():
        found, chain = answers[form], np.einsum("sa,sat->st", policy, array)
        wanted = {
            "dense": array,
            "expect": array @ value,
            "push": np.einsum("sa,sat->t", measure, array),
            "sums": array.sum(-1),
            "available": array.any(-1),
            "chain": chain,
            "chain expect": chain @ value,
            "chain push": value @ chain,
        }
        for name, answer in found.items():
            assert_close(answer, wanted[name], atol=1e-13, err_msg=f"{form}: {name}")
        adjoint = np.vdot(measure, found["expect"]) - found["push"] @ value
        assert abs(adjoint) < 1e-12, form
        assert_close(found["sums"], found["available"], atol=1e-12)


@given(forms())
def test_every_form_goes_to_scipy_and_back(kernels):
    for form, (kernel, array) in kernels.items():
        matrix = kernel.to_sparse()
        assert_close(matrix.toarray().reshape(array.shape), array, atol=1e-14, err_msg=form)
        back = ListKernel(matrix, num_actions=ACTIONS)
        assert_close(back.to_sparse().toarray(), matrix.toarray(), atol=1e-15, err_msg=form)
        stays = array[np.arange(STATES), :, np.arange(STATES)]
        assert_close(kernel.self_transitions(), stays, atol=1e-14, err_msg=form)


def test_chains_go_to_scipy():
    array = np.random.default_rng(0).dirichlet(np.ones(4), size=(4, 2))
    policy = jnp.full((4, 2), 0.5)
    lists = ListKernel(scipy.sparse.csr_array(array.reshape(-1, 4)), num_actions=2)
    for kernel in (DenseKernel(array), lists, MixtureKernel(lists, np.zeros(4), distribution=np.full(4, 0.25))):
        assert_close(kernel.chain(policy).to_sparse().toarray(), array.mean(1), atol=1e-15)


@given(forms(), arrays())
def test_distances_are_those_of_the_arrays(kernels, other):
    theirs = DenseKernel(other)
    for form, (kernel, array) in kernels.items():
        wanted = np.abs(array - other).sum(-1)
        assert_close(kernel.row_distances(theirs), wanted, atol=1e-13, err_msg=form)
        assert_close(theirs.row_distances(kernel), wanted, atol=1e-13, err_msg=form)
    one, rows = kernels["draws of states"]
    calmer = MixtureKernel(one.base, np.asarray(one.weights) / 2, distribution=one.distribution)
    wanted = np.abs(rows - np.asarray(calmer.dense())).sum(-1)  # The noise in common is not written out.
    assert_close(one.row_distances(calmer), wanted, atol=1e-13)
    elsewhere = MixtureKernel(one.base, one.weights, distribution=np.eye(STATES)[0])
    wanted = np.abs(rows - np.asarray(elsewhere.dense())).sum(-1)
    assert_close(one.row_distances(elsewhere), wanted, atol=1e-13)
    traced = jax.jit(lambda a, b: a.row_distances(b))(one, elsewhere)
    assert_close(traced, wanted, atol=1e-13)


@jax.jit
def _worst(kernel, value, radius):
    worst = kernel.worst_case(value, radius)
    return worst.dense(), worst.expect(value)


def _moved(row, value, mass):
    """A row of which so much mass goes from the successors of highest value to the state of lowest value."""
    row = row.copy()
    for state in np.argsort(-value):
        part = min(mass, row[state])
        row[state] -= part
        row[np.argmin(value)] += part
        mass -= part
    return row


@given(forms(), generators())
def test_the_worst_case_moves_mass_from_the_best_successors_to_the_worst_state(kernels, rng):
    value, radius = rng.normal(size=STATES), 2 * rng.random((STATES, ACTIONS))
    for form in ("array", "lists"):
        kernel, array = kernels[form]
        wanted = [[_moved(array[s, a], value, radius[s, a] / 2) for a in range(ACTIONS)] for s in range(STATES)]
        rows, expected = _worst(kernel, jnp.asarray(value), jnp.asarray(radius))
        assert_close(rows, wanted, atol=1e-13, err_msg=form)
        assert_close(expected, np.asarray(wanted) @ value, atol=1e-12, err_msg=form)


@given(arrays(), generators())
def test_a_permutation_of_states_permutes_the_answers(array, rng):
    order = rng.permutation(STATES)
    value, measure = rng.normal(size=STATES), rng.random((STATES, ACTIONS))
    moved = array[order][:, :, order]
    one, two = (ListKernel(scipy.sparse.csr_array(t.reshape(-1, STATES)), num_actions=ACTIONS) for t in (array, moved))
    first, second = (
        _answers({"lists": kernel}, *map(jnp.asarray, given))["lists"]
        for kernel, given in ((one, (value, measure, measure)), (two, (value[order], measure[order], measure[order])))
    )
    for name in ("expect", "push", "chain expect"):
        assert_close(np.asarray(first[name])[order], second[name], atol=1e-13)


def test_rows_off_by_rounding_are_straightened_and_others_are_not():
    rows = np.array([[[1.0, 0.0]], [[5e-11, 1.0]]])
    lists = ListKernel(scipy.sparse.csr_array(rows.reshape(2, 2)), num_actions=1)
    for kernel in (DenseKernel(rows), lists):
        assert_close(kernel.row_sums(), 1, atol=4e-16)
    leaky = ListKernel(scipy.sparse.csr_array(0.9 * rows.reshape(2, 2)), num_actions=1, leaky=True)
    for kernel in (DenseKernel(0.9 * rows, leaky=True), leaky):
        assert_close(kernel.row_sums(), 0.9, atol=1e-9)
        assert jax.jit(lambda k: k)(kernel).leaky


def test_shares_of_actions_may_leak_where_that_is_said():
    base = DenseKernel(np.eye(2)[:, None])
    leaky = MixtureKernel(base, [0.4, 0.0], shares=[[0.5], [0.0]], leaky=True)
    assert_close(leaky.row_sums(), [[0.8], [1.0]])


def test_stacked_kernels_pass_through_vmap():
    rng = np.random.default_rng(0)
    rows = [rng.dirichlet(np.ones(3), size=(3, 2)) for _ in range(4)]
    values, policy = jnp.asarray(rng.normal(size=(4, 3))), jnp.full((3, 2), 0.5)
    for make in (DenseKernel, lambda t: ListKernel(scipy.sparse.csr_array(t.reshape(6, 3)), num_actions=2)):
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(make, rows))
        batched = jax.vmap(lambda kernel, v: (kernel.expect(v), kernel.chain(policy).push(v)))(stacked, values)
        assert_close(batched[0], [t @ v for t, v in zip(rows, values, strict=True)], atol=1e-14)
        wanted = [v @ t.mean(1) for t, v in zip(rows, values, strict=True)]
        assert_close(batched[1], wanted, atol=1e-14)


def test_products_are_differentiable_in_values_and_policies():
    array = np.random.default_rng(0).dirichlet(np.ones(5), size=(5, 2))
    lists = ListKernel(scipy.sparse.csr_array(array.reshape(10, 5)), num_actions=2)
    value, policy = jnp.arange(5.0), jnp.full((5, 2), 0.5)
    slopes = [
        jax.grad(lambda p, k=k: (k.chain(p).expect(value) ** 2).sum())(policy) for k in (lists, DenseKernel(array))
    ]
    assert_close(*slopes, atol=1e-12)


def test_kernels_work_in_single_precision():
    with single_precision():
        world = MDP(np.eye(3)[:, None], discount=0.5)
        lists = ListKernel(scipy.sparse.eye_array(3, format="csr"), num_actions=1)
        for kernel in (world.kernel, lists):
            assert kernel.expect(jnp.ones(3)).dtype == kernel.push(jnp.ones((3, 1))).dtype == jnp.float32


@pytest.mark.parametrize("form", ["array", "lists"])
def test_a_state_that_is_reached_from_nowhere_is_pushed_nothing(form):
    array = np.zeros((3, 1, 3))
    array[:, 0, 1] = 1
    lists = ListKernel(scipy.sparse.csr_array(array[:, 0]), num_actions=1)
    kernel = {"array": DenseKernel(array), "lists": lists}[form]
    assert kernel.push(jnp.ones((3, 1))).tolist() == [0, 3, 0]
