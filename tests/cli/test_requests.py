"""What commands ask for and what they say of the answer, with stand-ins for what is computed."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl.cli import demos, doctor, engines, fit, serve, theory
from robustirl.cli.console import take_answers
from robustirl.demonstrations import Demonstrations, save
from robustirl.errors import InvalidInputError
from robustirl.irl import Status, Trust
from robustirl.paper import figures
from robustirl.sweeps import RayEngine
from tests.cli.test_printed import printed
from tests.commands import robustirl


def run(command, request):
    """The exit status of a command, what it printed, and what it answers."""
    status = []
    said = printed(lambda: status.append(command(request)))
    return status[0], said, take_answers()


class Job:
    """A fit that takes one step, or is interrupted after it."""

    understood = "w.csv: 3 episodes."

    def __init__(self, trust=Trust.TRUST, kept=None):
        verdict = SimpleNamespace(steps=1, status=Status.CONVERGED, occupancy_gap=0.25)
        judgment = SimpleNamespace(trust=trust, why="because.", advice=["try"])
        self.model = SimpleNamespace(
            fit_=SimpleNamespace(verdict=verdict, alpha=np.array([0.5, 1.0])),
            judgment_=judgment,
            warnings_=["careful"],
            summary=lambda: "a summary",
        )
        self.kept = kept

    def run(self, callbacks):
        callbacks[0](SimpleNamespace(step=7, occupancy_gap=0.123456))
        if self.kept is not None:
            raise KeyboardInterrupt

    def keep_best(self):
        return self.kept


@pytest.fixture
def bar(monkeypatch):
    """What the bar was told."""
    told = []

    class Bar:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            told.append("end")

        def add_task(self, description, total):
            told.append((description, total))
            return "task"

        def update(self, task, **changes):
            told.append((task, changes))

    monkeypatch.setattr(fit, "progress_bar", Bar)
    return told


@pytest.mark.parametrize(
    ("job", "status"),
    [
        (Job(), 0),
        (Job(Trust.DOUBT), 0),
        (Job(Trust.DO_NOT_USE), 1),
        (Job(Trust.DO_NOT_USE, kept=True), 130),
    ],
)
def test_the_exit_status_of_a_fit_is_its_verdict(tmp_path, monkeypatch, bar, job, status):
    out, asked, written = tmp_path / "my fits" / "found", [], []
    monkeypatch.setattr(fit, "prepare_fit", lambda request: asked.append(request) or job)
    monkeypatch.setattr(fit, "write_fit", lambda *given, **options: written.append((given, options)) or [out / "a.csv"])
    request = fit.Fit(env="grid", demos=Path("w.csv"), out=out, steps=9, seed=3, env_arg=("size=3",), first_state=1)
    ended, said, answers = run(fit.run_fit, request)
    assert ended == status
    assert (asked[0].environment, asked[0].steps, asked[0].seed, asked[0].arguments) == ("grid", 9, 3, {"size": 3})
    assert asked[0].table.first_state == 1
    interrupted = job.kept is True
    assert written[0][0] == (job, out)
    assert written[0][1]["interrupted"] is interrupted
    assert written[0][1]["command"][:4] == ["robustirl", "fit", "--env", "grid"]
    assert bar == [
        ("learning (compiling first)", 9),
        ("task", {"completed": 7, "description": "learning, gap 0.123"}),
        ("task", {"completed": 1, "total": 1, "description": "converged after 1 steps"}),
        "end",
    ]
    lines = ["w.csv: 3 episodes.", "a summary", f"wrote {out / 'a.csv'}"]
    lines += [f"See it in a browser: robustirl explore '{out}'"]
    if interrupted:
        lines += ["standard error:", "robustirl: interrupted; writing the best fit so far."]
        lines += [f"robustirl: the best fit so far is in {out}."]
    assert said.splitlines() == lines
    assert answers == {
        "interrupted": interrupted,
        "alpha": [0.5, 1.0],
        "status": "converged",
        "steps": 1,
        "occupancy_gap": 0.25,
        "trust": job.model.judgment_.trust.value,
        "why": "because.",
        "advice": ["try"],
        "warnings": ["careful"],
        "files": [str(out / "a.csv")],
    }


def test_an_interrupt_before_there_is_a_fit_goes_on():
    with pytest.raises(KeyboardInterrupt):
        fit._run(Job(kept=False), print)


def test_the_words_of_a_command_ask_for_the_same():
    request = fit.Fit(
        *("grid", Path("w.csv"), Path("found")),
        env_arg=("a=1", "b=2"),
        allow_import=True,
        alpha=0.5,
        noise_model="slip",
    )
    words = ["--env", "grid", "--demos", "w.csv", "--out", "found", "--env-arg", "a=1", "--env-arg", "b=2"]
    words += ["--allow-import", "--alpha", "0.5", "--noise-model", "slip"]
    assert fit.command_words(request) == ["robustirl", "fit", *words]


def reports(noises):
    """Reports of a pair of worlds for every noise of the expert."""
    learned = [SimpleNamespace(certificate=SimpleNamespace(nominal_return=-2.0 * n), alpha=1 - n / 4) for n in (0, 1)]
    return [
        SimpleNamespace(
            distance=2 * noise,
            matching=SimpleNamespace(feasible=noise < 0.2),
            standard=learned[0],
            robust=learned[1],
            optimal_return=-1.0,
            learner=SimpleNamespace(discount=0.875),
        )
        for noise in noises
    ]


@pytest.fixture
def pairs(monkeypatch):
    """What was asked of the theory, and drawn."""
    asked = {"drawn": []}

    def report_pairs(environment, model, learner_noise, noises, **options):
        asked["pairs"] = (environment.name, model, learner_noise, list(noises), options)
        return reports(noises)

    def save_figure(figure, path):
        asked["drawn"].append((figure, path))
        return [path.with_suffix(".png")]

    monkeypatch.setattr(theory, "report_pairs", report_pairs)
    monkeypatch.setattr(theory, "_print_report", lambda name, report: None)
    monkeypatch.setattr(figures, "figure_theory", lambda environment, found, note: (len(found), note))
    monkeypatch.setattr(figures, "save_figure", save_figure)
    return asked


def test_the_theory_of_two_worlds_is_asked_for_once_unless_it_is_drawn(pairs, tmp_path):
    status, said, answers = run(theory.run_theory, theory.Theory())
    usual = {"alpha": None, "expert": "optimal", "steps": 200}
    assert (status, said) == (0, "")
    assert pairs["pairs"] == ("three-state", None, 0.0, [0.1], usual)
    assert answers == {
        "distance": 0.2,
        "matchable": "yes",
        "returns": {"standard": 0.0, "robust": -2.0, "best": -1.0},
        "alpha": 0.75,
    }
    out = tmp_path / "new" / "drawn"
    _, said, answers = run(theory.run_theory, theory.Theory(expert_noise=0.25, out=out))
    assert pairs["pairs"][3] == [0.25, *(noise for noise in theory.PAPER_EXPERT_NOISES if noise != 0.25)]
    assert answers["matchable"] == "no"
    count = len(pairs["pairs"][3])
    assert pairs["drawn"] == [((count, "noise model: slip, γ = 0.875"), out / "theory-three-state")]
    assert said == f"wrote {out / 'theory-three-state.png'}\n"
    given = theory.Theory(
        noise_model="other", alpha=0.5, expert="soft", steps=3, sweep=(0.3, 0.1), out=out, learner_noise=0.05
    )
    run(theory.run_theory, given)  # The folder may be there.
    assert pairs["pairs"] == (
        *("three-state", "other", 0.05, [0.1, 0.3]),
        {"alpha": 0.5, "expert": "soft", "steps": 3},
    )
    assert pairs["drawn"][1][0] == (2, "noise model: other, γ = 0.875")


@pytest.mark.parametrize(("alpha", "words"), [("auto", "α = 0.9, chosen from the demonstrations"), (0.9, "α = 0.9")])
def test_a_guarantee_says_which_fit_it_is_of(here, monkeypatch, alpha, words):
    save(Demonstrations.from_arrays([[0, 1]], terminated=True), here / "walks.npz")
    asked = []

    def report(learner, given, **options):
        asked.append(options)
        return SimpleNamespace(summary=lambda: "it holds"), 0.9

    monkeypatch.setattr(theory, "report_guarantee", report)
    request = theory.Theory(demos=Path("walks.npz"), guarantee=True, alpha=alpha, tail="hold")
    status, said, _ = run(theory.run_theory, request)
    assert status == 0
    assert said.splitlines() == [
        "three-state, learner's noise 0, demonstrations from walks.npz",
        f"the policy is that of a fit with {words}",
        "it holds",
    ]
    assert asked == [{"radius": 0.0, "alpha": alpha, "tail": "hold"}]


def test_one_episode_is_recorded_as_it_was_asked_for(tmp_path, monkeypatch):
    asked = []
    walks = Demonstrations.from_arrays([[0, 1]], terminated=True)

    def sample(world, policy, *, key, **options):
        asked.append((policy, options, jax.random.key_data(key).tolist()))
        return walks

    monkeypatch.setattr(demos, "expert_policy", lambda world, reward, kind: kind)
    monkeypatch.setattr(demos.demonstrations, "sample_demonstrations", sample)
    for place, changes in enumerate(({}, {"expert": "optimal", "states_only": True, "seed": 5})):
        out = tmp_path / f"{place}.npz"
        request = demos.Make(env="gridworld-4", out=out, episodes=1, horizon=0, noise=0.1, **changes)
        status, said, answers = run(demos.run_demos, demos.Demos(request))
        assert status == 0
        assert said == f"wrote {out}: {walks.describe()}\n"  # What noise does there is no news.
        assert answers == {"episodes": 1, "transitions": 1, "files": [str(out)]}
    usual = {"episodes": 1, "horizon": 0, "with_actions": True}
    assert asked == [("soft", usual, [0, 0]), ("optimal", usual | {"with_actions": False}, [0, 5])]


@pytest.mark.parametrize(("known", "ended"), [(True, 1), (None, None)])
def test_the_json_of_inspect_counts_ends_that_are_known(here, capsys, known, ended):
    ends = {} if known is None else {"terminated": [True, False]}
    save(Demonstrations.from_arrays([[0, 1], [0, 2, 1]], **ends), here / "walks.npz")
    _, out, _ = robustirl("demos inspect walks.npz --json", capsys)
    found = json.loads(out)
    assert (found["episodes"], found["transitions"], found["has_actions"]) == (2, 3, False)
    assert found["terminated"] == ended
    assert robustirl("convert walks.npz walks.csv", capsys)[0] == 0


def test_doctor_says_which_extras_are_there(monkeypatch):
    extras = {"one": {"a": "1.0", "b": "2.0"}, "two": {"a": "1.0", "c": None, "d": None}}
    monkeypatch.setattr(doctor, "extras", lambda: extras)
    monkeypatch.setattr(doctor, "self_check", list)
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "pyarrow" else "9")
    _, said, _ = run(doctor.run_doctor, doctor.Doctor())
    lines = said.splitlines()
    assert "extra one: present; a 1.0, b 2.0" in lines
    assert "extra two: not installed, and optional; pip install 'robustirl[two]' brings c, d" in lines
    assert lines[1] == ("jax 9, jaxlib 9, equinox 9, optax 9, numpy 9, scipy 9, matplotlib 9, pyarrow missing, tyro 9")


def test_processes_are_of_this_machine_and_addresses_are_of_ray(refused):
    assert engines.engine_of(engines.Where(workers=1)) is None
    ray = engines.engine_of(engines.Where("ray", "10.0.0.1:6379"))
    assert isinstance(ray, RayEngine)
    assert ray.address == "10.0.0.1:6379"
    with refused("--workers is 0"):
        engines.engine_of(engines.Where(workers=0))
    with refused("--address is 'x:1', but only Ray has one"):
        engines.engine_of(engines.Where(address="x:1"))
    with refused("--workers is 2, but a Ray cluster has its own number of workers"):
        engines.engine_of(engines.Where("ray", workers=2))


def test_serve_knows_when_a_folder_has_changed(tmp_path, monkeypatch):
    pages = serve.Pages(tmp_path / "store", certificates=True)
    assert pages.changed() == 0.0  # There is no folder yet,
    (tmp_path / "store" / "batches").mkdir(parents=True)
    os.utime(tmp_path / "store", (100, 100))
    os.utime(tmp_path / "store" / "batches", (300, 300))
    assert pages.changed() == 300.0
    made = []

    def write(store, target, *, certificates):
        made.append(certificates)
        target.write_text(f"page {len(made)}")

    monkeypatch.setattr(serve, "write_explorer", write)
    monkeypatch.setattr(serve, "is_fit_folder", lambda folder: False)
    assert [pages.current(), pages.current()] == [b"page 1"] * 2  # Made once,
    os.utime(tmp_path / "store", (400, 400))
    assert pages.current() == b"page 2"  # and again when a batch has come.
    assert made == [True, True]
    for now, growing in ((519.0, True), (520.0, False)):
        monkeypatch.setattr(serve, "time", SimpleNamespace(time=lambda now=now: now))
        assert pages.growing() is growing
    for port in (-1, 65536):
        with pytest.raises(InvalidInputError, match=f"--port is {port}, but a number from 0 to 65535"):
            serve.make_server(tmp_path, port, False)
