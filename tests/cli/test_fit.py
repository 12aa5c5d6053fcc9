"""`robustirl fit` and `robustirl demos`: from demonstrations in a file to a folder that tells what was learned."""

import csv
import json
import os
import pty
import signal
import subprocess
import sys

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, load, save
from robustirl.irl import RobustIRL
from tests.commands import robustirl

FILES = {"model.npz", "policy.csv", "reward.csv", "summary.txt", "fit.json", "fit.png", "fit.svg"}


def test_from_an_expert_to_a_folder(here, capsys):
    make = "demos make --env gridworld-4 --noise 0.1 --episodes 200 --horizon 100 --out walks.npz"
    assert robustirl(make, capsys)[0] == 0
    assert len(load("walks.npz")) == 200
    status, out, err = robustirl("fit --env gridworld-4 --demos walks.npz --steps 30 --out found/it", capsys)
    assert status == 0
    assert {path.name for path in (here / "found" / "it").iterdir()} == FILES
    assert [path.name for path in (here / "found").iterdir()] == ["it"]
    assert "200 episodes" in out
    assert "wrote found/it/model.npz" in out
    model = RobustIRL.load("found/it/model.npz")
    steps = int(model.fit_.verdict.steps)
    assert f"{model.fit_.verdict.status} after {steps} steps" in err  # The bar is full, wherever the fit ended.
    assert f"{steps}/{steps}" in err
    assert model.alpha == "auto"
    assert model.alpha_estimate_ is not None
    assert " ".join(model.summary().split()) in " ".join((here / "found/it/summary.txt").read_text().split())
    with (here / "found/it/policy.csv").open() as file:
        rows = list(csv.DictReader(file))
    policy = np.array([[float(row[f"probability_{a}"]) for a in range(4)] for row in rows])
    assert np.array_equal(policy, np.asarray(model.policy_))
    assert [int(row["action"]) for row in rows] == model.predict(np.arange(36)).tolist()
    with (here / "found/it/reward.csv").open() as file:
        assert [float(row["reward"]) for row in csv.DictReader(file)] == np.asarray(model.reward_).tolist()
    assert (here / "found/it/fit.png").read_bytes().startswith(b"\x89PNG")
    # The page about it, as the last line says.
    assert out.endswith("See it in a browser: robustirl page found/it")
    status, out, _ = robustirl("page found/it", capsys)
    assert (status, out.split(" (")[0]) == (0, "wrote found/it/fit.html")
    page = (here / "found/it/fit.html").read_text(encoding="utf-8")
    assert "learned from 200 recorded episodes in gridworld-4 (36 states, 4 actions), with α = " in page
    assert "6 rows and 6 columns" in page
    curves = json.loads((here / "found/it/fit.json").read_text(encoding="utf-8"))["alpha"]
    assert curves["candidates"][0] == 1.0
    assert len(curves["gain"]) == 13


@pytest.mark.slow
def test_gymnasium_ids_name_worlds_too(here, capsys):
    pytest.importorskip("gymnasium")
    make = "demos make --env FrozenLake-v1 --expert optimal --episodes 300 --horizon 100 --states-only --out walks.csv"
    assert robustirl(make, capsys)[0] == 0
    assert not load("walks.csv").has_actions
    line = "fit --env FrozenLake-v1 --demos walks.csv --alpha auto --steps 5 --out found"
    status, out, _ = robustirl(line, capsys)
    assert status == 0
    assert "16 states and 4 actions" in out
    assert {path.name for path in (here / "found").iterdir()} == FILES


@pytest.fixture
def walks(here):
    save(Demonstrations.from_arrays([[1, 0], [6, 0]], [[3], [0]], terminated=True), here / "walks.npz")
    (here / "taken").mkdir()
    (here / "taken" / "mine").write_text("mine")
    return here


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("fit-grid --out taken", "taken is not empty; choose a new or an empty folder"),
        (
            "fit-grid --out walks.npz",
            "walks.npz is a file, but --out must name a folder",
        ),
        (
            "fit --env gridworld-9 --demos walks.npz --out new",
            "there is no environment 'gridworld-9' here (gridworld-1,",
        ),
        ("fit --env three-state --demos walks.npz --out new", "episode 1 is in state 6 at step 0, but there are 3"),
        ("fit --env gridworld-4 --demos gone.npz --out new", "gone.npz cannot be read"),
        ("fit-grid --steps 0 --out new", "--steps is 0, but learning takes at least one step"),
        ("fit-grid --alpha 2 --out new", "alpha is 2.0, but a number with 0 < alpha"),
        ("fit-grid --noise 2 --out new", "the noise is 2.0, but a probability"),
        ("fit-grid --steps -1 --out new", "--steps is -1, but a whole number"),
        (
            "fit-grid --reward linear --out new",
            "gridworld-4 has no features for a linear",
        ),
        ("fit-grid --noise-model fog --out new", "gridworld-4 has no noise model 'fog'"),
        ("demos make --env gridworld-4 --out walks.npz", "walks.npz exists already; choose another name"),
        ("demos make --env gridworld-4 --out walks.txt", "walks.txt has the suffix '.txt'"),
        ("demos make --env gridworld-4 --episodes 0 --out new.npz", "the number of episodes is 0"),
        ("demos convert walks.npz walks.npz", "walks.npz exists already"),
        ("demos convert gone.npz new.csv", "gone.npz cannot be read"),
        ("demos inspect walks.npz --env three-state", "episode 1 is in state 6 at step 0, but there are 3 states"),
    ],
)
def test_bad_requests_get_one_sentence_and_leave_nothing(line, sentence, walks, capsys):
    before = sorted(path.name for path in walks.iterdir())
    line = line.replace("fit-grid", "fit --env gridworld-4 --demos walks.npz")
    status, _, err = robustirl(line, capsys)
    assert status == 2
    assert sentence in err
    assert err.count("robustirl: ") == 1
    assert sorted(path.name for path in walks.iterdir()) == before
    assert (walks / "taken" / "mine").read_text() == "mine"


def test_files_are_inspected_and_converted(walks, capsys):
    status, out, _ = robustirl("demos inspect walks.npz --env gridworld-4", capsys)
    assert status == 0
    assert "2 episodes of 2 to 2 states" in out
    assert "its states and actions go with this world of 36 states" in out
    for source, target in (("walks.npz", "walks.csv"), ("walks.csv", "walks.jsonl")):
        assert robustirl(f"demos convert {source} {target}", capsys)[0] == 0
    assert load("walks.jsonl") == load("walks.npz")


def test_states_of_any_number_can_be_inspected(here, capsys):
    save(Demonstrations.from_arrays([[2**62, 0, 2**62]]), here / "far.csv")
    status, out, _ = robustirl("demos inspect far.csv", capsys)
    assert status == 0
    assert f"{2**62} │ 2 │ 66.7% │ 1 │ 1" in out


def test_an_empty_folder_may_be_written_to(walks, capsys):
    (walks / "empty").mkdir()
    line = "fit --env gridworld-4 --demos walks.npz --steps 30 --out empty"
    assert robustirl(line, capsys)[0] in (0, 1)  # Few data: whoever asks is told not to rely on it.
    assert {path.name for path in (walks / "empty").iterdir()} == FILES


def test_leaky_worlds_are_sampled_where_returns_are_measured(here, capsys):
    line = "demos make --env gridworld-4 --noise 0.2 --noise-model published --episodes 3 --horizon 5 --out w.npz"
    assert robustirl(line, capsys)[0] == 0


def interrupt(words, text):
    """Run a command in a terminal of its own, press Ctrl-C once it shows a text, and return its status and output."""
    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "robustirl", *words]
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, start_new_session=True) as process:
        os.close(terminal)
        shown, pressed = b"", False
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # The other end is closed.
                break
            shown += part
            if not pressed and text in shown:
                os.killpg(process.pid, signal.SIGINT)
                pressed = True
        process.wait(600)
    os.close(master)
    return process.returncode, " ".join(shown.decode().split())


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_fit_so_far(walks, capsys):
    line = "fit --env gridworld-4 --demos walks.npz --alpha 1 --optimizer adam --tolerance 1e-12 --steps 10000000"
    status, shown = interrupt([*line.split(), "--out", "new"], b"learning, gap")
    assert status == 130
    assert "robustirl: interrupted; writing the best fit so far." in shown
    assert "Traceback" not in shown
    assert {path.name for path in (walks / "new").iterdir()} == FILES
    model = RobustIRL.load("new/model.npz")
    assert model.fit_.verdict.status == "stopped"
    assert int(model.fit_.verdict.steps) < 10000000
    assert "note interrupted: this is the best so far" in " ".join((walks / "new/summary.txt").read_text().split())
    assert robustirl("page new", capsys)[0] == 0
    assert "This fit was interrupted" in (walks / "new/fit.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_ctrl_c_before_there_is_a_fit_leaves_nothing(walks):
    words = ["fit", "--env", "gridworld-4", "--demos", "walks.npz", "--no-cache", "--out", "new"]
    status, shown = interrupt(words, b"compiling first")
    assert (status, "Traceback" in shown) == (130, False)
    assert "robustirl: interrupted" in shown
    names = sorted(path.name for path in walks.iterdir())
    assert names == ["taken", "walks.npz"] or (walks / "new" / "model.npz").exists()  # A fit there was, after all.


def log_of(folder, name="log.csv"):
    """Four trips along a corridor of three named places, as a log has them."""
    rows = ["trip,time,link"]
    for trip in ("a7", "b2", "c9", "d1"):
        rows += [f"{trip},9:0{t},{place}" for t, place in enumerate(("hall", "stairs", "attic"))]
    (folder / name).write_text("\r\n".join(rows) + "\r\n   \r\n", encoding="utf-8-sig")


KERNEL = np.zeros((3, 2, 3))
KERNEL[[0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [0, 0, 2, 1, 2, 2]] = 1.0


def test_a_log_with_names_of_its_own_is_fitted(here, capsys):
    log_of(here)
    names = {"state_names": ["hall", "stairs", "attic"], "action_names": ["back", "on"]}
    np.savez(here / "house.npz", kernel=KERNEL, discount=0.9, initial=[1.0, 0.0, 0.0], **names)  # pyright: ignore[reportArgumentType]
    line = "fit --env house.npz --demos log.csv --columns episode=trip,state=link --alpha 1 --steps 30 --out learned"
    status, out, err = robustirl(line, capsys)
    assert status in (0, 1), err  # Few data: whoever asks is told not to rely on it.
    assert out.startswith("log.csv: 4 episodes of 3 to 3 states")
    assert "episode from 'trip'; state from 'link'; 3 states by name" in out
    assert "4 of 4 end in a state that the world never leaves" in out
    header, *rows = (here / "learned" / "policy.csv").read_text().splitlines()
    assert header == "state,action,probability_0,probability_1,state_name,action_name"
    assert [row.split(",")[-2:] for row in rows[:2]] == [["hall", "on"], ["stairs", "on"]]
    assert (here / "learned" / "reward.csv").read_text().splitlines()[3].endswith(",attic")


def test_names_that_the_world_does_not_know_are_refused(here, capsys):
    log_of(here)
    np.savez(here / "house.npz", kernel=KERNEL, discount=0.9)
    line = "fit --env house.npz --demos log.csv --columns episode=trip,state=link --out learned"
    status, _, err = robustirl(line, capsys)
    assert status == 2
    assert "holds 'hall' in row 0 of log.csv" in err
    status, _, err = robustirl("fit --env house.npz --demos log.csv --columns trip --out learned", capsys)
    assert status == 2
    assert "--columns is 'trip', but pairs as episode=trip are needed." in " ".join(err.split())
    assert not (here / "learned").exists()


def test_logs_are_inspected_and_converted(here, capsys):
    log_of(here)
    options = "--columns episode=trip,state=link"
    status, out, _ = robustirl(f"demos inspect log.csv {options}", capsys)
    assert status == 0
    assert "3 states by name" in out
    status, _, _ = robustirl(f"demos convert log.csv walks.npz {options}", capsys)
    assert status == 0
    assert load(here / "walks.npz").state_names == ("attic", "hall", "stairs")
