"""The study of guarantees from data, at its smallest."""

import csv
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.paper.studies import guarantees
from robustirl.paper.studies.guarantees import GuaranteesStudy, make_pair, simulate, table
from robustirl.paper.studies.registry import Frame
from robustirl.paper.studies.rows import to_csv


def test_one_pair_by_hand():
    """The expert always goes to state 1; the uniform policy does so half of the time, and misses 0.45."""
    row = simulate(make_pair("three-state", 0.0, 0.0, None, 50), "uniform", 50, 0)
    assert abs(row.truth - 0.45) < 1e-9
    assert row.truth <= row.shortfall
    assert row.attained <= row.shortfall <= row.without_data
    (line,) = table([row])
    assert line[:4] == ("three-state, d = 0", "uniform", "50", "1 of 1")
    assert next(csv.DictReader(to_csv(type(row), [row]).splitlines()))["policy"] == "uniform"


def test_a_choice_of_no_pair_is_refused(tmp_path):
    with pytest.raises(
        InvalidInputError, match="--only is 'nothing', which is part of no name among gridworld-4, d = 0"
    ):
        GuaranteesStudy(only="nothing").run(Frame(tmp_path, say=lambda _: None))
    assert not list(tmp_path.iterdir())


def test_a_fitted_policy_is_fitted_to_its_own_draw(monkeypatch):
    pair, asked = make_pair("three-state", 0.0, 0.0, None, 30), {}
    uniform = np.full((3, 2), 0.5)

    def sample(world, policy, *, episodes, horizon, key):
        asked["draw"] = (episodes, horizon, jax.random.key_data(key).tolist())
        return "demos"

    def fit(world, rho, *, alpha, throw):
        asked["fit"] = (world, rho, alpha, throw)
        return SimpleNamespace(player=uniform)

    found = SimpleNamespace(shortfall=0.5, attained=None, without_data=0.75, vacuous=True)
    stand_ins = {
        "sample_demonstrations": sample,
        "estimate_occupancy": lambda demos, world: SimpleNamespace(occupancy="rho"),
        "fit": fit,
        "guarantee": lambda world, demos, policy, radius: found if policy is uniform and demos == "demos" else None,
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(guarantees, name, stand_in)
    row = simulate(pair, "fitted", 7, 2)
    assert asked["draw"] == (7, 30, jax.random.key_data(jax.random.key(2_000_013)).tolist())
    assert asked["fit"] == (pair.learner, "rho", 1.0, False)
    assert row.truth == pytest.approx(0.45)  # As above.
    assert (row.policy, row.episodes, row.draw, row.vacuous) == ("fitted", 7, 2, True)
    assert (row.shortfall, row.without_data) == (0.5, 0.75)
    assert np.isnan(row.attained)
    assert 0 <= row.seconds < 60


def test_pairs_are_calm_and_noisy_experts_of_two_grids_and_two_lakes(monkeypatch):
    monkeypatch.setattr(guarantees, "make_pair", lambda *given: given)
    assert guarantees.pairs() == [
        (name, own, other, model, 500)
        for name, own, noisier, model in (
            ("gridworld-4", 0.1, 0.12, None),
            ("frozen-lake", 0.2, 0.22, "slip"),
            ("frozen-lake-8x8", 0.2, 0.22, "slip"),
        )
        for other in (own, noisier)
    ]
