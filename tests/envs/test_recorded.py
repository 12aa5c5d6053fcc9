"""Worlds that come with data: buses, the labyrinth, patients with sepsis."""

import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import recorded, recorded_choices
from robustirl.envs.recorded import prepare_bus
from robustirl.errors import InvalidInputError

# Group, observations, replacements, shares of the increments 0, 1, 2.
PREPARED = [
    (1, 360, 0, [0.1972, 0.7889, 0.0139]),
    (2, 192, 0, [0.3906, 0.5990, 0.0104]),
    (3, 3312, 27, [0.3071, 0.6827, 0.0103]),
    (4, 4292, 33, [0.3919, 0.5953, 0.0128]),
]


@pytest.mark.parametrize(("group", "observations", "replacements", "shares"), PREPARED)
def test_groups_are_prepared_as_by_rust(group, observations, replacements, shares):
    env = envs.make("buses", group=group)
    assert env.choice_states.size == env.choice_actions.size == env.increments.size == observations
    assert env.choice_actions.sum() == replacements
    assert env.increment_shares.round(4).tolist() == shares


def test_groups_1_to_3_together_have_the_published_increments():
    assert envs.buses((1, 2, 3)).increment_shares.round(3).tolist() == [0.301, 0.688, 0.011]


def test_the_world_moves_as_the_increments_say():
    env = envs.buses(4)
    kernel = np.asarray(env.mdp().kernel.dense())
    assert kernel[10, 0, 10:13] == pytest.approx(env.increment_shares)
    assert kernel[10, 1, :3] == pytest.approx(env.increment_shares)
    assert kernel[88, 0, 88:] == pytest.approx([env.increment_shares[0], 1 - env.increment_shares[0]])
    assert kernel == pytest.approx(np.tensordot(env.increment_shares, env.increment_kernels, 1))


def test_episodes_are_the_readings_themselves():
    env = envs.buses(4)
    walks = recorded(env)
    assert len(walks) == 37
    assert walks.num_transitions == 4292
    # The sample of the paper leaves the first month out and adds the last one, so that the two differ at both ends.
    assert walks.actions.sum() == recorded_choices(env).actions.sum() == 33


def test_mileage_counts_from_the_last_replacement():
    bus = prepare_bus([4000, 9000, 13000, 18000], [9500, 14000])
    assert bus.states.tolist() == [0, 1, 0, 0]
    assert bus.decisions.tolist() == [0, 1, 1, 0]
    assert bus.increments.tolist() == [1, 1, 1]  # After a replacement the number of the bin, from 1.


def test_recorded_steps_of_mice_agree_with_the_labyrinth():
    env = envs.make("labyrinth")
    walks = recorded(env)
    walks.check_possible(env.mdp())
    assert (len(walks), walks.num_transitions) == (238, 238 * 499)


def test_nodes_of_the_labyrinth_lie_apart():
    places = envs.make("labyrinth").positions
    assert len({tuple(place) for place in places.round(6).tolist()}) == 127


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: prepare_bus([5, 4], [], name="bus 7"), r"the readings of bus 7 are \[5, 4\]"),
        (lambda: prepare_bus([5], []), "at least two numbers of miles"),
        (lambda: prepare_bus([5.0, np.nan], []), "none smaller than the one before"),
        (lambda: prepare_bus([0, 90], [40, 20]), "replaced at 40, 20 miles"),
        (lambda: prepare_bus([0, 450_001], []), "has run 450001 miles since its last replacement"),
        (lambda: prepare_bus([0, 90], [20, 40]), "at most one replacement a month"),
        (lambda: envs.buses(9), "the group is 9, but one or several of 1 to 8"),
        (lambda: envs.buses(4).reward, "the true reward of buses-4 is not known"),
        (lambda: envs.make("sepsis", group=2), "the group is 2, but 0"),
        (lambda: envs.make("sepsis").features_by("age"), "no features 'age'; choose one of outcomes"),
    ],
)
def test_what_cannot_be_right_is_refused(attempt, message):
    with pytest.raises(InvalidInputError, match=message):
        attempt()


def array(world):
    return world.kernel.to_sparse().toarray().reshape(721, 8, 721)


def test_patients_end_once_and_are_told_apart_by_their_signs():
    env = envs.make("sepsis", features="levels")
    first = env.mdp()
    rows = array(first)
    outcome = np.flatnonzero(env.reward)
    assert (env.reward > 0).sum() == 1
    assert (env.reward < 0).sum() == 416
    assert (rows[outcome][..., 720] == 1).all()
    assert rows[720, :, 720].tolist() == [1] * 8
    assert (np.asarray(first.initial)[:720] > 0).sum() == 37
    np.testing.assert_allclose(rows.sum(-1), 1, atol=1e-12)
    np.testing.assert_allclose(rows * 1e4, np.rint(rows * 1e4), atol=1e-9)  # Counts of 10,000 draws.
    second = env.mdp(group=1)
    apart = np.abs(array(second) - rows).sum(-1)
    assert apart.max().round(4) == 1.4206
    mixed = array(env.mdp(0.25, "other-group"))
    np.testing.assert_allclose(mixed, 0.75 * rows + 0.25 * array(second), atol=1e-12)
    phi, names = env.features, env.feature_names
    assert (phi[720] == 0).all()
    assert phi[376].tolist() == [float(name == "discharge") for name in names]
    alive = (env.reward[:720] == 0).nonzero()[0]
    assert (phi[alive][:, :13].sum(-1) == 4).all()  # One level of each sign.
    assert set(env.classes) == {"death", "discharge", "in care", "over"}


def test_switched_treatments_are_on_afterwards():
    env = envs.make("sepsis")
    rows = env.mdp().kernel.to_sparse().tocoo()
    state, action = np.divmod(rows.row, 8)
    moved = (env.reward[state] == 0) & (state < 720)
    for name in ("antibiotics", "vasopressors", "ventilation"):
        on = np.array([name in words for words in env.state_names])
        told = np.array([name in words for words in env.action_names])
        assert (on[rows.col[moved]] == told[action[moved]]).all()
