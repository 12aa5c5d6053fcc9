"""The study of other worlds: its worlds are worlds, its regrets are right, and its tables count."""

import dataclasses

import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.paper.studies.registry import Frame
from robustirl.paper.studies.strangers import Row, StrangersStudy, confusion, rows_of, summarize, to_csv
from robustirl.paper.studies.strangers_worlds import LARGEST, Pair, random_pair

ROW = Row("a", "random", 5, 0.9, False, 1.0, 0, "converged", 0.1, 1e-5, 0.01, 0.0, "trust", "because.")


@pytest.mark.parametrize("seed", range(6))
def test_random_worlds_differ_where_they_say_so(seed):
    pair = random_pair(seed)
    kernels = [np.asarray(world.kernel.to_array()) for world in (pair.learner, pair.expert)]
    assert np.allclose(kernels[0].sum(-1), 1)
    assert (np.abs(kernels[0] - kernels[1]).max() > 0) == pair.mismatch == (seed % 2 == 1)
    assert 5 <= pair.learner.num_states <= LARGEST
    assert 0.9 <= float(pair.learner.discount) <= 0.999
    assert np.asarray(pair.learner.mask).any(-1).all()


def test_regret_is_a_share_of_what_choice_is_worth():
    # Staying costs 1 a step and leaving ends it. The expert leaves at once; the learner can do the same.
    kernel = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
    world = MDP(kernel, discount=0.5, initial=[1.0, 0.0])
    pair = Pair("leave", "random", world, world, np.array([-1.0, 0.0]), mismatch=False)
    (row,) = rows_of(pair, episodes=(0,), alphas=(1.0,))
    # Return -1 - p / (2 - p) where p is the probability of staying: -1 for the expert, -4/3 for the uniform policy.
    assert row.expert_regret == pytest.approx(0, abs=1e-9)
    assert 0 <= row.regret < 0.01
    assert row.judgment == "trust"
    indifferent = dataclasses.replace(pair, reward=np.zeros(2))
    assert list(rows_of(indifferent)) == []


def test_tables_count_what_is_there():
    bad = dataclasses.replace(ROW, judgment="do not use", regret=0.9, status="settled", alpha=0.9)
    assert confusion([ROW, ROW, bad]) == [("trust", 2, 0, 0), ("doubt", 0, 0, 0), ("do not use", 0, 0, 1)]
    assert summarize([ROW, bad])[1][:6] == ("random", "0.9", "1", "0", "1", "0")
    assert to_csv([ROW]).splitlines()[1] == "a,random,5,0.9,False,1,0,converged,0.1,1e-05,0.01,0,trust,because."


def test_the_study_writes_its_tables(tmp_path):
    StrangersStudy(worlds=1, named=False).run(Frame(tmp_path, say=lambda _: None))
    lines = (tmp_path / "strangers.csv").read_text().splitlines()
    assert len(lines) == 1 + 6  # Two values of α, three amounts of evidence.
    assert (tmp_path / "confusion-random.md").exists()
