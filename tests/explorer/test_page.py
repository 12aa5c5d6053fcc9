"""The explorer's payload: every number of the store, to the digits shown, and nothing else."""

import base64
import dataclasses
import gzip
import json
import re

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.cli import main
from robustirl.explorer.arrays import NONE, Pool
from robustirl.explorer.page import page, payload, write_explorer
from robustirl.mdp import dynamics_distance
from robustirl.paper.finite import RunSpec
from robustirl.paper.finite.explorer_rows import SHOWN, describe, setting
from robustirl.sweeps import Store
from robustirl.theory import certify
from tests.explorer_stores import CONTINUOUS, FINITE, continuous_store, finite_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return finite_store(tmp_path_factory.mktemp("explorer") / "finite")


@pytest.fixture(scope="module")
def sent(store):
    return payload(store, certificates=False)


def arrays_of(data, packed):
    block = gzip.decompress(base64.b64decode(packed))
    numbers = np.frombuffer(block, "<f4", data["arrays"]["numbers"])
    counts = np.frombuffer(block, "<u2", data["arrays"]["counts"], 4 * len(numbers))
    assert 4 * len(numbers) + 2 * len(counts) == len(block)
    return numbers, counts


def digits(values):
    return [f"{value:.4g}" for value in np.asarray(values, dtype=float).ravel().tolist()]


def test_every_run_is_there_with_the_stores_numbers(store, sent):
    data, _ = sent
    assert [row["run"] for row in data["rows"]] == [spec.identity for spec in FINITE]
    assert data["asked"] == len(FINITE)
    for row, record in zip(data["rows"], store.records(), strict=True):
        spec = record.spec
        assert {name: row[name] for name in SHOWN} == {name: getattr(record, name) for name in SHOWN}
        place = (spec.environment, spec.noise_model, spec.learner_noise, spec.expert_noise, record.alpha_used)
        assert tuple(row[name] for name in ("environment", "kernel", "learner", "expert", "alpha")) == place


def test_arrays_have_the_stores_digits(store, sent):
    data, packed = sent
    numbers, counts = arrays_of(data, packed)
    for row, spec in zip(data["rows"], FINITE, strict=True):
        arrays = store.result(spec).arrays
        size = len(arrays["reward"])
        for name in ("reward", "occupancy", "expert_occupancy", "player_occupancy"):
            assert digits(numbers[row[name] : row[name] + size]) == digits(arrays[name])
        for name in ("player", "opponent"):
            found = counts[row[name] : row[name] + arrays[name].size] / 1000
            assert [f"{p:.3f}" for p in found] == [f"{p:.3f}" for p in arrays[name].ravel()]
        true = spec.make_environment().reward
        world = data["worlds"][row["world"]]
        assert digits(numbers[world["true"] : world["true"] + size]) == digits(true)


def test_the_certificate_is_that_of_the_theory_and_missing_where_there_is_none(tmp_path):
    leaking = RunSpec("gridworld-4", "published", 0.0, 0.2, 0.9)
    sound = RunSpec("gridworld-4", "uniform-state", 0.1, 0.2, 0.9)
    store = finite_store(tmp_path / "store", (leaking, sound))
    data, _ = payload(store)
    without, row = data["rows"]
    assert [without[name] for name in ("distance", "worst", "best")] == [None, None, None]
    assert without["uncertified"] == "the kernel leaks probability"
    environment = sound.make_environment()
    learner, expert = (environment.mdp(noise, "uniform-state") for noise in (0.1, 0.2))
    distance = float(dynamics_distance(learner, expert))
    found = certify(learner, store.result(sound).arrays["player"], jnp.asarray(environment.reward), radius=distance)
    assert row["distance"] == distance == pytest.approx(2 * (1 - 1 / 36) * 0.1)
    assert (row["worst"], row["best"]) == (float(found.worst_return), float(found.best_return))
    assert row["worst"] < row["best"]


def test_continuous_runs_bring_their_reward_and_paths_and_their_experts(tmp_path):
    store = continuous_store(tmp_path / "store")
    data, packed = payload(store)
    _, counts = arrays_of(data, packed)
    assert [row["run"] for row in data["rows"]] == [spec.identity for spec in CONTINUOUS]
    for row, spec in zip(data["rows"], CONTINUOUS, strict=True):
        result, expert = store.result(spec), store.result(spec.expert)
        assert row["mean_return"] == result.record.mean_return
        home = next(s for s in store.specs if getattr(s, "noise", None) == spec.learner_noise)
        assert row["optimal_return"] == store.result(home).record.mean_return
        state = jnp.array([0.3, -0.2])
        features = np.array([0.09, 0.04, 0.3, -0.2, np.exp(-8 * 0.13), 0.0, 1.0])
        learned = float(jnp.asarray(result.arrays["parameters"]) @ spec.world().features(state))
        assert np.dot(row["weights"], features) == pytest.approx(learned)
        assert np.dot(data["continuous"]["weights"], features) == pytest.approx(float(spec.world().reward(state)))
        for name, own in (("paths", result), ("expert_paths", expert)):
            count, steps = row[name]["shape"]
            at = row[name]["at"]
            found = counts[at : at + 2 * count * steps].reshape(count, steps, 2) / 10_000 - 1
            assert np.abs(found - own.arrays["paths"][:count]).max() < 6e-5


def test_an_unfinished_store_shows_what_is_there_and_an_empty_one_is_refused(tmp_path, refused):
    data, _ = payload(finite_store(tmp_path / "some", FINITE, finished=3), certificates=False)
    assert (len(data["rows"]), data["asked"]) == (3, len(FINITE))
    with refused(str(tmp_path / "none"), "no finished run"):
        payload(finite_store(tmp_path / "none", FINITE, finished=0))


def test_grids_are_recognized_by_where_actions_lead(sent):
    data, _ = sent
    by_name = {row["environment"]: data["worlds"][row["world"]] for row in data["rows"]}
    assert by_name["gridworld-4"]["actions"] == ["up", "right", "down", "left"]
    assert by_name["frozen-lake"]["actions"] == ["left", "down", "right", "up"]
    assert by_name["frozen-lake"]["directions"] == [(0, -1), (1, 0), (0, 1), (-1, 0)]
    assert (by_name["frozen-lake"]["shape"], by_name["frozen-lake"]["ends"]) == ((4, 4), [16])
    assert (by_name["three-state"]["shape"], by_name["three-state"]["ends"]) == (None, [1, 2])
    assert by_name["three-state"]["actions"] == ["a1", "a2"]
    layouts = {row["seed"]: row["world"] for row in data["rows"] if row["environment"] == "objectworld"}
    assert len(set(layouts.values())) == 2
    assert data["worlds"][layouts["3"]]["objects"] != data["worlds"][layouts["7"]]["objects"]


def test_worlds_whose_actions_are_paid_for_show_the_best_paid_one():
    from robustirl import envs

    pool = Pool()
    world = describe(envs.make("taxi"), pool)
    numbers, _ = arrays_of({"arrays": pool.sizes}, pool.packed())
    reward = np.asarray(envs.make("taxi").reward)
    assert (world["paid"], world["shape"]) == ("actions", None)
    assert numbers[world["true"] : world["true"] + world["states"]].tolist() == reward.max(-1).tolist()


def test_an_estimated_alpha_is_the_one_that_was_used(tmp_path):
    spec = RunSpec("three-state", "slip", 0.0, 0.1, 0.9, demonstrations=5, draw=2, auto="states")
    store = finite_store(tmp_path / "store", (spec,))
    found = store.result(spec)
    store.append([dataclasses.replace(found, record=dataclasses.replace(found.record, alpha_used=0.87))])
    data, _ = payload(Store.read(store.folder), certificates=False)
    (row,) = data["rows"]
    assert (row["alpha"], row["estimated"], row["seed"]) == (0.87, True, "0, draw 2")


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"expert": "optimal", "alpha": 1.0}, "Theorem 1"),
        ({"expert": "optimal"}, "Theorem 3"),
        ({"expert": "optimal", "train_noise": 0.2}, "reward transfer"),
        ({"expert": "soft"}, "none: the theorems are about optimal experts"),
        ({"expert": "optimal", "expert_alpha": 0.9}, "none: the theorems are about optimal experts"),
    ],
)
def test_a_bound_is_shown_only_where_a_theorem_gives_one(tmp_path, changes, name):
    # A store of 0.1 has a number for every expert, as the made-up ones have.
    spec = RunSpec("three-state", "slip", 0.0, 0.1, **{"alpha": 0.9, **changes})
    store = finite_store(tmp_path / "store", (spec,))
    data, _ = payload(store, certificates=False)
    (row,) = data["rows"]
    assert row["bound_of"] == name
    assert row["bound"] == (None if name.startswith("none") else store.result(spec).record.bound)
    assert store.result(spec).record.bound is not None


def test_settings_tell_all_runs_of_a_place_apart():
    usual = RunSpec("gridworld-1", "uniform-state", 0.0, 0.1, 0.9)
    changes = [
        {"steps": 7}, {"expert": "optimal"}, {"expert_alpha": 0.8}, {"start": "fixed"}, {"train_noise": 0.1},
        {"sampled": 9}, {"demonstrations": 5}, {"demonstrations": 5, "auto": "states"},
        {"demonstrations": 5, "auto": "actions"},
    ]  # fmt: skip
    texts = {setting(RunSpec("gridworld-1", "uniform-state", 0.0, 0.1, 0.9, **change)) for change in changes}
    assert len(texts | {setting(usual)}) == len(changes) + 1


def test_numbers_that_are_none_are_not_sent_as_numbers(tmp_path):
    spec = RunSpec("three-state", "slip", 0.0, 0.1, 0.9)
    store = finite_store(tmp_path / "store", (spec,))
    found = store.result(spec)
    found.arrays["player"][0, 0] = np.nan
    found.arrays["reward"][:] = [np.nan, -1e300, 1e-40]
    store.append([found])
    data, packed = payload(Store.read(store.folder), certificates=False)
    (row,) = data["rows"]
    numbers, counts = arrays_of(data, packed)
    assert counts[row["player"]] == NONE
    assert np.isnan(numbers[row["reward"] : row["reward"] + 2]).all()  # The page writes a dash.
    assert numbers[row["reward"] + 2] == 0


def test_nothing_in_a_name_can_end_the_script(tmp_path):
    hostile = "a</script><script>alert(1)"
    data, packed = payload(finite_store(tmp_path / "store", FINITE[:1]), certificates=False)
    text = page({**data, "store": hostile, "rows": [{**data["rows"][0], "setting": hostile}]}, packed)
    assert "<script>alert" not in text
    inside = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert inside is not None
    assert json.loads(inside[1])["rows"][0]["setting"] == hostile


def test_the_page_asks_for_nothing_outside_itself(sent):
    text = page(*sent)
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:)""", text)
    assert not re.search(r"\b(eval|fetch|XMLHttpRequest|importScripts|innerHTML)\b", text)
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}  # A name, not an address.


def test_the_command_writes_one_file_the_same_every_time(tmp_path, capsys):
    store = finite_store(tmp_path / "store", FINITE[-3:])
    assert main(["explore", str(store.folder), "--no-certificates"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    first = store.folder / "explorer.html"
    assert f"wrote {first}" in printed
    other = write_explorer(store.folder, tmp_path / "other.html", certificates=False)
    assert other.read_bytes() == first.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["other.html"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["explore", "nothing"],
            "there is neither a store of runs nor a fit in nothing; give what --out",
        ),
        (
            ["explore", "taken"],
            "there is neither a store of runs nor a fit in taken; give what --out",
        ),
        (["explore", "."], "there is neither a store of runs nor a fit in .; give what --out"),
        (["explore", "empty"], "empty holds no finished run yet; finish the command that made it first."),
        (
            ["explore", "done", "--out", "nowhere/page.html"],
            "page.html cannot be written (nowhere is not a folder)",
        ),
        (["explore", "done", "--out", "done"], "done cannot be written (Is a directory)"),
    ],
)
def test_bad_requests_get_one_sentence_and_leave_nothing(arguments, sentence, tmp_path, monkeypatch, capsys):
    (tmp_path / "taken").write_text("mine")
    finite_store(tmp_path / "empty", FINITE[:1], finished=0)
    finite_store(tmp_path / "done", FINITE[:1])
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = (line for line in printed.err.splitlines() if line.startswith("robustirl: "))
    assert sentence in line
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_the_runs_of_a_real_command_can_be_explored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = ["--alphas", "1", "0.9", "--learner-noise", "0", "--expert-noise", "0", "0.1", "--steps", "3"]
    assert main(["reproduce", "gridworld-4", *cells, "--experiments", "best-alpha", "--out", "here"]) == 0
    assert main(["explore", "here"]) == 0
    data, _ = payload(Store.read(tmp_path / "here"))
    for row in data["rows"]:  # A certificate holds the return in the world itself.
        assert row["worst"] - 1e-6 <= row["discounted_return"] <= row["best"] + 1e-6
        assert row["distance"] == pytest.approx(2 * (1 - 1 / 36) * row["expert"])
