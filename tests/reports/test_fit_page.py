"""The page about one fit: what it says, what it holds, and what it refuses."""

import dataclasses
import html
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from robustirl import envs
from robustirl.cli import main, parse
from robustirl.demonstrations import Demonstrations
from robustirl.reports import next_steps, read_fit_folder
from robustirl.reports.fit_page import fit_page, fit_payload, write_fit_page
from robustirl.reports.fit_record import AlphaRecord, describe_demonstrations, encode_record, make_record
from robustirl.reports.fit_words import _starts

GOLDEN = Path(__file__).parents[1] / "golden" / "estimator-0.1.npz"  # Learned in the three-state world, at α = 0.9.
CURVES = AlphaRecord((1.0, 0.9), (0.0, 0.5), (0.0, 0.1), (0.01, 0.41), (0.0, 2.5), (None, 0.25), (True, True))
COMMAND = ["robustirl", "fit", "--env", "three-state", "--demos", "my walks.csv", "--out", "found", "--noise", "0.2"]


@pytest.fixture
def record():
    environment = envs.make("three-state")
    world = environment.mdp(0.2)
    walks = Demonstrations.from_arrays([[0, 1], [0, 2], [0, 1]], terminated=True)
    told = describe_demonstrations(walks, world, Path("my walks.csv"), "my walks.csv: 3 episodes in 6 rows.")
    made = make_record(environment, world, told, None, [0.1, 0.7, 0.2], command=COMMAND)
    return dataclasses.replace(made, alpha=CURVES)


@pytest.fixture
def found(here, record):
    (here / "found").mkdir()
    shutil.copy(GOLDEN, here / "found" / "model.npz")
    (here / "found" / "fit.json").write_text(encode_record(record), encoding="utf-8")
    return Path("found")


def sent(page):
    inside = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert inside is not None
    return json.loads(inside[1])


def test_the_page_tells_the_whole_fit(found, capsys):
    assert main(["page", "found"]) == 0
    assert "wrote found/fit.html" in capsys.readouterr().out
    text = (found / "fit.html").read_text(encoding="utf-8")
    opening = (
        "A policy and a reward were learned from a given occupancy in three-state (3 states, 2 actions), with α = 0.9,"
        " as given: test it before you rely on it."
    )
    assert f'<p id="opening">{opening}</p>' in text
    for part in ("my walks.csv: 3 episodes in 6 rows.", "The fit was saved by version 0.1", "α was given"):
        assert part in text
    for name, value in {
        "given as": "three-state --noise 0.2",
        "never left": "states 1, 2",
        "begins in": "state 0",
    }.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in text
    assert f'data-key="command">{html.escape(shlex.join(COMMAND))}</pre>'.replace("&#x27;", "&#39;") in text
    data = sent(text)
    assert data["world"]["targets"] == [[1, 2], [1, 1], [2, 2]]
    assert data["samples"] == [[0, 1], [0, 2], [0, 1]]
    assert data["alpha"]["candidates"] == [0.9, 1.0]  # From the smallest up, as the axis goes.
    assert data["alpha"]["gain_error"] == [0.25, None]
    assert (data["alpha"]["chosen"], data["world"]["ends"]) == (0.9, [1, 2])


@pytest.mark.parametrize(
    ("starts", "shares", "names", "said"),
    [
        ((2, 0), (0.5, 0.5), None, "states 2, 0, all as likely"),
        ((2, 0), (0.50005, 0.49995), None, "states 2, 0; most often in state 2 (50 %)"),
        ((2, 0), (0.75, 0.25), ("hall", "attic", "yard"), "yard, hall; most often in yard (75 %)"),
        (tuple(range(7)), (1 / 7,) * 7, None, "7 states, all as likely"),
        (tuple(range(1000)), (0.001,) * 1000, None, "at least 1,000 states, all as likely"),
    ],
)
def test_starts_are_named_or_counted(record, starts, shares, names, said):
    world = dataclasses.replace(record.world, starts=starts, start_shares=shares, state_names=names)
    assert _starts(world) == said


def test_the_page_asks_for_nothing_outside_itself_and_names_are_text(found, record):
    hostile = "</script><script>alert(1)</script>"
    changed = dataclasses.replace(record, world=dataclasses.replace(record.world, name=hostile))
    (found / "fit.json").write_text(encode_record(changed), encoding="utf-8")
    text = fit_page(read_fit_folder(found))
    assert "<script>alert" not in text
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:|#)""", text)
    assert not re.search(r"\b(eval|fetch|XMLHttpRequest|importScripts|innerHTML)\b", text)
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}  # A name, not an address.


def test_the_commands_to_try_next_are_commands(found):
    steps = next_steps(read_fit_folder(found))
    words = [shlex.split(step.command) for step in steps[:-1]]
    assert [line[1] for line in words] == ["fit", "theory"]
    again, theory = (parse(line[1:]) for line in words)
    assert (again.alpha, again.demos, again.out) == ("auto", Path("my walks.csv"), Path("found-auto"))
    assert (theory.environment, theory.occupancy, theory.learner_noise) == ("three-state", found, 0.2)
    compile(steps[-1].command, "the page", "exec")
    assert main(words[1][1:]) == 0  # It reads what `fit` wrote.


def test_a_folder_of_an_earlier_version_has_a_page_too(found):
    (found / "fit.json").unlink()
    text = write_fit_page(found).read_text(encoding="utf-8")
    assert "This folder has no fit.json" in text
    data, _ = fit_payload(read_fit_folder(found))
    assert (data["world"]["positions"], data["samples"], data["alpha"]) == (None, [], None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema": 2}, "schema 1 is needed"),
        ({"version": None}, "'version' is None, which is not of the kind str"),
        ({"player_occupancy": [0.5, 0.5]}, "player_occupancy counts 2, but 3 are needed"),
        ({"more": 1}, "'more' is not known here"),
        ({"world.actions": ["on"]}, "actions counts 1, but 2 are needed"),
        ({"world.targets": [[1, 2], [1, 1], [2, 9]]}, "a state is not among the 3"),
        ({"world.shape": [2, 2]}, "shape is (2, 2)"),
        ({"world.shape": [4, 1]}, "shape is (4, 1)"),
        ({"world.shape": [0, 3]}, "shape is (0, 3)"),
        ({"world.shape": [-1, -3]}, "shape is (-1, -3)"),
        ({"world.shape": [3]}, "shape is (3,)"),
        ({"world.directions": [[0, 5], [1, 0]]}, "directions holds a step to no neighbor"),
        ({"world.starts": [3], "world.start_shares": [1.0]}, "a state is not among the 3"),
        ({"world.start_shares": []}, "start_shares counts 0, but 1 are needed"),
        ({"world.positions": [[0.0], [0.0], [0.0]]}, "positions needs 2 numbers a row"),
        ({"demonstrations.lengths": []}, "lengths needs three numbers"),
        ({"demonstrations.samples": [[0, -1]]}, "a state is not among the 3"),
        ({"alpha.gain": [0.0]}, "gain counts 1, but 2 are needed"),
    ],
)
def test_a_record_that_does_not_belong_to_the_model_is_refused(found, record, change, reason, capsys):
    note = dataclasses.asdict(record)
    for name, value in change.items():
        *inside, last = name.split(".")
        (note[inside[0]] if inside else note)[last] = value
    (found / "fit.json").write_text(json.dumps(note))
    assert main(["page", "found"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"found/fit.json is not the record of the model beside it ({reason}); fit again, or remove the file" in said
    assert not (found / "fit.html").exists()


def test_large_worlds_show_the_states_that_are_visited_most(found, record, monkeypatch):
    monkeypatch.setattr("robustirl.reports.fit_page.MOST_STATES", 2)
    monkeypatch.setattr("robustirl.reports.fit_page.SHOWN_STATES", 2)
    data, _ = fit_payload(read_fit_folder(found))
    expert = np.asarray(read_fit_folder(found).model.expert_occupancy_)
    most = np.sort(np.argsort(-np.maximum(expert, record.player_occupancy))[:2]).tolist()
    assert (data["states"], data["world"]["states"], data["world"]["positions"]) == (most, 2, None)


def test_a_damaged_model_is_one_sentence(found, capsys):
    (found / "model.npz").write_bytes(b"PK\x03\x04 nothing")
    assert main(["page", "found"]) == 2
    assert "found/model.npz" in " ".join(capsys.readouterr().err.split())
