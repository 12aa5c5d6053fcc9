"""Files in both directions, those of the release before this one, and those of other libraries."""

import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from robustirl.demonstrations import Demonstrations, from_minari, from_rollout_buffer, load, save
from robustirl.demonstrations.others import arrays_of_others, to_minari
from tests.demonstrations.strategies import demonstrations

DATA = Path(__file__).parent / "data"
NAMED = Demonstrations(
    [0, 1, 2, 1, 2], [1, 0, 1], [3, 2], [True, False], state_names=["hall", "A, B", "ü"], action_names=["go", "stay"]
)
UNKNOWN = Demonstrations.from_arrays([[0, 1, 2], [1]])
LOG = Demonstrations.from_arrays([[0, 1, 2], [3, 1]], [[0, 1, 1], [2]], terminated=[False, True])
BARE = Demonstrations.from_arrays([[4], [2]], [[], []], terminated=True)


@pytest.mark.parametrize("suffix", ["npz", "jsonl", "csv", "parquet"])
@pytest.mark.parametrize("demos", [NAMED, UNKNOWN, LOG, BARE], ids=["named", "unknown ends", "log", "no moves"])
def test_a_file_gives_back_what_was_saved(tmp_path, suffix, demos):
    save(demos, tmp_path / f"walks.{suffix}")
    assert load(tmp_path / f"walks.{suffix}") == demos
    assert [file.name for file in tmp_path.iterdir()] == [f"walks.{suffix}"]


@pytest.mark.parametrize("suffix", ["npz", "jsonl", "csv", "parquet"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(demos=demonstrations())
def test_any_demonstrations_come_back(tmp_path, suffix, demos):
    save(demos, tmp_path / f"walks.{suffix}")
    assert load(tmp_path / f"walks.{suffix}") == demos


@pytest.mark.parametrize("name", ["old.npz", "old.jsonl", "old.csv", "old.parquet"])
def test_files_of_the_first_schema_are_read(name):
    assert load(DATA / name) == NAMED


@pytest.mark.parametrize("name", ["old_unknown.npz", "old_unknown.jsonl"])
def test_files_of_the_first_schema_with_unknown_ends_are_read(name):
    assert load(DATA / name) == UNKNOWN


def test_an_npz_file_that_would_run_code_is_refused(tmp_path, refused):
    np.savez(tmp_path / "walks.npz", states=np.array([{}, {}], object), lengths=np.array([2]))
    with refused("damaged or not an .npz file of plain arrays", "allow_pickle"):
        load(tmp_path / "walks.npz")


def test_older_files_of_imitation_are_read_without_their_pickles(tmp_path):
    walks = LOG.replace(final_actions=None)
    np.savez(
        tmp_path / "rollouts.npz",
        obs=walks.states,
        acts=walks.actions,  # pyright: ignore[reportArgumentType]
        infos=np.array([{}] * 3, object),
        terminal=walks.terminated,
        indices=np.cumsum(walks.lengths - 1)[:-1],
    )
    assert load(tmp_path / "rollouts.npz") == walks


def test_files_of_stable_baselines_are_read(tmp_path):
    starts = np.array([True, False, False, True, False])
    np.savez(tmp_path / "expert.npz", obs=LOG.states[:, None], actions=np.array([0, 1, 1, 2, 0]), episode_starts=starts)
    expected = Demonstrations.from_arrays([[0, 1, 2], [3, 1]], [[0, 1, 1], [2, 0]])
    assert load(tmp_path / "expert.npz") == expected


@pytest.mark.parametrize("flattened", [False, True])
def test_rollouts_of_several_environments_are_cut_where_episodes_start(flattened):
    observations, actions = np.array([[0, 5], [1, 6], [2, 0]]), np.array([[1, 0], [1, 1], [0, 1]])
    starts = np.array([[1, 0], [0, 0], [1, 1]])
    if flattened:  # As training leaves them.
        observations, actions = observations.T.reshape(-1, 1), actions.T.reshape(-1, 1)
    found = from_rollout_buffer(
        types.SimpleNamespace(observations=observations, actions=actions, episode_starts=starts)
    )
    assert found == Demonstrations.from_arrays([[0, 1], [2], [5, 6], [0]], [[1, 1], [0], [0, 1], [1]])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=5)
@given(demonstrations(shortest=2))
def test_a_minari_dataset_gives_back_what_went_in(tmp_path_factory, demos):
    pytest.importorskip("minari")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(tmp_path_factory.mktemp("minari")))
        dataset = to_minari(demos, "corridor/walks-v0", num_states=6, num_actions=3, author="A. Walker")
        assert from_minari(dataset) == demos
        assert from_minari("corridor/walks-v0") == demos
        unknown = demos.replace(terminated=None)
        save(unknown, "minari:corridor/open-v0")
        assert load("minari:corridor/open-v0") == unknown


def test_minari_datasets_number_from_zero_and_loading_runs_no_code(tmp_path, monkeypatch, refused):
    minari, spaces = pytest.importorskip("minari"), pytest.importorskip("gymnasium.spaces")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    buffer = minari.data_collector.EpisodeBuffer(
        observations=np.array([10, 12]), actions=np.array([-1]), rewards=[0.0], terminations=[1], truncations=[0]
    )
    shifted = {"observation_space": spaces.Discrete(5, start=10), "action_space": spaces.Discrete(2, start=-1)}
    with pytest.warns(UserWarning, match=r"."):
        minari.create_dataset_from_buffers("shifted-v0", [buffer], **shifted)
    assert from_minari("shifted-v0") == Demonstrations.from_arrays([[0, 2]], [[0]], terminated=True)
    metadata = tmp_path / "shifted-v0" / "data" / "metadata.json"
    metadata.write_text(metadata.read_text().replace('"observation_space"', '"other"'))
    with refused("shifted-v0", "its metadata name no spaces"):
        from_minari("shifted-v0")


def test_imitation_itself_reads_and_writes_the_same(tmp_path):
    serialize = pytest.importorskip("imitation.data.serialize")
    walks = LOG.replace(final_actions=None)
    save(walks, f"imitation:{tmp_path / 'ours'}")
    serialize.save(tmp_path / "theirs", serialize.load(tmp_path / "ours"))
    assert load(tmp_path / "theirs") == walks


def test_what_other_formats_cannot_hold_is_refused(tmp_path, refused):
    for demos in (UNKNOWN, BARE, LOG.replace(terminated=None)):
        with refused("imitation's trajectories have at least one action each"):
            save(demos, f"imitation:{tmp_path / 'new'}")
    assert not list(tmp_path.iterdir())
    with refused("['a', 'b']", "obs, actions and episode_starts"):
        arrays_of_others({"a": np.zeros(1), "b": np.zeros(1)})


def test_files_that_cannot_be_read_are_refused(tmp_path, refused):
    cut = (DATA / "old.csv").read_text().rsplit("\n", 2)[0]
    for name, content, culprits in (
        ("walks.npz", b"PK nothing", ["damaged"]),
        ("walks.npz", b"", ["is empty"]),
        ("walks.jsonl", b"{", ["no file of lines of JSON"]),
        ("walks.jsonl", b"[1]", ["line 1", "[1]"]),
        ("walks.jsonl", (DATA / "old.jsonl").read_bytes().rsplit(b"\n", 2)[0], ["1 episodes", "says 2", "cut off"]),
        ("walks.csv", cut.encode(), ["4 rows", "says 5", "cut off"]),
        ("walks.csv", b"episode,state\n0,\xff\n", ["UTF-8"]),
        ("walks.csv", b"trip,link\n0,1\n", ["no column 'episode'", "trip, link", "columns="]),
        ("walks.parquet", b"PAR1", ["damaged or not a Parquet file"]),
        ("walks.txt", b"0", ["'.txt'", ".npz, .jsonl, .csv, .parquet"]),
    ):
        (tmp_path / name).write_bytes(content)
        with refused(str(tmp_path / name), *culprits):
            load(tmp_path / name)
    with refused("cannot be read", "give the path of a file"):
        load(tmp_path / "absent.npz")
    with refused("cannot be written", "existing folder"):
        save(LOG, tmp_path / "absent" / "walks.csv")
    with refused("columns is for tables"):
        load(DATA / "old.npz", columns={"state": "s"})
