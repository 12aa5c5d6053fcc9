"""A world of one's own in a file: read exactly, refused in a sentence, and learned in by the command line."""

import csv

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

from robustirl import envs
from robustirl.envs import world_files
from robustirl.errors import InvalidInputError
from robustirl.irl import RobustIRL
from tests.commands import robustirl

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


def test_a_reward_that_is_not_finite_is_refused_with_the_name_of_the_file(tmp_path, refused):
    with refused("world.npz", "not finite"):
        envs.from_file(saved(tmp_path, kernel=CORRIDOR, reward=[np.nan, 0.0, 0.0, 0.0]))


def test_a_reward_is_there_or_asked_for_in_vain(tmp_path, refused):
    world = envs.from_file(saved(tmp_path, kernel=CORRIDOR, reward=[-1.0, -1.0, -1.0, 0.0]))
    assert world.reward.tolist() == [-1, -1, -1, 0]
    with refused("world.npz", "no array 'reward'"):
        _ = envs.from_file(saved(tmp_path, kernel=CORRIDOR)).reward


@pytest.mark.parametrize(
    ("arrays", "culprits"),
    [
        ({"initial": START}, ["no array 'kernel'"]),
        ({"kernel": CORRIDOR, "rewards": START}, ["'rewards'", "means nothing"]),
        ({"kernel": CORRIDOR[0]}, ["(2, 4)", "[S, A, S]"]),
        ({"kernel": np.zeros((0, 2, 0))}, ["(0, 2, 0)"]),
        ({"kernel": CORRIDOR.astype(str)}, ["'kernel'", "real numbers"]),
        ({"kernel": 0.9 * CORRIDOR}, ["0.9"]),
        ({"kernel": CORRIDOR, "initial": START[:3]}, ["'initial'", "(3,)", "(4,)"]),
        ({"kernel": CORRIDOR, "initial": 2 * START}, ["world.npz", "2"]),
        ({"kernel": CORRIDOR, "discount": 1.5}, ["world.npz", "1.5"]),
        ({"kernel": CORRIDOR, "discount": START}, ["'discount'", "(4,)"]),
        ({"kernel": CORRIDOR, "reward": START[:2]}, ["'reward'", "(2,)"]),
        ({"kernel": CORRIDOR, "shape": [2, 3]}, ["'shape'", "[2, 3]", "4"]),
        ({"kernel": CORRIDOR, "shape": [1.0, 4.0]}, ["'shape'"]),
        ({"kernel": np.array([None])}, ["damaged"]),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_what_is_no_world_is_refused(arrays, culprits, tmp_path, refused):
    with refused(*culprits):
        envs.from_file(saved(tmp_path, **arrays))


def test_what_is_no_file_is_refused(tmp_path, refused):
    with refused("gone.npz", "cannot be read"):
        envs.from_file(tmp_path / "gone.npz")
    (tmp_path / "text.npz").write_text("hello")
    with refused("text.npz", "not an .npz file"):
        envs.from_file(tmp_path / "text.npz")


def test_the_command_line_learns_in_a_world_of_ones_own(here, capsys):
    saved(here, kernel=CORRIDOR, initial=START, discount=0.9)
    (here / "walks.csv").write_text("episode,step,state,terminated\n0,0,0,\n0,1,1,\n0,2,2,\n0,3,3,true\n")
    line = "fit --env world.npz --demos walks.csv --alpha 1 --steps 30 --out learned"
    status, out, _ = robustirl(line, capsys)
    assert status in (0, 1)  # Few data: whoever asks is told not to rely on it.
    assert "a world of 4 states and 2 actions, γ = 0.9" in out
    assert RobustIRL.load("learned/model.npz").predict([0, 1, 2]).tolist() == [1, 1, 1]
    status, _, err = robustirl("demos make --env world.npz --out more.csv", capsys)
    assert status == 2
    assert "world.npz holds no array 'reward', so that there is no expert to ask" in err


def test_a_mask_says_which_actions_there_are(here):
    mask = np.ones(CORRIDOR.shape[:2], bool)
    mask[0, 0] = False
    saved(here, kernel=CORRIDOR, mask=mask, initial=START, discount=0.9)
    assert np.asarray(envs.from_file("world.npz").mdp().mask).tolist() == mask.tolist()
    for kind in (int, float):
        saved(here, kernel=CORRIDOR, mask=mask.astype(kind), initial=START, discount=0.9)
        assert np.asarray(envs.from_file("world.npz").mdp().mask).tolist() == mask.tolist()


@pytest.mark.parametrize("value", [float("nan"), 0.5, -1, 2, float("inf")])
def test_a_mask_holds_answers(here, value, refused):
    mask = np.ones(CORRIDOR.shape[:2])
    mask[1, 1] = value
    saved(here, kernel=CORRIDOR, mask=mask)
    with refused("the array 'mask' of world.npz is", "at state 1, action 1", "1 and 0, are needed"):
        envs.from_file("world.npz")


def test_features_and_their_names_are_read(tmp_path):
    kernel = np.stack([np.eye(2), np.eye(2)[::-1]], 1)
    phi = np.arange(12.0).reshape(2, 2, 3)
    np.savez(tmp_path / "world.npz", kernel=kernel, features=phi, feature_names=np.array(["a", "b", "c"]))
    world = envs.from_file(tmp_path / "world.npz")
    assert world.features.tolist() == phi.tolist()
    assert world.feature_names == ("a", "b", "c")
    assert world.reward_model == "linear"
    np.savez(tmp_path / "wrong.npz", kernel=kernel, features=np.ones((3, 1)))
    with pytest.raises(InvalidInputError, match=r"the array .features. of .* has shape"):
        envs.from_file(tmp_path / "wrong.npz")
    np.savez(tmp_path / "alone.npz", kernel=kernel, feature_names=np.array(["a"]))
    with pytest.raises(InvalidInputError, match="holds 'feature_names' but no array 'features'"):
        envs.from_file(tmp_path / "alone.npz")


@pytest.mark.slow
def test_the_command_line_learns_by_likelihood_and_writes_standard_errors(tmp_path, capsys):
    np.savez(
        tmp_path / "shop.npz",
        kernel=np.ones((1, 2, 1)),
        features=[[[0.0], [1.0]]],
        feature_names=np.array(["bonus"]),
        discount=0.9,
    )
    rows = "episode,state,action\n" + "".join(f"{e},0,{int(e < 3)}\n{e},0,\n" for e in range(4))
    (tmp_path / "log.csv").write_text(rows)
    where = f"--env {tmp_path}/shop.npz --demos {tmp_path}/log.csv --out {tmp_path}/out"
    assert robustirl(f"fit {where} --objective likelihood --alpha 1", capsys)[0] == 0
    (row,) = list(csv.DictReader((tmp_path / "out" / "parameters.csv").read_text().splitlines()))
    assert row["parameter"] == "bonus"
    assert float(row["estimate"]) == pytest.approx(np.log(3), abs=1e-7)
    assert float(row["standard_error_hessian"]) == pytest.approx((4 * 3 / 16) ** -0.5)
    assert (tmp_path / "out" / "reward.csv").read_text().startswith("state,reward_0,reward_1,")


@pytest.mark.parametrize("shape", [[3, 2], [1, 6], [2, 2]])
def test_a_grid_has_at_most_as_many_cells_as_states(shape):
    assert world_files._shape("w.npz", np.array(shape), 6) == tuple(shape)


@pytest.mark.parametrize("shape", [[3, 3], [0, 6], [6, 0], [-2, -3], [6], [1, 2, 3], [2.0, 3.0]])
def test_shapes_of_no_grid_are_refused(shape, refused):
    with refused("the array 'shape' of w.npz is", "a grid of at most 6 cells"):
        world_files._shape("w.npz", np.array(shape), 6)


def test_features_are_of_states_or_of_pairs(refused):
    for size in ((3, 4), (3, 2, 4)):
        assert world_files._features("w.npz", np.ones(size), (3, 2)).shape == size
    for size in ((3,), (2, 4), (3, 3, 4), (3, 0), (3, 2, 4, 1)):
        with refused(f"has shape {size}, but (3, 'd') or (3, 2, 'd') is needed"):
            world_files._features("w.npz", np.ones(size), (3, 2))


def test_rows_of_a_shorter_type_sum_to_one_in_full():
    thirds = np.array([[[1 / 3, 2 / 3], [0.25, 0.25]]], np.float32)  # The second row does not sum to one at all.
    found = world_files._in_full(thirds)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found[0, 0].sum(), 1, rtol=0, atol=1e-15)
    assert found[0, 1].tolist() == [0.25, 0.25]
    exact = np.array([[[1 / 3, 0.5]]])
    assert world_files._in_full(exact) is exact


def test_names_are_different_words(refused):
    assert world_files._names("w.npz", "state_names", np.array(["a", "b"]), 2) == ("a", "b")
    for words in (["a", "a"], ["a"], ["a", "b", "c"], [1, 2], [["a", "b"]]):
        with refused("the array 'state_names' of w.npz is", "2 different words are needed"):
            world_files._names("w.npz", "state_names", np.array(words), 2)


def test_a_sparse_matrix_in_a_file_is_a_world(tmp_path, refused):
    matrix = scipy.sparse.csr_array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for form in ("csr", "csc"):
        scipy.sparse.save_npz(tmp_path / "world.npz", matrix.asformat(form))
        world = envs.from_file(tmp_path / "world.npz", discount=0.5).mdp()
        assert np.asarray(world.kernel.to_array()).tolist() == [[[0, 1], [1, 0]], [[1, 0], [0, 1]]]
    scipy.sparse.save_npz(tmp_path / "world.npz", scipy.sparse.coo_array(matrix))
    with refused("kernel"):
        envs.from_file(tmp_path / "world.npz")
    scipy.sparse.save_npz(tmp_path / "world.npz", scipy.sparse.csr_array(np.ones((3, 2))))
    with refused("(3, 2)", "multiple"):
        envs.from_file(tmp_path / "world.npz")


def test_a_small_file_of_a_sparse_matrix_with_endless_rows_is_refused(tmp_path, refused):
    tall = scipy.sparse.csc_array(([1.0], [0], [0, 1]), shape=(10**13, 1))
    scipy.sparse.save_npz(tmp_path / "world.npz", tall)
    with refused("world.npz, of shape (10000000000000, 1), needs about", "GiB", "save a smaller world"):
        envs.from_file(tmp_path / "world.npz")
