"""Environments made of tables: blending, noise, what noise leaves alone; and worlds in files."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

from robustirl import envs
from robustirl.envs.tables import MAX_DENSE_STATES, Outcomes, TabularEnvironment, blend

# From 0 action 0 leads to 1 or 2, listed in three pieces, and action 1 to 2; 1 has one action, back to 0; 2 keeps.
OUTCOMES = Outcomes(
    np.array([[[1, 2, 1], [2, 0, 0]], [[0, 0, 0], [0, 0, 0]], [[2, 2, 2], [2, 2, 2]]]),
    np.array([[[0.25, 0.5, 0.25], [1, 0, 0]], [[1, 0, 0], [0, 0, 0]], [[0.5, 0.5, 0], [1, 0, 0]]]),
)


def small(**options):
    return TabularEnvironment("small", outcomes=OUTCOMES, rewards=np.array([1.0, 2.0, 0.0]), **options)


def rows(env, noise=0.0, model=None):
    return env.mdp(noise, model).kernel.to_sparse().toarray().reshape(3, 2, 3)


def test_pieces_of_an_outcome_add_up_and_missing_actions_are_masked():
    np.testing.assert_array_equal(rows(small())[:, 0], [[0, 0.5, 0.5], [1, 0, 0], [0, 0, 1]])
    assert small().mdp().mask.tolist() == [[True, True], [True, False], [True, True]]


def test_uniform_state_spreads_over_all_states_but_leaves_absorbing_ones_and_missing_actions_alone():
    kernel = rows(small(), 0.3, "uniform-state")
    np.testing.assert_allclose(kernel[0, 0], [0.1, 0.45, 0.45])
    np.testing.assert_allclose(kernel[1], [[0.8, 0.1, 0.1], [0, 0, 0]])
    np.testing.assert_array_equal(kernel[2], [[0, 0, 1], [0, 0, 1]])


def test_uniform_action_draws_from_the_actions_that_exist():
    kernel = rows(small(), 0.4, "uniform-action")
    np.testing.assert_allclose(kernel[0, 0], 0.6 * np.array([0, 0.5, 0.5]) + 0.4 * np.array([0, 0.25, 0.75]))
    np.testing.assert_allclose(kernel[1, 0], [1, 0, 0])


def test_a_disturbance_of_ones_own_comes_first_and_spares_calm_states():
    back = Outcomes.certain(np.zeros((3, 2), dtype=int))
    env = small(disturbances={"back": back}, calm=np.array([True, False, False]))
    assert env.noise_models == ("back", "uniform-state", "uniform-action")
    np.testing.assert_array_equal(rows(env, 0.5)[0], rows(env)[0])
    assert rows(small(disturbances={"back": back}), 0.5)[0, 1].tolist() == [0.5, 0, 0.5]


def test_blending_and_reordering():
    other = OUTCOMES.after(np.array([1, 0]))
    np.testing.assert_array_equal(other.dense(), OUTCOMES.dense()[:, ::-1])
    mixed = blend((0.25, OUTCOMES), (0.75, other)).dense()
    np.testing.assert_allclose(mixed, 0.25 * OUTCOMES.dense() + 0.75 * other.dense())
    per_state = OUTCOMES.after(np.array([[0, 0], [0, 1], [1, 0]])).dense()
    np.testing.assert_array_equal(per_state[0, 1], OUTCOMES.dense()[0, 0])


def ring(size):
    here = np.arange(size)
    moves = np.stack([(here + 1) % size, (here - 1) % size], -1)
    return TabularEnvironment("ring", outcomes=Outcomes.certain(moves), rewards=np.zeros((size, 2)))


def test_the_default_noise_model_of_a_large_table_is_refused_with_a_remedy(refused):
    with refused("uniform-state", "1001", "another noise model"):
        ring(MAX_DENSE_STATES + 1).mdp(0.1)


@pytest.mark.parametrize("shape", [(3, 3), (2,), (3, 2, 1)])
def test_a_reward_of_another_shape_is_refused(shape, refused):
    with refused("the reward", str(shape), "(3,)", "(3, 2)"):
        TabularEnvironment("small", outcomes=OUTCOMES, rewards=np.zeros(shape))


def test_rewards_are_checked_and_cannot_be_written_to(refused):
    with refused("the reward", "state 1", "nan"):
        TabularEnvironment("small", outcomes=OUTCOMES, rewards=np.array([0.0, np.nan, 0.0]))
    with pytest.raises(ValueError, match="read-only"):
        small().reward[0] = 3.0


CORRIDOR = np.zeros((4, 2, 4))
for cell in range(3):
    CORRIDOR[cell, 0, max(cell - 1, 0)] = CORRIDOR[cell, 1, cell + 1] = 1
CORRIDOR[3, :, 3] = 1
START = np.array([1.0, 0.0, 0.0, 0.0])


def saved(folder, **arrays):
    np.savez(folder / "world.npz", **arrays)
    return folder / "world.npz"


def test_the_world_is_that_of_the_file(tmp_path):
    world = envs.from_file(saved(tmp_path, kernel=CORRIDOR, initial=START, discount=0.9, shape=[1, 4]))
    assert world.shape == (1, 4)
    made = world.mdp()
    assert np.array_equal(np.stack([made.kernel.expect(row) for row in jnp.eye(4)], -1), CORRIDOR)
    assert np.array_equal(made.initial, START)
    assert float(made.discount) == 0.9
    noisy = world.mdp(0.4, "uniform-state")
    assert float(noisy.kernel.expect(jnp.eye(4)[2])[0, 1]) == pytest.approx(0.1)
    assert float(envs.from_file(saved(tmp_path, kernel=CORRIDOR), discount=0.5).mdp().discount) == 0.5
    assert float(envs.from_file(saved(tmp_path, kernel=CORRIDOR)).mdp().discount) == 0.99


def test_actions_that_do_not_exist_are_rows_of_zeros(tmp_path):
    kernel = CORRIDOR.copy()
    kernel[0, 0] = 0
    assert envs.from_file(saved(tmp_path, kernel=kernel)).mdp().mask[0].tolist() == [False, True]


def test_kernels_of_single_precision_are_read_and_their_rows_sum_to_one_in_full(tmp_path):
    kernel = np.random.default_rng(0).dirichlet(np.ones(7), size=(7, 3)).astype(np.float32)
    world = envs.from_file(saved(tmp_path, kernel=kernel)).mdp()
    np.testing.assert_allclose(np.asarray(world.kernel.row_sums()), 1, atol=1e-15)
    np.testing.assert_allclose(np.stack([world.kernel.expect(row) for row in jnp.eye(7)], -1), kernel, atol=1e-6)


def test_what_is_no_file_is_refused(tmp_path, refused):
    with refused("gone.npz", "cannot be read"):
        envs.from_file(tmp_path / "gone.npz")
    (tmp_path / "text.npz").write_text("hello")
    with refused("text.npz", "not an .npz file"):
        envs.from_file(tmp_path / "text.npz")


def test_a_mask_says_which_actions_there_are(here):
    mask = np.ones(CORRIDOR.shape[:2], bool)
    mask[0, 0] = False
    saved(here, kernel=CORRIDOR, mask=mask, initial=START, discount=0.9)
    assert np.asarray(envs.from_file("world.npz").mdp().mask).tolist() == mask.tolist()
    for kind in (int, float):
        saved(here, kernel=CORRIDOR, mask=mask.astype(kind), initial=START, discount=0.9)
        assert np.asarray(envs.from_file("world.npz").mdp().mask).tolist() == mask.tolist()


def test_a_sparse_matrix_in_a_file_is_a_world(tmp_path, refused):
    matrix = scipy.sparse.csr_array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for form in ("csr", "csc"):
        scipy.sparse.save_npz(tmp_path / "world.npz", matrix.asformat(form))
        world = envs.from_file(tmp_path / "world.npz", discount=0.5).mdp()
        assert np.asarray(world.kernel.dense()).tolist() == [[[0, 1], [1, 0]], [[1, 0], [0, 1]]]
    scipy.sparse.save_npz(tmp_path / "world.npz", scipy.sparse.coo_array(matrix))
    with refused("kernel"):
        envs.from_file(tmp_path / "world.npz")
    scipy.sparse.save_npz(tmp_path / "world.npz", scipy.sparse.csr_array(np.ones((3, 2))))
    with refused("(3, 2)", "multiple"):
        envs.from_file(tmp_path / "world.npz")


def test_large_tables_are_never_written_out():
    large = ring(MAX_DENSE_STATES + 1).mdp(0.25, "uniform-action").kernel
    np.testing.assert_allclose(large.to_sparse().toarray()[0, [1, MAX_DENSE_STATES]], [0.875, 0.125])


WRONG = [
    ({"initial": START}, ["no array 'kernel'"]),
    ({"kernel": CORRIDOR, "rewards": START}, ["'rewards'", "means nothing"]),
    ({"kernel": CORRIDOR[0]}, ["(2, 4)", "[S, A, S]"]),
    ({"kernel": CORRIDOR.astype(str)}, ["'kernel'", "real numbers"]),
    ({"kernel": 0.9 * CORRIDOR}, ["0.9"]),
    ({"kernel": CORRIDOR, "initial": START[:3]}, ["'initial'", "(3,)", "(4,)"]),
    ({"kernel": CORRIDOR, "initial": 2 * START}, ["world.npz", "2"]),
    ({"kernel": CORRIDOR, "discount": 1.5}, ["world.npz", "1.5"]),
    ({"kernel": CORRIDOR, "reward": START[:2]}, ["'reward'", "(2,)"]),
    ({"kernel": CORRIDOR, "reward": [np.nan, 0, 0, 0]}, ["world.npz", "not finite"]),
    ({"kernel": CORRIDOR, "shape": [2, 3]}, ["'shape'", "[2, 3]", "4"]),
    ({"kernel": CORRIDOR, "mask": np.full((4, 2), 0.5)}, ["'mask'", "1 and 0"]),
    ({"kernel": CORRIDOR, "features": np.ones((3, 1))}, ["'features'", "(3, 1)"]),
    ({"kernel": CORRIDOR, "feature_names": np.array(["a"])}, ["no array 'features'"]),
    ({"kernel": CORRIDOR, "action_names": np.array(["a", "a"])}, ["'action_names'", "2 different words"]),
    ({"kernel": np.array([None])}, ["damaged"]),
]


@pytest.mark.parametrize(("arrays", "culprits"), WRONG)
def test_what_is_no_world_is_refused(arrays, culprits, tmp_path, refused):
    with refused(*culprits):
        envs.from_file(saved(tmp_path, **arrays))


def test_rewards_features_and_words_are_read(tmp_path, refused):
    phi, labels = np.arange(24.0).reshape(4, 2, 3), ["way", "way", "way", "end"]
    world = envs.from_file(
        saved(
            tmp_path,
            kernel=CORRIDOR,
            reward=[-1.0, -1.0, -1.0, 0.0],
            features=phi,
            feature_names=np.array(["a", "b", "c"]),
            classes=np.array(labels),
        )
    )
    assert world.features.tolist() == phi.tolist()
    assert (world.feature_names, world.classes, world.reward_model) == (("a", "b", "c"), tuple(labels), "linear")
    assert world.reward.tolist() == [-1, -1, -1, 0]
    with refused("world.npz", "reward"):
        _ = envs.from_file(saved(tmp_path, kernel=CORRIDOR)).reward
