"""What the room refuses, and the words of the sentence that tell what to do."""

import functools
import inspect

import numpy as np
import pytest
import scipy.sparse

from robustirl._jax import single_precision
from robustirl.demonstrations import Demonstrations
from robustirl.mdp import MDP, MarkovGame, dynamics_distance, from_function, from_sparse
from robustirl.mdp.builders import from_successors
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.mdp import as_world, require_discount
from robustirl.mdp.mixtures import MixtureKernel
from robustirl.mdp.policy import as_action_reward, as_occupancy, as_policy, as_reward, policy_distance
from robustirl.mdp.sharding import shard_states

KERNEL = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]])
TWO_ROWS = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]])
RECORDED = Demonstrations.from_arrays([[0, 1, 0, 2]], [[0, 0, 1]])


@functools.cache  # Not at the top: every worker collects this file, and one runs it.
def world():
    return MDP(KERNEL, discount=0.9)


def changed(index, value):
    kernel = TWO_ROWS.copy()
    kernel[index] = value
    return kernel


def made(**change):
    arguments = {"kernel": KERNEL, "discount": 0.9} | change
    return lambda: MDP(arguments.pop("kernel"), **arguments)


def estimated(**options):
    return lambda: MDP.from_transitions(RECORDED, discount=0.9, **options)


def asked(function, **options):
    return lambda: from_function(function, **({"num_states": 7, "num_actions": 2} | options))


def mixed(*arguments, **options):
    base = DenseKernel(np.eye(2)[:, None])
    return lambda: MixtureKernel(base, *arguments, **options)


def in_single_precision():
    with single_precision():
        MDP(KERNEL, discount=0.99999)


def sparse(matrix, actions=1):
    return lambda: from_sparse(scipy.sparse.csr_array(matrix), num_actions=actions)


REFUSED = {
    "row too small": (lambda: DenseKernel(changed((1, 0), [0.0, 0.9])), ["state 1, action 0", "0.9", "instead of 1"]),
    "row barely off": (lambda: DenseKernel(changed((1, 0), [1e-9, 1.0])), ["state 1, action 0"]),
    "leaky row too large": (lambda: DenseKernel([[[1.5]]], leaky=True), ["state 0, action 0", "1.5", "at most 1"]),
    "negative": (lambda: DenseKernel(changed((1, 1), [-0.25, 1.25])), ["negative", "action 1, successor 0", "-0.25"]),
    "nan": (lambda: DenseKernel(changed((0, 0, 1), np.nan)), ["not finite", "state 0, action 0, successor 1"]),
    "two axes": (lambda: DenseKernel(np.eye(2)), ["(2, 2)", "(S, A, S)"]),
    "no states": (lambda: DenseKernel(np.zeros((0, 1, 0))), ["(0, 1, 0)", "at least one state"]),
    "ragged": (lambda: DenseKernel([[[1.0]], [[0.5, 0.5]]]), ["the transition kernel", "rectangular"]),
    "complex": (lambda: DenseKernel(np.eye(2)[:, None] * 1j), ["the transition kernel", "complex"]),
    "sizes": (lambda: dynamics_distance(world(), MDP([[[1.0]]], discount=0.5)), ["(2, 2) against (1, 1)"]),
    "discount one": (made(discount=1), ["the discount γ is 1", "0 <= γ < 1"]),
    "discount nan": (made(discount=float("nan")), ["the discount γ is nan"]),
    "discount of two": (made(discount=[0.5, 0.5]), ["discount", "(2,)", "single number"]),
    "discount a word": (made(discount="high"), ["discount", "'high'"]),
    "discount too close": (made(discount=1 - 1e-16), ["so close to 1", "use at most 0.99999999999996."]),
    "discount too close for float32": (in_single_precision, ["γ is 0.99999, so close", "use at most 0.99998."]),
    "discount above one": (lambda: require_discount(1.5, or_one=True), ["1.5", "0 <= γ <= 1"]),
    "initial sum": (made(initial=[0.5, 0.6]), ["initial distribution", "1.1", "instead of 1"]),
    "initial shape": (made(initial=[0.5, 0.25, 0.25]), ["initial distribution", "(3,)", "(2,)", "states"]),
    "initial words": (made(initial=["a", "b"]), ["initial distribution", "real numbers"]),
    "mask shape": (made(mask=[[True, True]]), ["action mask", "(1, 2)", "(2, 2)"]),
    "mask of ints": (made(mask=[[1, 1], [1, 0]]), ["action mask", "int", "True and False"]),
    "mask idle": (made(mask=[[False, False], [True, False]]), ["state 0 has no available action"]),
    "mask missing": (made(mask=[[True, True], [True, True]]), ["action 1", "state 1", "all zeros"]),
    "positions": (made(positions=np.zeros((3, 2))), ["positions of the states", "(3, 2)", "(2, 2)"]),
    "few names": (made(state_names=["a"]), ["1 state_names", "2 states"]),
    "names twice": (made(action_names=["up", "up"]), ["action_names has 'up' twice"]),
    "names of text": (made(state_names="ab"), ["state_names is 'ab'", "a list of names"]),
    "a list of matrices": (made(kernel=[scipy.sparse.eye_array(2)] * 2), ["list of 2 sparse matrices; stack them"]),
    "a function": (made(kernel=lambda s, a: ([s], [1.0])), ["a function; build it by mdp.from_function"]),
    "sparse without actions": (made(kernel=scipy.sparse.eye_array(2)), ["(2, 2)", "pass num_actions"]),
    "array with actions": (made(num_actions=2), ["num_actions is for sparse matrices"]),
    "sparse shape": (sparse(np.ones((3, 2)) / 2, 2), ["(3, 2)", "2 actions", "4 rows"]),
    "sparse row": (sparse([[1.0, 0.0], [0.5, 0.0]]), ["state 1, action 0", "0.5"]),
    "sparse negative": (sparse([[1.0, 0], [1.5, -0.5]]), ["state 1, action 0, successor 1 is -0.5"]),
    "not sparse": (lambda: from_sparse(np.eye(2), num_actions=1), ["ndarray", "scipy.sparse"]),
    "no sparse states": (sparse(np.zeros((0, 0))), ["(0, 0)", "at least one state"]),
    "successor outside": (lambda: from_successors([[[2]]], [[[1.0]]]), ["state 0, action 0", "successor 2", "0 to 0"]),
    "successors of floats": (lambda: from_successors([[[0.0]]], [[[1.0]]]), ["float64", "whole numbers"]),
    "function sum": (asked(lambda s, a: ([0], [0.9 if s == 4 else 1.0])), ["state 4, action 0", "sum to 0.9"]),
    "function state": (asked(lambda s, a: ([s + 1], [1.0])), ["state 6, action 0", "successor 7", "0 to 6"]),
    "function chance": (asked(lambda s, a: ([0, 1], [1.5, -0.5])), ["state 0", "-0.5", "at least 0"]),
    "function half": (asked(lambda s, a: ([0.5], [1.0])), ["whole numbers"]),
    "function lengths": (asked(lambda s, a: ([0, 1], [1.0])), ["2 successors", "1 probabilities", "state 0"]),
    "function of nothing": (asked(lambda s, a: 3), ["state 0, action 0", "a pair is needed"]),
    "function of one": (asked(lambda s, a: ([0], [1.0]), vectorized=True), ["14 pairs", "vectorized=False"]),
    "no function": (asked(3), ["the successors is 3, but a function of state and action is needed"]),
    "mixture weight": (mixed([0.0, 1.5], distribution=[0.5, 0.5]), ["in state 1 is 1.5", "at most 1"]),
    "mixture sum": (mixed([0.0, 0.5], distribution=[0.5, 0.1]), ["the distribution of a disturbance"]),
    "mixture shares": (mixed([0.0, 0.5], shares=[[1.0], [0.5]]), ["state 1 sum to 0.5", "1 is needed"]),
    "mixture of both": (mixed([0.0, 0.5]), ["a distribution of states or shares of actions"]),
    "no actions recorded": (
        lambda: MDP.from_transitions(RECORDED.without_actions(), discount=0.9),
        ["no actions were recorded"],
    ),
    "unseen": (estimated(unseen="guess"), ["unseen is 'guess'", "mask, prior, refuse"]),
    "prior": (estimated(prior=-1), ["the prior is -1"]),
    "few states": (estimated(num_states=2), ["the number of states is 2", "at least 3"]),
    "alpha zero": (lambda: MarkovGame(world(), 0), ["alpha is 0", "0 < alpha <= 1"]),
    "alpha text": (lambda: MarkovGame(world(), "0.9"), ["alpha"]),
    "local alpha": (lambda: MarkovGame(world(), [0.5, 0.0]), ["alpha at state 1 is 0.0", "0 < alpha <= 1"]),
    "alpha of pairs": (lambda: MarkovGame(world(), [[0.5], [0.5]]), ["(2, 1)", "(2, 2)"]),
    "reward": (lambda: as_reward([0.0, float("nan")], world()), ["the reward", "not finite", "state 1", "nan"]),
    "reward shape": (lambda: as_reward([1.0, 2.0, 3.0], world()), ["the reward", "(3,)", "(2,)", "states"]),
    "reward of pairs": (lambda: as_action_reward([[1.0], [2.0]], world()), ["the reward", "(2, 1)", "(2, 2)"]),
    "reward of pairs, value": (
        lambda: as_action_reward([[1.0, np.inf], [3.0, 4.0]], world()),
        ["the reward", "state 0, action 1", "inf"],
    ),
    "occupancy": (lambda: as_occupancy([0.5, 0.4], world()), ["the occupancy", "0.9", "instead of 1"]),
    "leaky occupancy": (
        lambda: as_occupancy([0.9, 0.9], MDP(DenseKernel(KERNEL * 0.9, leaky=True), discount=0.9)),
        ["the occupancy", "1.8", "(0, 1]"],
    ),
    "masked action": (lambda: as_policy([[0.5, 0.5], [1.0, 1e-12]], world()), ["1e-12", "action 1 in state 1"]),
    "policy shape": (lambda: as_policy([1.0, 0.0], world()), ["the policy", "(2,)", "(2, 2)"]),
    "policies": (lambda: policy_distance(np.ones((2, 2)), np.ones((2, 3))), ["second policy", "(2, 3)", "(2, 2)"]),
    "no world": (lambda: inspect.unwrap(as_world)("gridworld-1"), ["a world is needed", "str"]),
    "no devices": (lambda: shard_states(world(), []), ["there are no devices"]),
}


@pytest.mark.usefixtures("mistyped")
@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_one_sentence_names_what_is_wrong(call, words, refused):
    with refused(*words):
        call()


def test_a_world_beyond_memory_is_refused_before_it_is_made(refused):
    tall = scipy.sparse.csc_array(([1.0], [0], [0, 1]), shape=(10**13, 1))
    with refused("a sparse kernel of shape (10000000000000, 1) needs about", "GiB", "fewer"):
        MDP(tall, num_actions=10**9, discount=0.9)
    ring = from_sparse(scipy.sparse.eye_array(500_000, format="csr"), num_actions=1)
    with refused("500000 x 500000", "GiB"):
        ring.chain(np.ones((500_000, 1))).dense()
