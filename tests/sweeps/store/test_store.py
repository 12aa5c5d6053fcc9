"""The store: what is finished is kept, whatever happens, and never mixed with anything else."""

import contextlib
import dataclasses
import json

import numpy as np
import pytest

from robustirl._runtime import write_atomically
from robustirl.errors import InvalidInputError
from robustirl.paper.finite import Record, RunSpec
from robustirl.sweeps import RunResult, Store
from robustirl.sweeps.store.batch_files import digest, read_batch
from robustirl.sweeps.store.note import with_checksum

SPECS = tuple(RunSpec("gridworld-4", "published", 0.0, noise, 1.0) for noise in (0.0, 0.1, 0.2))


def result(spec, value=-1.0):
    record = Record(
        spec, spec.alpha, value, -0.5, -0.7, -0.3, -0.2, 0.01, 0.02, 3.0, None, None, None, 200, "budget", 0.5
    )
    return RunResult(record, {"reward": np.arange(3.0) * value, "player": np.eye(3)})


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store", SPECS) as opened:
        pass
    return opened


def reopened(store):
    with Store.open(store.folder, SPECS) as opened:
        return opened


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_appended_comes_back_exactly(store):
    store.append([result(SPECS[2], 0.1 + 0.2), result(SPECS[0], -1e300)])
    again = reopened(store)
    assert [record.spec for record in again.records()] == [SPECS[0], SPECS[2]]
    assert again.records()[1] == result(SPECS[2], 0.1 + 0.2).record
    assert SPECS[2] in again
    assert SPECS[1] not in again
    found = again.result(SPECS[2])
    assert np.array_equal(found.arrays["reward"], np.arange(3.0) * (0.1 + 0.2))
    assert found.record == result(SPECS[2], 0.1 + 0.2).record
    assert Store.read(store.folder).records() == again.records()


def test_equal_specs_have_equal_identities():
    spec = dataclasses.replace(SPECS[0])
    object.__setattr__(spec, "alpha", 1)  # As a caller without type checks would pass it.
    spec.__post_init__()
    assert spec.identity == SPECS[0].identity


def test_a_spec_has_the_same_identity_everywhere_and_no_other_spec_has_it():
    assert SPECS[0].identity == "6aa4752f397431a2"  # Changing it orphans every store there is.
    changes = {
        "environment": "gridworld-1", "noise_model": "uniform-state", "learner_noise": 0.3, "expert_noise": 0.3,
        "alpha": 0.5, "seed": 1, "steps": 1, "expert": "optimal", "expert_alpha": 0.5, "start": "fixed",
        "train_noise": 0.0, "sampled": 1, "demonstrations": 1, "draw": 1, "auto": "states",
    }  # fmt: skip
    assert set(changes) == {field.name for field in dataclasses.fields(RunSpec)}
    changed = {dataclasses.replace(SPECS[0], **{name: value}).identity for name, value in changes.items()}
    assert len(changed | {SPECS[0].identity}) == len(changes) + 1


def test_no_flipped_bit_gets_through(store, refused):
    generator = np.random.default_rng(0)
    item = result(SPECS[0])
    store.append([dataclasses.replace(item, arrays={"player": generator.uniform(size=(20, 4))})])
    (path,) = store.batches.iterdir()
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        content = bytearray(whole)
        content[at] ^= 1 << int(generator.integers(8))
        path.write_bytes(bytes(content))
        with contextlib.suppress(InvalidInputError):  # And nothing else.
            # What is read all the same had a bit flipped that says nothing, such as a time stamp in the archive.
            assert read_batch(path)[0] == [item.record]
    path.write_bytes(whole[:-30])
    with refused(f"{path.name} is damaged"):
        read_batch(path)


def test_a_changed_number_is_noticed(store, refused):
    store.append([result(SPECS[0])])
    (path,) = store.batches.iterdir()
    with np.load(path) as file:
        arrays = dict(file)
    arrays["all_reward"] = arrays["all_reward"] + 1
    np.savez_compressed(path, **arrays)
    with refused("checksum does not match"):
        read_batch(path)


def test_a_configuration_of_other_than_texts_is_damage(store, refused):
    store.append([result(SPECS[0])])
    (path,) = store.batches.iterdir()
    with np.load(path) as file:
        arrays = dict(file)
    note = json.loads(arrays["records"].tobytes())
    note["configuration"]["jax"] = 0.1
    text = json.dumps(note).encode()
    arrays["records"] = np.frombuffer(text, np.uint8)
    named = {name: array for name, array in arrays.items() if name.startswith("all_")}
    arrays["checksum"] = np.array(digest(text, named))
    np.savez_compressed(path, **arrays)
    with refused("is damaged (its configuration does not consist of texts)"):
        read_batch(path)


def test_litter_of_a_killed_write_is_ignored_and_swept_up_by_the_next_command(store):
    store.append([result(SPECS[0])])
    (batch,) = store.batches.iterdir()
    litter, other = store.batches / f".{batch.name}.123", store.batches / ".mine.npz.123"
    for path in (litter, other):
        path.write_bytes(b"PK")
    assert len(Store.read(store.folder)) == 1
    assert litter.exists()  # Readers touch nothing.
    assert len(reopened(store)) == 1
    assert sorted(store.batches.iterdir()) == sorted([batch, other])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda note: note | {"specs": note["specs"][:2]}, "holds results of another request"),
        (lambda note: note | {"specs": [{"color": 1}]}, "is damaged"),
        (lambda note: note | {"configuration": None}, "is damaged (its configuration is none)"),
        (lambda note: [], "is damaged"),
        (lambda note: note | {"configuration": note["configuration"] | {"jax": "0.1"}}, "jax 0.1 there"),
        (lambda note: note | {"schema": 99}, "newer robustirl (schema 99"),
        (lambda note: {"schema": 1}, "is damaged ('specs')"),
    ],
)
def test_another_configuration_is_refused(store, change, sentence, refused):
    path = store.folder / "store.json"
    changed = change(json.loads(path.read_text()))
    path.write_text(json.dumps(with_checksum(changed) if "specs" in changed else changed))
    before = contents(store.folder)
    with refused(sentence):
        reopened(store)
    assert contents(store.folder) == before


def test_a_note_that_is_no_json_is_refused(store, refused):
    (store.folder / "store.json").write_text("{")
    with refused("store.json is damaged"):
        reopened(store)


def test_a_store_of_an_unknown_kind_is_not_called_damaged(store, refused):
    path = store.folder / "store.json"
    note = json.loads(path.read_text())
    note["specs"].append({"kind": "weather", "town": "Rome"})
    path.write_text(json.dumps(note))
    with refused("store.json is damaged (its checksum does not match)"):
        Store.read(store.folder)
    path.write_text(json.dumps(with_checksum(note)))
    with refused("store.json has runs of the kind 'weather', which is not registered (registered are: "):
        Store.read(store.folder)


def test_a_batch_of_an_unknown_kind_is_left_where_it_is(store, refused):
    store.append([result(SPECS[0])])
    with np.load(path := next(store.batches.glob("*.npz"))) as file:
        arrays = {name: file[name] for name in file.files if name.startswith("all_")}
        text = file["records"].tobytes().replace(b'"spec": {', b'"spec": {"kind": "weather", ')
    arrays |= {"records": np.frombuffer(text, np.uint8), "checksum": np.array(digest(text, arrays))}
    np.savez(path, **arrays)
    with refused(f"{path} has runs of the kind 'weather', which is not registered"):
        reopened(store)
    assert path.exists()


def test_a_folder_with_other_things_is_left_alone(tmp_path, refused):
    (tmp_path / "thesis.txt").write_text("mine")
    with refused("holds files but no store"), Store.open(tmp_path, SPECS):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_there_is_nothing_to_read_where_there_is_no_store(tmp_path, refused):
    with refused("there is no store in"):
        Store.read(tmp_path)


@pytest.mark.parametrize("left", [["batches"], ["batches", ".lock"], [".store.json.123", ".lock"], []])
def test_a_command_killed_while_it_made_its_store_starts_over(tmp_path, left):
    for name in left:
        if name == "batches":
            (tmp_path / name).mkdir()
        else:
            (tmp_path / name).write_text("")
    with Store.open(tmp_path, SPECS) as opened:
        opened.append([result(SPECS[0])])
    assert len(Store.read(tmp_path)) == 1


def test_a_batch_of_another_configuration_is_not_mixed_in(store, refused, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("robustirl.sweeps.store.batch_files.configuration", lambda: {"jax": "0.1"})
        store.append([result(SPECS[0])])
    with refused("another configuration", "jax 0.1 there"):
        reopened(store)


def test_one_command_at_a_time(store, refused):
    with Store.open(store.folder, SPECS), refused("another command is working in"):
        reopened(store)
    reopened(store)


def test_a_full_disk_keeps_what_was_there(store, monkeypatch, refused):
    store.append([result(SPECS[0])])
    before = contents(store.folder)

    def full(*_):
        raise OSError(28, "No space left on device")

    with refused("No space left on device", "what is finished is kept"), Store.open(store.folder, SPECS) as opened:
        monkeypatch.setattr("os.fsync", full)
        opened.append([result(SPECS[1])])
    assert contents(store.folder) == before


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "table.csv"
    write_atomically(path, "old")
    with pytest.raises(TypeError):
        write_atomically(path, 3)  # pyright: ignore[reportArgumentType]
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_method_of_version_0_1_says_its_new_name(store):
    store.append([result(SPECS[0])])
    with pytest.warns(DeprecationWarning, match=r"Store\.result"):
        found = store.finding(SPECS[0])
    assert found.record == store.result(SPECS[0]).record
