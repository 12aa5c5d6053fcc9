"""What `robustirl theory` asks for, draws and answers, with stand-ins for what is computed."""

import dataclasses
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from robustirl import plotting
from robustirl._runtime import write_atomically
from robustirl.cli import theory
from robustirl.demonstrations import Demonstrations, save
from tests.cli.running import run_and_answer


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
    monkeypatch.setattr(plotting, "figure_theory", lambda environment, found, note: (len(found), note))
    monkeypatch.setattr(plotting, "save_figure", save_figure)
    return asked


def test_the_theory_of_two_worlds_is_asked_for_once_unless_it_is_drawn(pairs, tmp_path):
    status, said, answers = run_and_answer(theory.run_theory, theory.Theory())
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
    _, said, answers = run_and_answer(theory.run_theory, theory.Theory(expert_noise=0.25, out=out))
    assert pairs["pairs"][3] == [0.25, *(noise for noise in theory.PAPER_EXPERT_NOISES if noise != 0.25)]
    assert answers["matchable"] == "no"
    count = len(pairs["pairs"][3])
    assert pairs["drawn"] == [((count, "noise model: slip, γ = 0.875"), out / "theory-three-state")]
    assert said == f"wrote {out / 'theory-three-state.png'}\n"
    given = theory.Theory(
        noise_model="other", alpha=0.5, expert="soft", steps=3, sweep=(0.3, 0.1), out=out, learner_noise=0.05
    )
    run_and_answer(theory.run_theory, given)  # The folder may be there.
    assert pairs["pairs"] == (
        *("three-state", "other", 0.05, [0.1, 0.3]),
        {"alpha": 0.5, "expert": "soft", "steps": 3},
    )
    assert pairs["drawn"][1][0] == (2, "noise model: other, γ = 0.875")


@pytest.mark.parametrize("name", ["x" * 245, "\N{GRINNING FACE}" * 61, "ALE/Pong-v5", "caf\udce9", "a\0b"])
def test_a_figure_can_be_written_whatever_the_name_of_the_world(pairs, tmp_path, monkeypatch, name):
    world = dataclasses.replace(theory.envs.make("three-state"), name=name)
    monkeypatch.setattr(theory.Theory, "find", lambda *_: world)
    monkeypatch.setattr(plotting, "save_figure", lambda figure, path: [save_text(path.with_name(f"{path.name}.svg"))])
    status, said, _ = run_and_answer(theory.run_theory, theory.Theory(out=tmp_path / "drawn"))
    (path,) = (tmp_path / "drawn").iterdir()
    assert status == 0
    assert len(path.name) <= len("theory-.svg") + 100
    assert said.replace("\n", "") == f"wrote {path}"


def save_text(path):
    write_atomically(path, "drawn")
    return path


def test_the_figure_is_written_to_the_folder_that_was_tried(pairs, here, monkeypatch):
    monkeypatch.setattr(plotting, "save_figure", lambda figure, path: [save_text(path.with_name(f"{path.name}.svg"))])
    _, said, _ = run_and_answer(theory.run_theory, theory.Theory(out=Path("nowhere/../drawn")))
    assert Path("drawn/theory-three-state.svg").read_text() == "drawn"
    assert said == "wrote nowhere/../drawn/theory-three-state.svg\n"
    assert [path.name for path in here.iterdir() if path.name in ("nowhere", "drawn")] == ["drawn"]


def test_a_figure_that_cannot_be_written_is_one_sentence(pairs, here, monkeypatch, refused):
    monkeypatch.setattr(plotting, "save_figure", lambda figure, path: os.mkfifo(path) or save_text(path))
    Path("drawn").mkdir()
    sentence = "drawn cannot be written to (theory-three-state is a pipe, not a regular file); "
    with refused(f"{sentence}choose another --out."):
        run_and_answer(theory.run_theory, theory.Theory(out=Path("drawn")))
    monkeypatch.setattr(theory, "report_pairs", lambda *_, **__: pytest.fail("it is there before the work"))
    with refused(f"{sentence}remove it, or choose another --out."):
        run_and_answer(theory.run_theory, theory.Theory(out=Path("drawn")))


@pytest.mark.parametrize(("alpha", "words"), [("auto", "α = 0.9, chosen from the demonstrations"), (0.9, "α = 0.9")])
def test_a_guarantee_says_which_fit_it_is_of(here, monkeypatch, alpha, words):
    save(Demonstrations.from_arrays([[0, 1]], terminated=True), here / "walks.npz")
    asked = []

    def report(learner, given, **options):
        asked.append(options)
        return SimpleNamespace(summary=lambda: "it holds"), 0.9

    monkeypatch.setattr(theory, "report_guarantee", report)
    request = theory.Theory(demos=Path("walks.npz"), guarantee=True, alpha=alpha, tail="hold")
    status, said, _ = run_and_answer(theory.run_theory, request)
    assert status == 0
    assert said.splitlines() == [
        "three-state, learner's noise 0, demonstrations from walks.npz",
        f"the policy is that of a fit with {words}",
        "it holds",
    ]
    assert asked == [{"radius": 0.0, "alpha": alpha, "tail": "hold"}]
