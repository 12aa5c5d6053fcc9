"""Minari datasets in both directions, without a network and away from the user's own datasets."""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from robustirl.demonstrations import Demonstrations, from_minari, reserved_place, save, to_minari
from tests.demonstrations.strategies import demonstrations

minari = pytest.importorskip("minari")
gymnasium = pytest.importorskip("gymnasium")

WALKS = Demonstrations.from_arrays([[0, 1, 2], [3, 1]], [[0, 1], [2]], terminated=[True, False])


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(demonstrations(shortest=2))
def test_a_dataset_gives_back_what_went_in(root, demos):
    number = len(list(root.iterdir()))
    dataset = to_minari(demos, f"walks-v{number}", num_states=6, num_actions=3)
    assert from_minari(dataset) == demos
    assert from_minari(f"walks-v{number}") == demos


def test_a_dataset_is_one_that_minari_understands():
    dataset = to_minari(WALKS, "corridor/walks-v0", author="A. Walker", description="Two walks.", num_states=9)
    assert (dataset.total_episodes, dataset.total_steps) == (2, 3)
    assert dataset.observation_space == gymnasium.spaces.Discrete(9)
    assert dataset.action_space == gymnasium.spaces.Discrete(3)
    assert dataset.storage.metadata["author"] == {"A. Walker"}
    assert "corridor/walks-v0" in minari.list_local_datasets()
    first, second = minari.load_dataset("corridor/walks-v0").iterate_episodes()
    assert (first.terminations.tolist(), first.truncations.tolist()) == ([False, True], [False, False])
    assert (second.terminations.tolist(), second.truncations.tolist()) == ([False], [True])


def test_states_only_stay_states_only():
    dataset = to_minari(WALKS.without_actions(), "walks-v0")
    assert dataset.action_space == gymnasium.spaces.Discrete(1)
    assert from_minari("walks-v0") == WALKS.without_actions()


@pytest.mark.filterwarnings("ignore:.*is set to None:UserWarning", "ignore:env_spec is None:UserWarning")
def test_a_dataset_collected_in_an_environment_is_read_from_zero():
    with gymnasium.make("FrozenLake-v1", is_slippery=False) as lake:
        dataset = to_minari(WALKS, "lake-v0", env=lake)
    assert dataset.observation_space == gymnasium.spaces.Discrete(16)
    assert dataset.spec.env_spec is not None
    assert from_minari("lake-v0") == WALKS
    to_minari(WALKS, "lake-v1", env="FrozenLake-v1")
    buffer = minari.data_collector.EpisodeBuffer(
        observations=np.array([10, 12]),
        actions=np.array([-1]),
        rewards=[0.0],
        terminations=[True],
        truncations=[False],
    )
    minari.create_dataset_from_buffers(
        "shifted-v0",
        [buffer],
        observation_space=gymnasium.spaces.Discrete(5, start=10),
        action_space=gymnasium.spaces.Discrete(2, start=-1),
    )
    assert from_minari("shifted-v0") == Demonstrations.from_arrays([[0, 2]], [[0]], terminated=True)


def test_part_of_a_dataset_can_be_read():
    dataset = to_minari(WALKS, "walks-v0")
    assert from_minari(dataset.filter_episodes(lambda episode: bool(episode.terminations[-1]))) == WALKS[:1]


@pytest.mark.filterwarnings("ignore:.*is set to None:UserWarning", "ignore:env_spec is None:UserWarning")
def test_continuous_observations_are_refused(refused):
    buffer = minari.data_collector.EpisodeBuffer(
        observations=np.zeros((2, 3)),
        actions=np.array([0]),
        rewards=[0.0],
        terminations=[True],
        truncations=[False],
    )
    minari.create_dataset_from_buffers(
        "cart-v0",
        [buffer],
        observation_space=gymnasium.spaces.Box(-1, 1, (3,)),
        action_space=gymnasium.spaces.Discrete(2),
    )
    with refused("cart-v0", "observations", "Box", "cells"):
        from_minari("cart-v0")


def test_datasets_that_cannot_be_read_are_refused(root, refused):
    with refused("absent-v0", "minari download"):
        from_minari("absent-v0")
    to_minari(WALKS, "walks-v0")
    metadata = root / "walks-v0" / "data" / "metadata.json"
    metadata.write_text(metadata.read_text().replace('"observation_space"', '"other"'))
    with refused("walks-v0", "spaces"):
        from_minari("walks-v0")
    metadata.write_text("{")
    with refused("walks-v0"):
        from_minari("walks-v0")


def test_datasets_that_cannot_be_written_leave_nothing(root, refused):
    with refused("episode 1", "no transition", "subset"):
        to_minari(Demonstrations.from_arrays([[0, 1], [2]]), "walks-v0")
    with refused("the number of states", "3", "at least 4"):
        to_minari(WALKS, "walks-v0", num_states=3)
    with refused("'walks'", "version"):
        to_minari(WALKS, "walks")
    with refused("Minari refused", "walks-v0"):
        to_minari(WALKS, "walks-v0", unheard_of=1)
    with gymnasium.make("CliffWalking-v1") as cliff, refused("48 states", "need 50"):
        to_minari(Demonstrations.from_arrays([[49, 0]], [[0]]), "walks-v0", env=cliff)
    assert not (root / "walks-v0").exists()
    to_minari(WALKS, "walks-v0")
    with refused("walks-v0", "already"):
        to_minari(WALKS[:1], "walks-v0")
    assert from_minari("walks-v0") == WALKS


def test_a_machine_without_minari_is_told_what_to_install(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "minari", None)
    with refused("minari", "robustirl[minari]"):
        to_minari(WALKS, "walks-v0")
    with refused("minari", "robustirl[minari]"):
        from_minari("walks-v0")


def test_unknown_ends_stay_unknown():
    unknown = Demonstrations.from_arrays([[0, 1, 2], [3, 1]], [[0, 1], [2]])
    to_minari(unknown, "corridor/open-v0")
    assert from_minari("corridor/open-v0") == unknown
    to_minari(unknown.without_actions(), "corridor/bare-v0")
    assert from_minari("corridor/bare-v0") == unknown.without_actions()


def test_ids_that_no_folder_can_have_are_refused(root, refused, monkeypatch):
    for name in ("n" * 300 + "/walks-v0", "corridor/" + "w" * 300 + "-v0"):
        with refused("has a part of 30", "at most 255"):
            save(WALKS, f"minari:{name}")
        with refused("has a part of 30", "at most 255"), reserved_place(f"minari:{name}"):
            pass
    with refused("cannot be read"):
        from_minari("corridor/" + "w" * 300 + "-v0")
    assert list(root.iterdir()) == []

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(minari, "create_dataset_from_buffers", full)
    with refused("corridor/walks-v1 cannot be written", "No space left on device"):
        to_minari(WALKS, "corridor/walks-v1")
