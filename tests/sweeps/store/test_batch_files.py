"""Files of batches: no change of one gets through."""

import contextlib
import dataclasses
import json

import numpy as np

from robustirl.errors import InvalidInputError
from robustirl.sweeps.store.batch_files import digest, read_batch
from tests.sweeps.store.stores import SPECS, reopened, result, store

__all__ = ["store"]  # A fixture.


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


def test_a_batch_of_another_configuration_is_not_mixed_in(store, refused, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("robustirl.sweeps.store.batch_files.configuration", lambda: {"jax": "0.1"})
        store.append([result(SPECS[0])])
    with refused("another configuration", "jax 0.1 there"):
        reopened(store)
