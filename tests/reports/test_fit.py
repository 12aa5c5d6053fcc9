"""What is written beside a fit: tables with their columns."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.envs import ThreeState
from robustirl.reports import fit
from robustirl.reports.fit import (
    FitJob,
    FitRequest,
    choose_optimizer,
    parameters_csv,
    policy_csv,
    prepare_fit,
    reward_csv,
)
from tests import invented
from tests.goldens import require_golden

MODEL = invented.model
TABLES = {
    "policy": lambda: policy_csv(MODEL(invented.fit(3, 2))),
    "policy with names": lambda: policy_csv(MODEL(invented.fit(3, 2)), ("hall", "attic", "yard"), ("stay", "go")),
    "reward": lambda: reward_csv(MODEL(invented.fit(3, 2))),
    "reward of pairs": lambda: reward_csv(MODEL(invented.fit(3, 2, pairs=True)), ("hall", "attic", "yard")),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_columns_and_rows_it_had(name):
    require_golden(f"tables/{name.replace(' ', '-')}.csv", TABLES[name](), close=1e-5)


def test_parameters_have_an_error_of_every_kind_and_an_interval():
    sizes = {"hessian": 1, "outer": 2, "sandwich": 3, "grouped": 4}
    found = SimpleNamespace(
        names=("wage", "rent"),
        parameters=np.array([1.0, -2.0]),
        standard_errors=lambda kind: sizes[kind] * np.array([0.5, 1.0]),
        confidence_intervals=lambda confidence: np.array([[0.0, 2.0], [-4.0, 0.0]]) * confidence,
    )
    header, wage, rent = parameters_csv(found, 0.5).splitlines()
    assert header == (
        "parameter,estimate,standard_error_hessian,standard_error_outer,standard_error_sandwich,"
        "standard_error_grouped,low,high"
    )
    assert wage == "wage,1.0,0.5,1.0,1.5,2.0,0.0,1.0"
    assert rent == "rent,-2.0,1.0,2.0,3.0,4.0,-2.0,0.0"


def attempt(gap, valid=True):
    """A model that has learned, as far as attempts are compared."""
    return SimpleNamespace(fit_=SimpleNamespace(verdict=SimpleNamespace(valid=valid)), occupancy_gap_=gap)


@pytest.mark.parametrize(
    ("gaps", "kept"), [((0.5, 0.25, 0.75), 1), ((0.25, 0.25), 0), ((0.5, None, 0.125), 2), ((0.1, -0.2), 0)]
)
def test_the_attempt_with_the_smallest_gap_is_kept(gaps, kept):
    attempts = [SimpleNamespace() if gap is None else attempt(abs(gap), valid=gap > 0) for gap in gaps]
    job = SimpleNamespace(model=attempts[0], further=tuple(attempts[1:]))
    object.__setattr__(job, "model", attempts[0])
    assert FitJob.keep_best(job)
    assert job.model is attempts[kept]
    assert not FitJob.keep_best(SimpleNamespace(model=SimpleNamespace(), further=()))


def test_optimizers_are_found_by_name(refused):
    assert choose_optimizer("newton", None) is not choose_optimizer("adam", None)
    assert choose_optimizer("adam", 0.5) is not None
    assert choose_optimizer(None, 0.5) is not None
    with refused("--rate 0.5 is for --optimizer adam, not for newton"):
        choose_optimizer("newton", 0.5)
    with refused("--optimizer is 'sgd'", "newton, adam, settling-adam, lbfgs"):
        choose_optimizer("sgd", None)


@pytest.mark.parametrize(("noise", "made"), [(0.0, [(0.0, None)]), (0.25, [(0.0, None), (0.25, "intended")])])
def test_words_about_noise_count_the_states_of_the_world_without_it(noise, made, tmp_path, monkeypatch):
    asked = []

    class World(ThreeState):
        def mdp(self, noise=0.0, noise_model=None):
            asked.append((noise, noise_model))
            return super().mdp(noise)

    monkeypatch.setattr(fit, "find_environment", lambda *given, **options: World())
    (tmp_path / "seen.csv").write_text("episode,step,state\n0,0,0\n0,1,1\n0,2,1\n")
    prepare_fit(FitRequest("any", tmp_path / "seen.csv", noise=noise, noise_model="intended" if noise else None))
    assert asked == made
