"""What `robustirl fit` asks for, shows on the way and answers, with a stand-in for the fit."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl._runtime import OutputFolder
from robustirl.cli import fit
from robustirl.irl import Status, Trust
from tests.cli.running import run_and_answer


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
    ended, said, answers = run_and_answer(fit.run_fit, request)
    assert ended == status
    assert (asked[0].environment, asked[0].steps, asked[0].seed, asked[0].arguments) == ("grid", 9, 3, {"size": 3})
    assert asked[0].table.first_state == 1
    interrupted = job.kept is True
    assert written[0][0] == (job, OutputFolder(out, out, new=True))
    assert written[0][1]["interrupted"] is interrupted
    assert written[0][1]["command"][:4] == ["robustirl", "fit", "--env", "grid"]
    assert bar == [
        ("learning (compiling first)", 9),
        ("task", {"completed": 7, "description": "learning, gap 0.123"}),
        ("task", {"completed": 1, "total": 1, "description": "converged after 1 steps"}),
        "end",
    ]
    lines = ["w.csv: 3 episodes.", "a summary", f"wrote {out / 'a.csv'}"]
    lines += [f"See it in a browser: robustirl page '{out}'"]
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
