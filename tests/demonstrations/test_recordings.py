# pyright: reportArgumentType=false, reportOptionalSubscript=false, reportOptionalIterable=false
"""Recordings of vectors: arrays, files, Minari datasets, refusals."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl.control.policies import network_policy
from robustirl.demonstrations import Demonstrations, Recordings, record
from robustirl.demonstrations.recordings import as_recordings, as_trainable
from robustirl.envs import physics

SEEN = [np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2)]
DONE = [np.array([[1.0], [2.0]]), np.array([[3.0]])]


@pytest.mark.parametrize("actions", [None, DONE])
def test_a_file_gives_back_what_was_saved(tmp_path, actions):
    done = None if actions is None else [*actions, actions[0]]
    given = Recordings.from_arrays([*SEEN, SEEN[0]], done, terminated=[True, False, True])
    given.save(tmp_path / "walks.npz")
    again = as_recordings(tmp_path / "walks.npz")
    assert again.terminated == (True, False, True)
    for one, other in zip(given.observations, again.observations, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (again.actions is None) == (actions is None)
    if actions is not None:
        assert [array.tolist() for array in again.actions] == [array.tolist() for array in done]
    part = again[1:]
    assert (len(part), part.steps, part.terminated) == (2, 3, (False, True))
    assert part.without_actions().actions is None


def test_pairs_do_not_cross_episodes():
    before, after = Recordings.from_arrays(SEEN).pairs()
    np.testing.assert_array_equal(before, [[0, 1], [2, 3], [0, 1]])
    np.testing.assert_array_equal(after, [[2, 3], [4, 5], [2, 3]])


def test_a_minari_dataset_is_read(tmp_path, monkeypatch):
    minari, spaces = pytest.importorskip("minari"), pytest.importorskip("gymnasium.spaces")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    buffers = [
        minari.data_collector.EpisodeBuffer(
            observations=seen,
            actions=np.repeat(done, 2, axis=1),
            rewards=np.zeros(len(done)),
            terminations=np.arange(len(done)) == len(done) - 1,
            truncations=np.zeros(len(done), bool),
        )
        for seen, done in zip(SEEN, DONE, strict=True)
    ]
    box = {"observation_space": spaces.Box(-9, 9, (2,), float), "action_space": spaces.Box(-9, 9, (2,), float)}
    with pytest.warns(UserWarning, match=r"."):
        minari.create_dataset_from_buffers("walks/plane-v0", buffers, **box)
    found = as_recordings("minari:walks/plane-v0")
    assert found.terminated == (True, True)
    np.testing.assert_array_equal(found.observations[0], SEEN[0])
    np.testing.assert_array_equal(found.actions[1], [[3, 3]])


def test_what_was_sampled_is_cut_where_episodes_ended():
    features, executed = np.arange(12.0).reshape(4, 3, 1), np.arange(9.0).reshape(3, 3, 1) + 100
    sampled = SimpleNamespace(
        features=features, executed=executed, lengths=np.array([1, 0, 3]), terminated=np.array([True, True, False])
    )
    found = Recordings.from_episodes(sampled)
    assert [array[:, 0].tolist() for array in found.observations] == [[0, 3], [2, 5, 8, 11]]
    assert [array[:, 0].tolist() for array in found.actions] == [[100], [102, 105, 108]]
    assert found.terminated == (True, False)


def test_a_policy_in_a_physical_world_is_recorded():
    world = physics.make("pendulum")
    policy = network_policy(3, 1, hidden=(4,), key=jax.random.key(0))
    one, again = (record(world, policy, episodes=2, horizon=5, key=jax.random.key(1)) for _ in range(2))
    assert repr(one) == "Recordings(2 episodes, 10 steps of 3 numbers, with actions)"
    np.testing.assert_array_equal(one.observations[0], again.observations[0])
    np.testing.assert_allclose(one.observations[0][:, 0] ** 2 + one.observations[0][:, 1] ** 2, 1, atol=1e-5)


def test_bad_recordings_are_refused(tmp_path, refused):
    make, path = Recordings.from_arrays, tmp_path / "walks.npz"
    np.savez(path, observations=np.zeros((5, 2)), terminated=np.zeros(2, bool), lengths=np.array([4, 1]))
    for action, culprits in (
        (lambda: make([]), ["no episodes"]),
        (lambda: make("walk"), ["observations is 'walk'", "a list with one entry an episode"]),
        (lambda: make([SEEN[0], [[0.0, np.nan], [1.0, 2.0]]]), ["episode 1 is not finite at row 0, column 1"]),
        (lambda: make([SEEN[0], [[0.0], [1.0]]]), ["episode 1", "(2, 1)", "rows of 2 numbers"]),
        (lambda: make([[1.0, 2.0]]), ["(2,)", "a row for each step"]),
        (lambda: make([[["a"], ["b"]]]), ["not a rectangular array of real numbers"]),
        (lambda: make(SEEN, DONE[:1]), ["actions of 1 episodes for 2"]),
        (lambda: make(SEEN, [DONE[1], DONE[1]]), ["episode 0 has 3 observations", "(1, 1)"]),
        (lambda: make(SEEN, terminated=[True]), ["terminated is [True]", "each of the 2 episodes"]),
        (lambda: make(SEEN)[0], ["the index is 0", "a slice"]),
        (lambda: Recordings.load(path), ["do not cut its 5 rows into episodes"]),
        (lambda: Recordings.load(tmp_path / "none.npz"), ["holds no recordings"]),
        (lambda: make(SEEN).save(tmp_path / "none" / "walks.npz"), ["cannot be written"]),
        (lambda: as_trainable([SEEN[0], [[0, 0], [0, 1e30]]]), ["episode 1 is 1e+30 at step 1, number 1", "float32"]),
        (lambda: as_recordings(Demonstrations.from_arrays([[0]])), ["numbered states", "RobustIRL"]),
    ):
        with refused(*culprits):
            action()
