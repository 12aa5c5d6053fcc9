"""Kernels given as functions."""

import numpy as np
import pytest

from robustirl.mdp import MDP, from_function


def walk(state, action):
    """On a ring of seven: action 0 steps on, action 1 stays or steps back; there is no action 1 in state 3."""
    if (state, action) == (3, 1):
        return None
    return ([(state + 1) % 7], [1.0]) if action == 0 else ([state, (state - 1) % 7], [0.75, 0.25])


def walks(states, actions):
    on = np.stack([(states + 1) % 7, states], -1)
    back = np.stack([states, (states - 1) % 7], -1)
    chances = np.where(actions[:, None] == 0, [1.0, 0.0], [0.75, 0.25])
    chances[(states == 3) & (actions == 1)] = 0
    return np.where(actions[:, None] == 0, on, back), chances


def expected():
    array = np.zeros((7, 2, 7))
    here = np.arange(7)
    array[here, 0, (here + 1) % 7] = 1
    array[here, 1, here], array[here, 1, (here - 1) % 7] = 0.75, 0.25
    array[3, 1] = 0
    return array


@pytest.mark.parametrize("chunk", [3, 1000])
@pytest.mark.parametrize("vectorized", [False, True])
def test_a_function_is_asked_for_every_pair(vectorized, chunk):
    options = {"num_states": 7, "num_actions": 2, "vectorized": vectorized, "chunk_size": chunk}
    kernel = from_function(walks if vectorized else walk, **options)
    np.testing.assert_array_equal(kernel.to_array(), expected())
    assert not MDP(kernel, discount=0.5).mask[3, 1]


BAD = {
    "sum": (lambda s, a: ([0], [0.9 if s == 4 else 1.0]), ["state 4, action 0", "sum to 0.9", "divide"]),
    "negative-state": (lambda s, a: ([s - 1], [1.0]), ["state 0, action 0", "successor -1", "0 to 6"]),
    "large-state": (lambda s, a: ([s + 1], [1.0]), ["state 6, action 0", "successor 7", "0 to 6"]),
    "negative-probability": (lambda s, a: ([0, 1], [1.5, -0.5]), ["state 0", "-0.5", "at least 0"]),
    "nan": (lambda s, a: ([0], [float("nan")]), ["state 0", "nan"]),
    "half-state": (lambda s, a: ([0.5], [1.0]), ["whole numbers"]),
    "lengths": (lambda s, a: ([0, 1], [1.0]), ["2 successors", "1 probabilities", "state 0, action 0"]),
    "no-pair": (lambda s, a: 3, ["state 0, action 0", "a pair is needed"]),
}


@pytest.mark.parametrize(("function", "words"), BAD.values(), ids=BAD.keys())
def test_bad_answers_are_refused_by_state(function, words, refused):
    with refused(*words):
        from_function(function, num_states=7, num_actions=2)


def test_a_scalar_function_called_with_arrays_is_told_how_to_be_given(refused):
    with refused("14 pairs", "vectorized=False"):
        from_function(lambda s, a: ([0], [1.0]), num_states=7, num_actions=2, vectorized=True)


@pytest.mark.usefixtures("mistyped")
def test_what_is_no_function_is_refused(refused):
    with refused("the successors are 3, but a function of state and action is needed"):
        from_function(3, num_states=2, num_actions=1)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("vectorized", "given"),
    [(False, "state 2, action 0, vectorized=False"), (True, "arrays of states and actions, vectorized=True")],
)
def test_what_a_kernel_function_raises_passes_with_a_note_of_what_it_was_given(vectorized, given):
    def broken(state, action):
        if np.max(state) == 2:
            raise KeyError("no such link")
        return [state], [1.0]

    with pytest.raises(KeyError, match="no such link") as caught:
        from_function(broken, num_states=3, num_actions=1, vectorized=vectorized)
    assert caught.value.__notes__ == [f"The kernel function raised this for {given}."]
