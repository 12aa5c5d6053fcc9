"""Commands on data of one's own: what a newcomer types, and what the answer is."""

import json

import pyarrow as pa
import pytest

from robustirl.demonstrations import Demonstrations, load
from robustirl.irl import RobustIRL
from tests.cli.own_world import FIT, WALKS, world
from tests.commands import robustirl

__all__ = ["world"]  # A fixture.


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
        ("page", "robustirl page needs FIT"),
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
    (folder / "state.json").unlink()
    assert "is no folder of imitation's trajectories" in " ".join(robustirl("convert expert other.npz", capsys)[2].split())


def test_minari_datasets_go_both_ways(world, capsys, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(world / "datasets"))
    assert robustirl("convert walks.csv minari:rooms/walks-v0", capsys)[0] == 0
    assert robustirl("convert minari:rooms/walks-v0 back.jsonl", capsys)[0] == 0
    assert load("back.jsonl") == WALKS == load("minari:rooms/walks-v0")
    status, out, _ = robustirl("demos inspect minari:rooms/walks-v0 --env world.npz --json", capsys)
    assert status == 0
    assert json.loads(out)["episodes"] == 8
