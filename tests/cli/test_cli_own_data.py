"""Commands on data and worlds of one's own: what a newcomer types, and what the answer is."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

from robustirl.demonstrations import Demonstrations, load, save
from robustirl.irl import RobustIRL
from tests.commands import robustirl

# Three rooms in a row; action 0 stays, action 1 goes on; the last room is never left.
KERNEL = np.zeros((3, 2, 3))
KERNEL[[0, 1, 2], 0, [0, 1, 2]] = 1
KERNEL[[0, 1, 2], 1, [1, 2, 2]] = 1
WALKS = Demonstrations.from_arrays([[0, 1, 2], [0, 0, 1, 2]] * 4, [[1, 1], [0, 1, 1]] * 4, terminated=True)
FIT = "fit --alpha 1 --steps 3 --env"


@pytest.fixture
def world(here):
    np.savez(here / "world.npz", kernel=KERNEL, discount=0.9, initial=[1.0, 0.0, 0.0])
    save(WALKS, here / "walks.csv")
    return here


def test_json_is_one_object_with_the_verdict_and_the_files(world, capsys):
    status, out, _ = robustirl(f"{FIT} world.npz --demos walks.csv --out found --json", capsys)
    found = json.loads(out)
    assert found["exit_status"] == status
    assert found["command"] == "fit"
    assert found["alpha"] == 1
    assert found["trust"] in ("trust", "doubt", "do not use")
    assert "found/model.npz" in found["files"]


def test_quiet_prints_nothing_and_the_log_file_holds_what_was_said(world, capsys):
    line = f"{FIT} world.npz --demos walks.csv --out found --quiet --log-file run.log --optimizer adam --rate 0.5"
    status, out, _ = robustirl(line, capsys)
    assert status in (0, 1)
    assert out == ""
    assert (
        repr(RobustIRL.load("found/model.npz"))
        == "RobustIRL(alpha=1.0, reward=TabularReward, optimizer=adam(0.5), steps=3, throw=False)"
    )
    log = (world / "run.log").read_text()
    assert "walks.csv: 8 episodes" in log
    assert "wrote found/model.npz" in log
    robustirl("fit --env nowhere.npz --demos walks.csv --out b --log-file=run.log", capsys)
    assert "nowhere.npz cannot be read" in (world / "run.log").read_text()


def test_errors_are_in_the_json_too(world, capsys):
    status, out, err = robustirl("fit --env world.npz --demos nowhere.csv --out found --json", capsys)
    assert status == 2
    assert "nowhere.csv" in json.loads(out)["error"]
    assert "nowhere.csv" in err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("fit --alhpa 0.9", "robustirl fit has no option --alhpa; did you mean --alpha?"),
        ("fit --env gridworld-1", "robustirl fit needs --demos and --out"),
        ("fit --env e --demos d --out o --steps many", "--steps is 'many'"),
        ("fit --env e --demos d --out o --reward foo", "--reward is 'foo', but one of linear, network, tabular"),
        ("fti", "robustirl has no command 'fti'; did you mean fit?"),
        ("demos", "needs one of make, inspect, convert"),
        ("explore", "robustirl explore needs PATH"),
        ("demos inspekt x", "did you mean inspect?"),
        ("fit --log-file", "--log-file needs a file"),
    ],
)
def test_a_command_line_that_cannot_be_understood_gets_one_sentence(line, said, capsys):
    status, out, err = robustirl(line, capsys)
    assert status == 2
    assert out == ""
    assert said in " ".join(err.split())
    assert "╭" not in err


def test_logs_that_count_from_one_are_told_how_to_say_so(world, capsys):
    (world / "log.csv").write_text("episode,state\n" + "".join(f"{e},{s}\n" for e in range(4) for s in (1, 2, 3)))
    status, _, err = robustirl(f"{FIT} world.npz --demos log.csv --out found", capsys)
    assert status == 2
    assert "--first-state 1" in err
    assert robustirl("demos inspect log.csv --first-state 1 --env world.npz", capsys)[0] == 0


def test_names_are_numbered_with_a_word_and_may_be_given(world, capsys):
    (world / "log.csv").write_text("trip,room\na,hall\na,door\nb,hall\n")
    columns = "--columns episode=trip,state=room"
    _, out, _ = robustirl(f"demos inspect log.csv {columns}", capsys)
    assert "2 states by name in alphabetical order (door = 0, hall = 1)" in " ".join(out.split())
    (world / "names.txt").write_text("hall\ndoor\nend\n")
    robustirl(f"convert log.csv log.npz {columns} --state-names names.txt", capsys)
    assert load("log.npz").states.tolist() == [0, 1, 0]
    assert load("log.npz").state_names == ("hall", "door", "end")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--columns state=room", "say which one it is with --columns episode=NAME."),
        ("--columns state=room,state=trip", "names state more than once"),
    ],
)
def test_sentences_about_columns_speak_the_language_of_the_command_line(world, capsys, options, said):
    (world / "log.csv").write_text("trip,room\na,1\n")
    status, _, err = robustirl(f"demos inspect log.csv {options}", capsys)
    assert status == 2
    assert said in " ".join(err.split())
    assert "{" not in err


def test_worlds_from_scipy_are_read(world, capsys):
    for kind in ("csr", "csc"):
        scipy.sparse.save_npz(world / "sparse.npz", scipy.sparse.coo_array(KERNEL.reshape(6, 3)).asformat(kind))
        line = "theory sparse.npz --discount 0.9 --demos walks.csv --json"
        status, out, _ = robustirl(line, capsys)
        assert status == 0
        assert json.loads(out)["matchable"] in ("no", "open")
    scipy.sparse.save_npz(world / "sparse.npz", scipy.sparse.csr_array(KERNEL.reshape(6, 3)[:5]))
    status, _, err = robustirl("demos inspect walks.csv --env sparse.npz", capsys)
    assert status == 2
    assert "one for each state and action" in " ".join(err.split())


def test_a_function_of_ones_own_makes_the_world_if_it_is_trusted(world, capsys, monkeypatch):
    (world / "my_rooms.py").write_text(
        "import numpy as np\nfrom robustirl import MDP\n"
        "def build(discount=0.5):\n    return MDP(np.load('world.npz')['kernel'], discount=discount)\n"
    )
    monkeypatch.syspath_prepend(world)
    inspect = "demos inspect walks.csv --env my_rooms:build"
    status, _, err = robustirl(inspect, capsys)
    assert status == 2
    assert "--allow-import" in err
    assert "my_rooms" not in sys.modules
    status, out, _ = robustirl(f"{inspect} --allow-import --env-arg discount=0.25", capsys)
    assert status == 0
    assert "γ = 0.25" in out


def test_arguments_go_to_gymnasium(world, capsys):
    pytest.importorskip("gymnasium")
    save(Demonstrations.from_arrays([[0, 4, 8]]), world / "lake.npz")
    line = "demos inspect lake.npz --env FrozenLake-v1 --env-arg is_slippery=false --env-arg map_name=8x8"
    _, out, _ = robustirl(line, capsys)
    assert "64 states" in out
    status, _, err = robustirl("demos inspect lake.npz --env FrozenLake-v1 --env-arg slippery", capsys)
    assert status == 2
    assert "is_slippery=false" in err


def test_noise_in_a_world_of_ones_own_says_what_it_does(world, capsys):
    line = f"{FIT} world.npz --demos walks.csv --noise 0.25 --out found"
    status, _, err = robustirl(line, capsys)
    assert status == 2
    assert "--noise-model" in err
    assert "any of all 3 states" in " ".join(err.split())
    _, out, _ = robustirl(f"{line} --noise-model uniform-action", capsys)
    assert "with probability 0.25 an action drawn from the available ones" in " ".join(out.split())


def test_theory_reads_what_fit_writes(world, capsys):
    robustirl(f"{FIT} world.npz --demos walks.csv --out found", capsys)
    gaps = set()
    for source in ("found", "found/model.npz", "found/reward.csv"):
        status, out, _ = robustirl(f"theory world.npz --occupancy {source} --json", capsys)
        assert status == 0
        gaps.add(round(json.loads(out)["smallest_gap"], 9))
    assert len(gaps) == 1


def test_attempts_are_for_networks(world, capsys):
    status, _, err = robustirl(f"{FIT} world.npz --demos walks.csv --attempts 3 --out found", capsys)
    assert status == 2
    assert "--reward network" in err


def test_folders_of_imitation_are_read(world, capsys):
    folder = world / "expert"
    folder.mkdir()
    rows = {
        "obs": [[0, 1, 2], [0, 2]],
        "acts": [[1, 1], [1]],
        "infos": [["{}", "{}"], ["{}"]],
        "terminal": [True, False],
    }
    table = pa.table(rows)
    with (
        pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as to,
    ):
        to.write_table(table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    assert robustirl("convert expert walks.npz", capsys)[0] == 0
    expected = Demonstrations.from_arrays(rows["obs"], rows["acts"], terminated=rows["terminal"])
    assert load("walks.npz") == expected == load("expert")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "../secret.arrow"}]}))
    status, _, err = robustirl("convert expert other.npz", capsys)
    assert status == 2
    assert "outside of its folder" in " ".join(err.split())
    (folder / "state.json").unlink()
    assert "without state.json" in " ".join(robustirl("convert expert other.npz", capsys)[2].split())


def test_minari_datasets_go_both_ways(world, capsys, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(world / "datasets"))
    assert robustirl("convert walks.csv minari:rooms/walks-v0", capsys)[0] == 0
    assert robustirl("convert minari:rooms/walks-v0 back.jsonl", capsys)[0] == 0
    assert load("back.jsonl") == WALKS == load("minari:rooms/walks-v0")
    status, out, _ = robustirl("demos inspect minari:rooms/walks-v0 --env world.npz --json", capsys)
    assert status == 0
    assert json.loads(out)["episodes"] == 8
