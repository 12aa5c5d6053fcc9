# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false, reportMissingImports=false
"""Recordings of vectors: arrays, files, Minari datasets, refusals."""

import numpy as np
import pytest

from robustirl.demonstrations import Recordings
from robustirl.errors import InvalidInputError

SEEN = [np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2)]
DONE = [np.array([[1.0], [2.0]]), np.array([[3.0]])]


@pytest.mark.parametrize("actions", [None, DONE])
def test_a_file_gives_back_what_was_saved(tmp_path, actions):
    given = Recordings.from_arrays(SEEN, actions, terminated=[True, False])
    given.save(tmp_path / "walks.npz")
    again = Recordings.load(tmp_path / "walks.npz")
    assert again.terminated == (True, False)
    for one, other in zip(given.observations, again.observations, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (again.actions is None) == (actions is None)
    if actions is not None:
        np.testing.assert_array_equal(again.actions[1], DONE[1])


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
            actions=done,
            rewards=np.zeros(len(done)),
            terminations=np.arange(len(done)) == len(done) - 1,
            truncations=np.zeros(len(done), bool),
        )
        for seen, done in zip(SEEN, DONE, strict=True)
    ]
    box = {"observation_space": spaces.Box(-9, 9, (2,), float), "action_space": spaces.Box(-9, 9, (1,), float)}
    with pytest.warns(UserWarning, match=r"."):
        minari.create_dataset_from_buffers("walks/plane-v0", buffers, **box)
    found = Recordings.from_minari("walks/plane-v0")
    assert len(found) == 2
    assert found.terminated == (True, True)
    np.testing.assert_array_equal(found.observations[0], SEEN[0])
    np.testing.assert_array_equal(found.actions[1], DONE[1])


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
