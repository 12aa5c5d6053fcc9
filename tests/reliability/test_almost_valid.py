"""Worlds and trajectories with one thing off are refused with one sentence, or are sound after all."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustirl.demonstrations import Demonstrations, load, save
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from tests.reliability.cases import require_sentence
from tests.reliability.strategies import Attempt, almost_trajectories, almost_worlds
from tests.strategies import undisturbed_randomness


def attempt(build, drawn: Attempt):
    """What `build` makes of the arguments, or None if it refuses them with one sentence; anything else is raised."""
    try:
        with undisturbed_randomness():
            made = build(**drawn.arguments)
    except InvalidInputError as error:
        require_sentence(str(error))
        if drawn.sound:
            raise
        return None
    assert drawn.sound is not False, f"{drawn.fault} was accepted"
    return made


@settings(max_examples=150)
@given(almost_worlds())
def test_a_world_is_sound_or_refused(drawn):
    world = attempt(MDP, drawn)
    if world is None:
        return
    kernel = np.asarray(world.kernel.to_sparse().toarray()).reshape(*world.mask.shape, -1)
    assert (kernel >= 0).all()
    sums = kernel.sum(-1)
    np.testing.assert_allclose(sums[np.asarray(world.mask)], 1, atol=1e-15)
    assert np.isin(np.round(sums, 12), [0, 1]).all()
    assert np.asarray(world.mask).any(-1).all()
    assert 0 <= world.discount < 1
    assert (np.asarray(world.initial) >= 0).all()
    np.testing.assert_allclose(np.asarray(world.initial).sum(), 1, atol=1e-15)


@settings(max_examples=150)
@given(almost_trajectories())
def test_trajectories_are_sound_or_refused(drawn):
    made = attempt(Demonstrations.from_arrays, drawn)
    if made is None:
        return
    assert made.lengths.sum() == made.states.size
    assert all(array.dtype == np.int64 for array in (made.states, made.lengths))
    assert made.states.min() >= 0
    assert not made.states.flags.writeable
    # What is sound by itself may still not be of this world.
    try:
        made.check_against(WORLD)
    except InvalidInputError as error:
        require_sentence(str(error))
        assert made.states.max() >= WORLD.num_states
    else:
        assert made.states.max() < WORLD.num_states


WORLD = MDP(np.full((4, 2, 4), 0.25), discount=0.9)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["", "-1", "x", "1.5", "9" * 40, "null", "true", " 1", "[", '"', "1,1", "\n", "٣", "nan"]),
)
def test_a_text_file_with_one_word_changed_is_sound_or_refused(tmp_path_factory, suffix, place, word):
    folder = tmp_path_factory.mktemp("text")
    path = folder / f"walks.{suffix}"
    save(Demonstrations.from_arrays([[0, 1, 2], [3]], [[0, 1], []], terminated=[True, False]), path)
    text = path.read_text()
    places = [i for i, letter in enumerate(text) if letter.isalnum()]
    at = places[place % len(places)]
    path.write_text(text[:at] + word + text[at + 1 :])
    try:
        found = load(path)
    except InvalidInputError as error:
        require_sentence(str(error))
        return
    again = dataclasses.replace(found)  # Checked once more, as if it had come from Python.
    assert again == found
