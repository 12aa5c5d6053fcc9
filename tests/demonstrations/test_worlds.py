"""Demonstrations and worlds: where episodes end, from every source, and which moves are possible."""

import json
import types

import jax
import numpy as np
import pytest
from hypothesis import given

from robustirl.demonstrations import (
    Demonstrations,
    estimate_dynamics,
    estimate_occupancy,
    from_trajectories,
    load,
    rollout_gymnasium,
    sample_demonstrations,
    save,
)
from robustirl.demonstrations.others import arrays_of_others
from robustirl.envs import from_gymnasium
from robustirl.mdp import MDP
from tests.demonstrations.strategies import demonstrations
from tests.strategies import tasks

# From 0 by action 0 to 1 and by action 1 to 2; from 1 by action 0 to 2 alone, action 1 is missing; 2 stays.
KERNEL = np.zeros((3, 2, 3))
KERNEL[0, 0, 1] = KERNEL[0, 1, 2] = KERNEL[1, 0, 2] = KERNEL[2, :, 2] = 1
WORLD = MDP(KERNEL, discount=0.9)
SLIPPERY = MDP(np.where(np.asarray(WORLD.mask)[..., None], 0.5 * KERNEL + 0.5 / 3, 0), discount=0.9)


def in_states(demos):
    return [episode.states.tolist() for episode in demos]


def test_ends_that_nobody_recorded_are_read_off_the_world():
    bare = Demonstrations.from_arrays([[0, 1], [0, 2], [2]])
    assert bare.in_world(WORLD) == Demonstrations.from_arrays([[0, 1], [0, 2], [2]], terminated=[False, True, True])
    cut = Demonstrations.from_arrays([[0, 1]], terminated=False)
    assert cut.in_world(WORLD) == cut


def test_an_episode_that_ended_before_the_end_state_goes_on_to_it():
    # By state 1 the world leads to 2: it was the last that was recorded.
    demos = Demonstrations.from_arrays([[0, 1], [1]], [[0], []], terminated=True)
    ended = demos.in_world(WORLD)
    assert in_states(ended) == [[0, 1, 2], [1, 2]]
    assert ended.actions is not None
    assert ended.actions.tolist() == [0, 0, 0]
    assert ended.in_world(WORLD) == ended
    assert in_states(demos.without_actions().in_world(WORLD)) == [[0, 1, 2], [1, 2]]
    # The final action is the one that led to the end.
    log = Demonstrations.from_arrays([[0], [0]], [[1], [0]], terminated=True).in_world(WORLD)
    assert in_states(log) == [[0, 2], [0]]
    assert log.actions is not None
    assert log.actions.tolist() == [1]
    assert log.final_actions is not None
    assert log.final_actions.tolist() == [-1, 0]


def test_a_state_that_the_world_replaces_by_its_end_state_is_replaced():
    # The move that ended the episode leads to the end state 2 here, and never to 1.
    world = MDP([[[0.5, 0, 0.5]], [[1.0, 0, 0]], [[0, 0, 1.0]]], discount=0.9)
    demos = Demonstrations.from_arrays([[0, 0, 1], [0, 0]], [[0, 0], [0]], terminated=[True, False])
    assert in_states(demos.in_world(world)) == [[0, 0, 2], [0, 0]]
    named = demos.replace(state_names=("a", "b")).in_world(world)
    assert named.state_names == ("a", "b", "state 2")


@given(demonstrations(num_states=3, actions=False))
def test_an_end_that_no_reading_explains_stays(demos):
    alone = MDP(np.full((3, 1, 3), 1 / 3), discount=0.9)  # Without a state where episodes could end.
    assert demos.in_world(alone) == demos


SOURCES = ("rollout", "csv", "npz", "jsonl", "parquet", "arrays", "imitation", "stable-baselines", "minari")


def through(source, demos, folder, monkeypatch):
    """Return the demonstrations as they come back by another way."""
    if source in ("csv", "npz", "jsonl", "parquet"):
        save(demos, folder / f"walks.{source}")
        return load(folder / f"walks.{source}")
    if source == "minari":
        pytest.importorskip("minari")
        monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
        save(demos, "minari:walks-v0")
        return load("minari:walks-v0")
    if source == "imitation":
        save(demos, f"imitation:{folder / 'walks'}")
        return load(folder / "walks")
    if source == "arrays":
        walks = [types.SimpleNamespace(obs=e.states, acts=e.actions, terminal=e.terminated) for e in demos]
        return from_trajectories(walks)
    if source == "stable-baselines":  # The state in which an episode ended is not recorded, but its action is.
        keep = np.concatenate([np.arange(a, b - 1) for a, b in zip(demos.offsets, demos.offsets[1:], strict=False)])
        held = {"obs": demos.states[keep], "actions": demos.actions, "episode_starts": demos.steps[keep] == 0}
        return arrays_of_others(held).replace(terminated=demos.terminated)
    return demos


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["Taxi-v4", "FrozenLake-v1", "CliffWalking-v1"])
def test_every_toy_world_and_every_source_end_in_an_absorbing_state(name, source, tmp_path, monkeypatch):
    gymnasium = pytest.importorskip("gymnasium")
    world = from_gymnasium(name).mdp()
    with gymnasium.make(name) as env:
        # Uniform actions deliver no passenger: half of the time the greedy one of a short plan is taken.
        rows = np.asarray(world.kernel.to_sparse().toarray()).reshape(world.num_states, -1, world.num_states)
        stays = np.asarray([np.allclose(rows[s, :, s], 1) for s in range(world.num_states)])
        near = stays.astype(float)
        for _ in range(60):
            near = np.maximum(near, 0.9 * (rows @ near).max(1))
        best = np.eye(rows.shape[1])[(rows @ near).argmax(1)]
        demos = rollout_gymnasium(env, 0.5 * best + 0.5 / rows.shape[1], episodes=12, horizon=150, seed=1)
    assert demos.terminated.sum() >= 2
    found = through(source, demos, tmp_path, monkeypatch)
    ended = found.in_world(world)
    assert stays[ended.last_states[ended.terminated]].all()
    np.testing.assert_array_equal(ended.terminated, demos.terminated)
    if source != "stable-baselines":
        ended.check_possible(world)
    estimate = estimate_occupancy(found, world)
    assert estimate.occupancy[stays].sum() > 0.05


def test_a_table_of_decisions_ends_where_its_last_action_leads(tmp_path):
    (tmp_path / "log.csv").write_text("episode,state,action,terminated\n0,0,0,\n0,1,0,true\n1,0,1,true\n")
    log = load(tmp_path / "log.csv")
    assert in_states(log.in_world(WORLD)) == [[0, 1, 2], [0, 2]]
    assert estimate_dynamics(WORLD, log).visits.tolist() == [[1, 1], [1, 0], [0, 0]]


@given(tasks())
def test_what_was_sampled_in_a_world_is_possible_there(task):
    mdp, policy, _ = task
    demos = sample_demonstrations(mdp, policy, episodes=5, horizon=6, key=jax.random.key(0))
    demos.check_possible(mdp)
    demos.without_actions().check_possible(mdp)
    assert demos.in_world(mdp) == demos


def test_impossible_moves_are_refused(refused):
    for culprits, states, actions in (
        (("episode 1", "from state 1 to state 0 at step 1", "any available action"), [[0, 1], [0, 1, 0]], None),
        (("episode 0", "from state 0 to state 2 at step 0", "action 0"), [[0, 2]], [[0]]),
        (("episode 0 takes action 2 in state 0 at step 0", "has 2 actions"), [[0, 1]], [[2]]),
        (("episode 1 takes action 1 in state 1 at step 1", "not offer"), [[0], [0, 1, 2]], [[], [0, 1]]),
        (("episode 1 is in state 3 at step 1", "3 states"), [[0, 1], [0, 3]], None),
    ):
        with refused(*culprits):
            Demonstrations.from_arrays(states, actions).check_possible(WORLD)
    demos = Demonstrations.from_arrays([[0, 1, 0]])
    demos.check_possible(WORLD, SLIPPERY)  # A move need be possible in one world only.
    with refused("marked as terminated in state 1", "truncated"):
        Demonstrations.from_arrays([[1]], terminated=True).check_possible(SLIPPERY)
    with refused("no world"):
        demos.check_possible()


def test_a_file_of_lines_needs_no_header(tmp_path):
    lines = [{"states": [0, 1], "actions": [0]}, {"states": [0, 2], "actions": [1]}]
    (tmp_path / "walks.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert load(tmp_path / "walks.jsonl") == Demonstrations.from_arrays([[0, 1], [0, 2]], [[0], [1]])
