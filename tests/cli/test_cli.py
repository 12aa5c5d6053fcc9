"""The commands: what they write, say and refuse. A few run as a process, as a user starts them."""

import json
import subprocess
import sys

import numpy as np
import pytest

from robustirl.cli import main
from robustirl.demonstrations import Demonstrations, load, save
from robustirl.irl import RobustIRL

# Three rooms in a row; action 0 stays, action 1 goes on; the last room is never left.
KERNEL = np.zeros((3, 2, 3))
KERNEL[[0, 1, 2], 0, [0, 1, 2]] = 1
KERNEL[[0, 1, 2], 1, [1, 2, 2]] = 1
WALKS = Demonstrations.from_arrays([[0, 1, 2], [0, 0, 1, 2]] * 20, [[1, 1], [0, 1, 1]] * 20, terminated=True)
FIT = "fit --env world.npz --demos walks.csv --alpha 1 --steps 3 --out found"


@pytest.fixture
def world(here):
    np.savez(here / "world.npz", kernel=KERNEL, discount=0.9, initial=[1.0, 0.0, 0.0], reward=[-1.0, -1.0, 0.0])
    save(WALKS, here / "walks.csv")
    (here / "log.csv").write_text(
        "trip,room,what,kind\n" + "".join(f"{e},hall,go,way\n{e},bath,go,way\n{e},bed,stay,home\n" for e in range(9))
    )
    return here


@pytest.fixture
def answer(capsys):
    """Run a command with --json, and return what it answers."""

    def run(words, status=0):
        capsys.readouterr()
        assert main([*words.split(), "--json"]) == status
        return json.loads(capsys.readouterr().out)

    return run


def process(words, **options):
    command = [sys.executable, "-m", "robustirl", *words.split()]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


def test_a_fit_writes_a_folder_and_a_page_can_be_made_anew(world, answer):
    found = answer(FIT)
    names = ["model.npz", "page.html", "report.json", "report.txt", "states.csv", "weights.csv"]
    assert sorted(path.name for path in (world / "found").iterdir()) == names
    assert found["report"] == json.loads((world / "found" / "report.json").read_text())
    assert not found["interrupted"]
    policy = np.loadtxt(world / "found" / "states.csv", delimiter=",", skiprows=1)[:, 1:3]
    np.testing.assert_allclose(policy, RobustIRL.load(world / "found" / "model.npz").policy_)
    page = (world / "found" / "page.html").read_text()
    assert answer("page found --out again.html")["files"] == ["again.html"]
    assert (world / "again.html").read_text() == page


def test_commands_as_processes(world):
    done = process(FIT)
    assert done.returncode in (0, 1)  # A check may fail after three steps.
    assert "learned weights" in done.stdout
    assert "open found/page.html" in done.stdout
    again = process(FIT)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == "robustirl: found is not empty; choose a new or an empty folder.\n"
    assert process("--version").stdout.startswith("robustirl 0.")
    assert process("demos inspect walks.csv --quiet").stdout == ""


def test_demonstrations_are_made_inspected_and_converted(world, answer):
    made = answer("demos make --env world.npz --episodes 5 --horizon 9 --out drawn.jsonl")
    assert made["episodes"] == len(load("drawn.jsonl")) == 5
    seen = answer("demos inspect walks.csv --env world.npz")
    assert (seen["episodes"], seen["transitions"], seen["terminated"]) == (40, 100, 40)
    assert 0 < seen["error"] < 0.2
    answer("demos convert walks.csv walks.npz")
    assert load("walks.npz") == WALKS


@pytest.mark.parametrize("columns", ["episode=trip state=room action=what", "episode=trip,state=room,action=what"])
def test_a_log_of_decisions_is_learned_from_as_it_is(world, answer, columns):
    (world / "names.txt").write_text("hall\nbath\nbed\n")
    (world / "acts.txt").write_text("stay\ngo\n")
    np.savez(
        "toll.npz", kernel=KERNEL, discount=0.9, features=[[[0.0], [-1.0]]] * 3, feature_names=["toll"],
        state_names=["hall", "bath", "bed"], action_names=["stay", "go"],
    )  # fmt: skip
    words = f"fit --env toll.npz --demos log.csv --columns {columns} --objective likelihood --penalty 1 --alpha 1"
    found = answer(f"{words} --out found", status=0)
    (toll,) = found["report"]["weights"]
    assert toll["name"] == "toll"
    assert toll["value"] < 0 < toll["error"]  # They went on, whatever it cost.


def test_classes_are_a_column_of_the_log(world, answer):
    np.savez("named.npz", kernel=KERNEL, discount=0.9, initial=[1.0, 0.0, 0.0], state_names=["hall", "bath", "bed"])
    log = "--demos log.csv --columns episode=trip state=room --classes kind"
    found = answer(f"fit --env named.npz {log} --alpha 1 --steps 20 --out found", status=0)
    weights = {weight["name"]: weight["value"] for weight in found["report"]["weights"]}
    assert set(weights) == {"way", "home"}
    assert weights["home"] > weights["way"]


def test_theory_says_what_is_guaranteed(world, answer):
    pair = answer("theory --env three-state --expert-noise 0.2")
    assert pair["distance"] > 0
    assert pair["standard"]["worst"] <= pair["standard"]["return"] <= pair["best_return"] + 1e-9
    demos = answer("theory --env world.npz --demos walks.csv")
    assert demos["least_gap"][0] <= demos["least_gap"][1]
    sure = answer("theory --env world.npz --demos walks.csv --guarantee --alpha 1")
    assert sure["shortfall"] >= 0


def test_ctrl_c_keeps_the_best_fit(world, monkeypatch, answer):
    whole = RobustIRL.fit

    def interrupted(model, *given):
        whole(model, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(RobustIRL, "fit", interrupted)
    found = answer(FIT, status=130)
    assert found["interrupted"]
    assert (world / "found" / "model.npz").exists()


def test_an_error_that_no_check_has_foreseen_is_one_line(world, monkeypatch, capsys):
    monkeypatch.setattr(RobustIRL, "fit", lambda *given: 1 / 0)
    assert main(FIT.split()) == 3
    said = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero. No check has foreseen this" in said
    assert said.count("\n") == 1
    assert not (world / "found").exists()


@pytest.mark.parametrize(
    ("words", "culprits"),
    [
        ("fit --env nowhere --demos walks.csv --out x", ["'nowhere'", "gridworld-1"]),
        ("fit --env json:loads --demos walks.csv --out x", ["--allow-import", "'json'"]),
        ("fit --env world.npz --demos none.csv --out x", ["none.csv", "No such file"]),
        ("fit --env world.npz --demos walks.csv --out world.npz", ["world.npz is a file"]),
        ("fit --env world.npz --demos walks.csv --columns state --out x", ["--columns is 'state'"]),
        ("fit --env world.npz --demos walks.csv --columns state=a state=b --out x", ["names a column twice"]),
        ("fit --env world.npz --env-arg size --demos walks.csv --out x", ["--env-arg has 'size'"]),
        ("fit --env world.npz --demos walks.csv --classes kind --out x", ["'kind'", "the columns episode"]),
        ("fit --env world.npz --demos walks.csv --classes env --out x", ["knows no classes"]),
        ("fit --env world.npz --demos walks.csv --classes env --reward tabular --out x", ["--classes and --reward"]),
        ("fit --env world.npz --demos walks.csv --reward linear --out x", ["no features"]),
        ("demos convert walks.csv walks.csv", ["walks.csv exists already"]),
        ("demos convert walks.csv walks.txt", ["'.txt'"]),
        ("page world.npz", ["not the report of a fit"]),
        ("page nothing", ["nothing cannot be read"]),
        ("theory --env world.npz", ["--expert-noise, or by --demos"]),
        ("theory --env world.npz --expert-noise 0.1 --guarantee", ["--guarantee needs demonstrations"]),
        ("imitate --out x --alpha 1", ["--alpha is 1.0"]),
        ("imitate --out x --physics mass", ["--physics has 'mass'"]),
        ("imitate --out x --physics mass=heavy", ["mass=heavy"]),
        ("imitate --out x --steps 1", ["at least"]),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(world, capsys, words, culprits):
    before = sorted(world.iterdir())
    assert main(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("robustirl: ")
    assert said.err.endswith(".\n")
    assert said.err.count("\n") == 1
    assert all(culprit in said.err for culprit in culprits), said.err
    assert sorted(world.iterdir()) == before


def test_words_that_tyro_cannot_read_end_with_status_2(capsys):
    for words in ([], ["fti"], ["fit", "--env"], ["demos"], ["fit", "--out", "x", "--nope"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_imitation_writes_both_learners(here, answer):
    found = answer("imitate --steps 32768 --expert-steps 32768 --episodes 2 --out done")
    assert sorted(path.name for path in (here / "done").iterdir()) == [
        "demos.npz", "fit-alpha-0.95.npz", "fit-alpha-1.0.npz",
    ]  # fmt: skip
    assert {"alpha_1", "alpha_0.95"} <= set(found)
