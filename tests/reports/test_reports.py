"""What is written beside a fit: tables with their columns, and the commands to try next."""

import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations
from robustirl.envs import ThreeState
from robustirl.reports import evidence, fit, next_steps
from robustirl.reports.evidence import DemonstrationsReport
from robustirl.reports.fit import (
    FitJob,
    FitRequest,
    choose_optimizer,
    parameters_csv,
    policy_csv,
    prepare_fit,
    reward_csv,
)
from robustirl.reports.fit_folder import _changed, _theory, _value, is_fit_folder
from robustirl.reports.html import render
from robustirl.reports.occupancy_file import read_occupancy
from robustirl.reports.worlds import _from_function, explain_noise, find_environment, parse_arguments
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


@pytest.mark.parametrize(
    ("gap", "error", "interval", "verdict"),
    [
        (0.5, 0.25, (0.25, 0.75), "no"),
        (0.25, 0.5, (0.0, 0.75), "open"),
        (0.25, 0.25, (0.0, 0.5), "open"),
        (1.75, 0.5, (1.25, 2.0), "no"),  # Two distributions are at most 2 apart.
    ],
)
def test_the_smallest_gap_is_known_up_to_the_error_of_the_estimate(gap, error, interval, verdict):
    report = SimpleNamespace(closest=SimpleNamespace(gap=gap), estimate=SimpleNamespace(error=error))
    report.gap_interval = DemonstrationsReport.gap_interval.fget(report)  # pyright: ignore[reportOptionalCall]
    assert report.gap_interval == interval
    assert DemonstrationsReport.verdict.fget(report) == verdict  # pyright: ignore[reportOptionalCall]


def test_commands_are_changed_in_place_or_at_their_end():
    words = ["robustirl", "fit", "--env", "e", "--alpha", "0.9", "--out"]
    assert _changed(["fit", "--out", "a"], out="b") == "fit --out b"
    assert _changed(words, alpha="1", out="x") == "robustirl fit --env e --alpha 1 --out --out x"
    assert (_value(words, "--alpha"), _value(words, "--out"), _value(words, "--noise")) == ("0.9", None, None)
    words = shlex.split("robustirl fit --env e --noise 0.1 --discount 0.5 --noise-model m --env-arg a=1 --allow-import")
    assert _theory(words, "found") == (
        "robustirl theory e --occupancy found --learner-noise 0.1 --noise-model m --discount 0.5 --env-arg a=1"
        " --allow-import"
    )
    assert _theory(["robustirl", "fit", "--env", "e"], "found") == "robustirl theory e --occupancy found"


@pytest.mark.parametrize(
    "line", ["robustirl fit --demos w", "robustirl study x --env e", "python fit.py --env e", "robustirl"]
)
def test_what_was_no_fit_of_a_world_has_no_command_to_try(line):
    record = SimpleNamespace(command=tuple(line.split()), interrupted=False)
    (only,) = next_steps(SimpleNamespace(folder=Path("found"), model=None, record=record))
    assert only.command.startswith("from robustirl import RobustIRL")


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


def test_pages_write_shares_in_percent_and_escape_what_is_foreign(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    (tmp_path / "page.css").write_text("p { color: red }\n")
    (tmp_path / "page.jinja").write_text(
        "<style>{{ style }}</style>{% if share %}\n{{ share|percent }}{% endif %}{{ name }}"
    )
    assert render("x", "page.jinja", share=0.1234, name="<b>") == "<style>p { color: red }</style>12.3 %&lt;b&gt;"


def test_a_folder_is_that_of_a_fit_if_it_has_a_model(tmp_path):
    assert not is_fit_folder(tmp_path)
    assert not is_fit_folder(tmp_path / "none")
    (tmp_path / "model.npz").write_bytes(b"")
    assert is_fit_folder(tmp_path)


def test_occupancies_are_read_from_texts_and_tables(tmp_path, refused):
    path = tmp_path / "rho.txt"
    path.write_text("0.5 0.25 # two\n# none\n0.25\n")
    assert read_occupancy(path).tolist() == [0.5, 0.25, 0.25]
    path.write_text("0.5\n0.5 inf\n")
    with refused("line 2 of", "'inf', which is no number"):
        read_occupancy(path)
    table = tmp_path / "reward.csv"
    table.write_text("state,expert_occupancy\n0,0.75\n1,0.25\n")
    assert read_occupancy(table).tolist() == [0.75, 0.25]
    for text, why in (
        ("state,expert_occupancy\n0,nan\n1,0.5\n", "not finite"),
        ("state,expert_occupancy\n", "no numbers"),
    ):
        table.write_text(text)
        with refused(why):
            read_occupancy(table)


def test_arguments_are_json_or_text(refused):
    assert parse_arguments(["a=True", "b=false", "c=1.5", "d=x=y", "e=[1, 2]"]) == {
        "a": True,
        "b": False,
        "c": 1.5,
        "d": "x=y",
        "e": [1, 2],
    }
    for words, why in ((["a"], "name=value is needed"), (["=1"], "name=value"), (["a=1", "a=2"], "a is given twice")):
        with refused(why):
            parse_arguments(words)


def test_noise_is_explained_where_it_has_no_meaning_of_its_own(refused):
    own = SimpleNamespace(name="mine", disturbances={}, noise_models=("uniform-state", "uniform-action"))
    assert explain_noise(own, 0.0, None, 5) is None
    assert explain_noise(SimpleNamespace(disturbances=None), 0.1, None, 5) is None
    assert explain_noise(own, 0.1, "uniform-state", 5) == (
        "noise in mine: with probability 0.1 the successor is any of all 5 states, whatever lies between, instead of"
        " where the action leads."
    )
    assert explain_noise(own, 0.1, "other", 5) is None
    with refused("--noise 0.1 has no meaning of its own in mine", "; or uniform-action: with probability 0.1"):
        explain_noise(own, 0.1, None, 5)


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


def test_a_function_of_ones_own_makes_a_world(monkeypatch, refused):
    world = ThreeState().mdp(0.1)
    made = {"mdp": world, "environment": ThreeState(), "number": 3, "not_callable": None}
    module = SimpleNamespace(**{name: (lambda one=one, **_: one) for name, one in made.items()}, text="x")

    def fail():
        raise KeyError("odd")

    module.fails = fail
    monkeypatch.setitem(sys.modules, "mine", module)
    assert _from_function("mine:mdp", "mine", "mdp", {}, None).mdp().discount == world.discount
    assert _from_function("mine:mdp", "mine", "mdp", {}, 0.5).mdp().discount == 0.5
    assert _from_function("mine:environment", "mine", "environment", {}, None) is made["environment"]
    assert _from_function("mine:text", "mine", "text", {}, None) is None
    assert _from_function("mine:none", "mine", "none", {}, None) is None
    with refused("mine:number returned a int, but an environment, an MDP or a Gymnasium environment is needed"):
        _from_function("mine:number", "mine", "number", {}, None)
    with refused("mine:fails failed (KeyError: 'odd')"):
        _from_function("mine:fails", "mine", "fails", {}, None)
    with refused("the module 'no_such' of 'no_such:x' cannot be imported (ModuleNotFoundError"):
        _from_function("no_such:x", "no_such", "x", {}, None)


def test_worlds_are_found_by_name_with_their_arguments(refused):
    assert find_environment("gridworld-4").mdp(0.0).discount == pytest.approx(0.99)
    assert find_environment("gridworld-4", 0.5).mdp(0.0).discount == 0.5
    with refused("--env-arg size is for environments that are made, but world.npz is a file"):
        find_environment("world.npz", arguments={"size": 3})
    with refused("would import and run the module 'mine'", "--allow-import"):
        find_environment("mine:world")


def test_a_guarantee_takes_states_that_are_never_left_as_they_are(monkeypatch):
    asked = {}

    class Model:
        policy_, alpha_ = "policy", np.asarray(0.75)

        def __init__(self, alpha, **options):
            asked["model"] = (alpha, options)

        def fit(self, learner, demonstrations):
            return self

    monkeypatch.setattr(evidence, "RobustIRL", Model)
    monkeypatch.setattr(evidence, "guarantee", lambda *given, radius: (given[2], radius.tolist()))
    walks = Demonstrations.from_arrays([[0, 1]] * 3, terminated=True)
    found, alpha = evidence.report_guarantee(ThreeState().mdp(0.1), walks, radius=0.5, alpha="auto", tail="hold")
    assert asked["model"] == ("auto", {"tail": "hold", "throw": False})
    assert (found, alpha) == (("policy", [[0.5, 0.5], [0.0, 0.0], [0.0, 0.0]]), 0.75)
