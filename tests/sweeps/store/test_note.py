"""The note of a store: another configuration, kind or format is refused and not called damaged."""

import json

import pytest

from robustirl.sweeps import Store
from robustirl.sweeps.store.note import with_checksum
from tests.sweeps.store.stores import contents, reopened, store

__all__ = ["store"]  # A fixture.


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
