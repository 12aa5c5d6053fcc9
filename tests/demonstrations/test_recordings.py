# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false, reportMissingImports=false, reportOptionalIterable=false
"""Recordings of vectors: arrays, files, Minari datasets, refusals."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest
from inline_snapshot import snapshot

from robustirl import irl
from robustirl.demonstrations import Recordings, as_trainable, record, recordings
from robustirl.errors import InvalidInputError
from tests.control.worlds import STILL

SEEN = [np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2)]
DONE = [np.array([[1.0], [2.0]]), np.array([[3.0]])]


@pytest.mark.parametrize("actions", [None, DONE])
def test_a_file_gives_back_what_was_saved(tmp_path, actions):
    done = None if actions is None else [*actions, actions[0]]
    given = Recordings.from_arrays([*SEEN, SEEN[0]], done, terminated=[True, False, True])
    given.save(tmp_path / "walks.npz")
    again = Recordings.load(tmp_path / "walks.npz")
    assert again.terminated == (True, False, True)
    for one, other in zip(given.observations, again.observations, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (again.actions is None) == (actions is None)
    if actions is not None:
        assert [array.tolist() for array in again.actions] == [array.tolist() for array in done]


def test_pairs_do_not_cross_episodes():
    before, after = Recordings.from_arrays(SEEN).pairs()
    np.testing.assert_array_equal(before, [[0, 1], [2, 3], [0, 1]])
    np.testing.assert_array_equal(after, [[2, 3], [4, 5], [2, 3]])


def test_a_minari_dataset_is_read(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    from gymnasium import spaces

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
    found = Recordings.from_minari("walks/plane-v0")
    assert len(found) == 2
    assert found.terminated == (True, True)
    np.testing.assert_array_equal(found.observations[0], SEEN[0])
    np.testing.assert_array_equal(found.actions[1], [[3, 3]])


def test_bad_recordings_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="there are no episodes"):
        Recordings.from_arrays([])
    with pytest.raises(InvalidInputError, match=r"the observations of episode 1 hold nan in row 0, column 1"):
        Recordings.from_arrays([SEEN[0], [[0.0, np.nan], [1.0, 2.0]]])
    with pytest.raises(
        InvalidInputError, match=r"episode 1 have the shape \(2, 1\), but two or more rows of 2 numbers"
    ):
        Recordings.from_arrays([SEEN[0], [[0.0], [1.0]]])
    with pytest.raises(InvalidInputError, match=r"episode 0 has 3 observations and actions of the shape \(1, 1\)"):
        Recordings.from_arrays(SEEN, [DONE[1], DONE[1]])
    with pytest.raises(InvalidInputError, match="1 flags"):
        Recordings.from_arrays(SEEN, terminated=[True])
    (tmp_path / "none.npz").write_bytes(b"PK nothing")
    with pytest.raises(InvalidInputError, match="holds no recordings"):
        Recordings.load(tmp_path / "none.npz")


def test_some_of_the_episodes():
    seen, done = [np.zeros((2, 1)), np.ones((3, 1))], [np.zeros((1, 1)), np.ones((2, 1))]
    for actions in (None, done):
        part = Recordings.from_arrays(seen, actions, terminated=[False, True])[1:]
        assert (len(part), part.steps, list(part.terminated)) == (1, 2, [True])
        assert (part.actions is None) == (actions is None)
        assert actions is None or part.actions[0].tolist() == [[1], [1]]  # pyright: ignore[reportOptionalSubscript]


def refusal(function, *given, **more):
    with pytest.raises(InvalidInputError) as caught:
        function(*given, **more)
    return str(caught.value)


@pytest.mark.usefixtures("mistyped")
def test_refusals_name_the_episode_and_what_is_needed():
    make = Recordings.from_arrays
    assert refusal(make, "walk") == snapshot("observations is 'walk', but a list with one entry an episode is needed.")
    assert refusal(make, SEEN, 3) == snapshot("actions is 3, but a list with one entry an episode is needed.")
    assert refusal(make, SEEN, DONE, terminated=True) == snapshot(
        "terminated is True, but a list with one entry an episode is needed."
    )
    assert refusal(make, None) == snapshot("observations is None, but a list with one entry an episode is needed.")
    assert refusal(make, [SEEN[0], SEEN[1][:1]]) == snapshot(
        "the observations of episode 1 have the shape (1, 2), but two or more rows of 2 numbers are needed, as in"
        " episode 0."
    )
    assert refusal(make, SEEN, DONE[:1]) == snapshot(
        "there are actions of 1 episodes for 2 episodes; give one array each."
    )
    assert refusal(make, SEEN, [DONE[0], [[1.0, 2.0]]]) == snapshot(
        "episode 1 has 2 observations and actions of the shape (1, 2), but one observation more than actions is"
        " needed, and 1 numbers an action."
    )
    assert refusal(make, [[["a"], ["b"]]]) == snapshot(
        "the observations of episode 0 are no array of numbers (they are of type <U1); give rows of one length."
    )
    assert refusal(make, [[1.0, 2.0]]) == snapshot(
        "the observations of episode 0 have the shape (2,), but a row for each step is needed."
    )
    assert refusal(make, [np.zeros((2, 0))]) == snapshot(
        "the observations of episode 0 have the shape (2, 0), but a row for each step is needed."
    )
    for end in (2, -1, 1.0, "yes", None):
        assert refusal(make, SEEN, terminated=[True, end]).startswith(f"terminated holds {end!r}, but True or False")
    assert make(SEEN, terminated=[np.True_, 0]).terminated == (True, False)
    assert make(SEEN).terminated == (False, False)
    assert repr(make(SEEN, DONE)) == "Recordings(2 episodes, 3 steps of 2 numbers, with actions)"
    assert repr(make(SEEN[:1])) == "Recordings(1 episodes, 2 steps of 2 numbers, without actions)"
    assert repr(make(SEEN)) == "Recordings(2 episodes, 3 steps of 2 numbers, without actions)"
    assert make(SEEN, DONE).without_actions().actions is None


def test_files_that_hold_no_recordings_are_refused(tmp_path):
    path = tmp_path / "walks.npz"
    assert "walks.npz cannot be read (" in refusal(Recordings.load, path)
    assert refusal(Recordings.from_arrays(SEEN).save, tmp_path / "none" / "walks.npz").startswith(str(tmp_path))
    rows = {"observations": np.zeros((5, 2)), "terminated": np.zeros(2, bool)}
    for lengths in ([[3, 2]], [3.0, 2.0], [4, 1], [3, 3], [2, 2]):
        np.savez(path, lengths=np.array(lengths), **rows)
        assert f"its lengths {lengths} do not cut its 5 rows into episodes" in refusal(Recordings.load, path)
    np.savez(path, lengths=np.array([3, 2], np.uint8), **rows)
    assert Recordings.load(path).steps == 3


def test_what_was_sampled_is_cut_where_episodes_ended():
    features, executed = np.arange(12.0).reshape(4, 3, 1), np.arange(9.0).reshape(3, 3, 1) + 100
    sampled = SimpleNamespace(
        features=features, executed=executed, lengths=np.array([1, 0, 3]), terminated=np.array([True, True, False])
    )
    found = Recordings.from_episodes(sampled)
    assert [array[:, 0].tolist() for array in found.observations] == [[0, 3], [2, 5, 8, 11]]
    assert [array[:, 0].tolist() for array in found.actions] == [[100], [102, 105, 108]]
    assert found.terminated == (True, False)


def test_environments_that_step_themselves_are_recorded(monkeypatch):
    whole = [
        SimpleNamespace(
            features=np.arange(2.0 * length).reshape(length, 1, 2),
            next_features=np.arange(2.0 * length).reshape(length, 1, 2) + 2,
            actions=np.full((length, 1, 1), 0.5),
            terminated=np.arange(length)[:, None] == ended,
        )
        for length, ended in ((2, 1), (3, 1))
    ]
    asked = []
    monkeypatch.setattr(recordings, "episodes_of", lambda *given, **options: asked.append((given, options)) or whole)
    parts = ("discount", "action_size", "environments", "horizon", "reset", "advance", "width")
    stepping = SimpleNamespace(**{**dict.fromkeys(parts, len), "width": 2, "action_size": 1})
    assert len(record(stepping, STILL, episodes=1, key=jax.random.key(0))) == 2
    assert asked.pop()[1]["episodes"] == 1
    found = recordings._record_host("a world", STILL, 2, True, "a key")
    assert [array[:, 0].tolist() for array in found.observations] == [[0, 2, 4], [0, 2, 4, 6]]
    assert [array.tolist() for array in found.actions] == [[[0.5]] * 2, [[0.5]] * 3]
    assert found.terminated == (True, False)
    ((world, _), options) = asked[0]
    assert (world, options) == ("a world", {"episodes": 2, "mean_action": True, "key": "a key"})


def test_the_horizon_of_a_recording(monkeypatch):
    asked = []
    sampled = SimpleNamespace(features=SEEN[0][:, None], executed=DONE[0][:, None], lengths=[2], terminated=[True])
    monkeypatch.setattr(recordings, "collect", lambda *_, **options: asked.append(options) or sampled)
    monkeypatch.setattr(recordings, "require_policy", lambda *_: None)  # These worlds show nothing.
    key = jax.random.key(0)
    for world in (SimpleNamespace(), SimpleNamespace(horizon=7)):
        record(world, STILL, key=key)
        record(world, STILL, horizon=3, episodes=2, mean_action=True, key=key)
    assert [one["horizon"] for one in asked] == [200, 3, 7, 3]
    assert [(one["episodes"], one["mean_action"]) for one in asked] == [(16, False), (2, True)] * 2
    record(SimpleNamespace(), STILL, horizon=1, key=key)
    assert asked[-1]["horizon"] == 1
    assert refusal(record, SimpleNamespace(), STILL, horizon=0, key=key).startswith("the horizon is 0, but")


@pytest.mark.parametrize("size", [1e16, -1e30, 1e300])
def test_numbers_too_large_for_single_precision_are_refused_before_a_training(size, refused):
    large = Recordings.from_arrays([SEEN[0], [[0.0, 0.0], [0.0, size]]], DONE)
    fast = Recordings.from_arrays(SEEN, [DONE[0], [[size]]])
    for given, culprits in (
        (large, f"an observation of episode 1 is {size:g} at step 1, number 1"),
        (fast, f"an action of episode 1 is {size:g} at step 0, number 0"),
    ):
        with refused(culprits, "training in float32 needs numbers of at most 1e+15"):
            irl.clone_behavior(given, key=jax.random.key(0))
    with refused("an observation of episode 1"):
        irl.fit_imitation(STILL, large, key=jax.random.key(0))
    assert as_trainable(SEEN).steps == 3


@pytest.mark.usefixtures("mistyped")
def test_what_is_no_slice_or_no_episodes_is_refused(refused):
    given = Recordings.from_arrays(SEEN)
    for index in (0, None, "a", [0]):
        with refused("the index is", "a slice is needed"):
            given[index]
    for other in (None, SEEN, given):
        with refused(f"of the type {type(other).__name__}", "collect"):
            Recordings.from_episodes(other)
