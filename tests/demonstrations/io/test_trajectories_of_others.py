"""Trajectories of imitation and rollouts of stable-baselines3, by their attributes alone."""

import types

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, from_rollout_buffer, from_trajectories, load, save
from robustirl.demonstrations.io.trajectories_of_others import _discrete


def walk(obs, acts, terminal=True):
    return types.SimpleNamespace(obs=np.asarray(obs), acts=np.asarray(acts), infos=None, terminal=terminal)


def test_trajectories_keep_states_actions_and_ends():
    found = from_trajectories([walk([0, 1, 2], [1, 0]), walk([[0.0], [2.0]], [1.0], terminal=False)])
    assert found == Demonstrations.from_arrays([[0, 1, 2], [0, 2]], [[1, 0], [1]], terminated=[True, False])


def test_what_is_not_discrete_is_refused(refused):
    with refused("the observations of trajectory 1", "Discrete", "(2, 2)"):
        from_trajectories([walk([0, 1], [1]), walk([[0.1, 0.2], [0.3, 0.4]], [1])])
    with refused("trajectory 0", "'terminal'"):
        from_trajectories([types.SimpleNamespace(obs=[0, 1], acts=[1])])


def buffer(observations, actions, starts):
    return types.SimpleNamespace(observations=observations, actions=actions, episode_starts=starts)


def test_a_rollout_buffer_is_cut_where_episodes_start():
    observations = np.array([[0, 5], [1, 6], [2, 5], [0, 7]], dtype=np.float32)[..., None]
    actions = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])[..., None]
    starts = np.array([[1, 0], [0, 0], [0, 1], [1, 0]], dtype=np.float32)
    found = from_rollout_buffer(buffer(observations, actions, starts))
    assert [episode.states.tolist() for episode in found] == [[0, 1, 2], [0], [5, 6], [5, 7]]
    assert [np.asarray(episode.actions).tolist() for episode in found] == [[1, 0], [], [0], [1]]
    assert not found.ends_known


def test_an_episode_may_be_a_single_state_at_the_start_of_a_buffer():
    found = from_rollout_buffer(buffer([[3], [1], [2]], [[0], [1], [0]], [[1], [1], [0]]))
    assert [episode.states.tolist() for episode in found] == [[3], [1, 2]]
    found = from_rollout_buffer(buffer([[3], [1], [2]], [[0], [1], [0]], [[0], [0], [1]]))
    assert [episode.states.tolist() for episode in found] == [[3, 1], [2]]


def test_a_buffer_that_training_has_flattened_is_read_the_same():
    observations = np.array([[0, 5], [1, 6], [2, 5], [0, 7]])
    actions, starts = np.array([[1, 0], [0, 1], [1, 1], [0, 0]]), np.array([[1, 0], [0, 0], [0, 1], [1, 0]])
    flat = [x.swapaxes(0, 1).reshape(8, 1) for x in (observations, actions)]  # As swap_and_flatten does.
    assert from_rollout_buffer(buffer(*flat, starts)) == from_rollout_buffer(buffer(observations, actions, starts))


@pytest.mark.parametrize("shape", [(4, 1, 2), (4,)])
def test_buffers_of_other_shapes_are_refused(refused, shape):
    with refused("shapes", "Discrete"):
        from_rollout_buffer(buffer(np.zeros(shape, int), np.zeros((4, 1), int), np.zeros((4, 1))))
    with refused("'episode_starts'"):
        from_rollout_buffer(types.SimpleNamespace(observations=1, actions=2))


def test_folders_of_imitation_are_written_as_it_reads_them(tmp_path):
    walks = Demonstrations.from_arrays([[0, 1, 2], [0, 2]], [[1, 0], [1]], terminated=[True, False])
    save(walks, f"imitation:{tmp_path / 'walks'}")
    assert load(tmp_path / "walks") == walks
    assert load(f"imitation:{tmp_path / 'walks'}") == walks
    assert sorted(path.name for path in (tmp_path / "walks").iterdir()) == [
        "data-00000-of-00001.arrow",
        "dataset_info.json",
        "state.json",
    ]


def test_imitation_itself_reads_and_writes_the_same(tmp_path):
    serialize = pytest.importorskip("imitation.data.serialize")
    walks = Demonstrations.from_arrays([[0, 1, 2], [0, 2]], [[1, 0], [1]], terminated=[True, False])
    save(walks, f"imitation:{tmp_path / 'ours'}")
    theirs = serialize.load(tmp_path / "ours")
    assert from_trajectories(theirs) == walks
    assert [dict(info) for info in theirs[0].infos] == [{}, {}]
    serialize.save(tmp_path / "theirs", theirs)
    assert load(tmp_path / "theirs") == walks


def test_what_imitation_cannot_hold_is_refused(tmp_path, refused):
    target = f"imitation:{tmp_path / 'new'}"
    with refused("have actions, but only states were recorded"):
        save(Demonstrations.from_arrays([[0, 1]], terminated=True), target)
    with refused("episode 1 is a start state alone", "demos[demos.lengths > 1]"):
        save(Demonstrations.from_arrays([[0, 1], [0]], [[1], []], terminated=True), target)
    with refused("which was not recorded", "infer_terminated(world)"):
        save(Demonstrations.from_arrays([[0, 1]], [[1]]), target)
    assert not (tmp_path / "new").exists()


def test_numbers_of_states_are_whole_and_in_one_row(refused):
    for given in ([0.0, 3.0], [[0], [3]], np.array([0, 3], np.uint8)):
        assert _discrete("states", np.array(given)).tolist() == [0, 3]
    assert _discrete("states", [2.0**53 - 1, -1.0]).dtype == np.int64
    for given in ([0.0, 0.5], [2.0**53], [-(2.0**53)], [], ["a"], [[0, 1]], [True]):
        with refused("states are", "whole numbers in one row are needed"):
            _discrete("states", given)


def test_starts_are_zeros_and_ones(refused):
    one = np.zeros((2, 1), int)
    for starts in ([[1], [7]], [[1.0], [0.5]], np.array([[1], [0]], object)):
        with refused("the buffer's episode_starts are", "but 1 where an episode starts and 0 elsewhere is needed."):
            from_rollout_buffer(buffer(one, one, np.array(starts)))
    # One step of three environments, which training has flattened.
    found = from_rollout_buffer(buffer(np.array([[4], [5], [6]]), np.zeros((3, 1), int), np.ones((1, 3))))
    assert [episode.states.tolist() for episode in found] == [[4], [5], [6]]


def test_starts_of_other_shapes_are_refused(refused):
    with refused("shapes", "Discrete"):
        from_rollout_buffer(buffer(np.zeros((4, 1), int), np.zeros((4, 1), int), np.zeros((4, 3, 2))))


def test_columns_of_a_folder_of_imitation_that_are_missing_or_double_are_named(tmp_path, refused):
    pyarrow = pytest.importorskip("pyarrow")
    (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
    for names, said in (
        (["obs", "acts"], "has no column 'terminal' among ['obs', 'acts'], but one is needed"),
        (["obs", "acts", "acts", "terminal"], "has 2 columns 'acts' among ['obs', 'acts', 'acts', 'terminal']"),
    ):
        table = pyarrow.table([pyarrow.array([0])] * len(names), names=names)
        with pyarrow.ipc.new_stream(str(tmp_path / "data.arrow"), table.schema) as writer:
            writer.write_table(table)
        with refused(said):
            load(tmp_path)
