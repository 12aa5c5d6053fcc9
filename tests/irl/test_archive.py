"""Archives of models: what is cut off, changed, newer or a pickle is refused, whatever it holds."""

import json
from typing import Any

import numpy as np
import pytest

from robustirl.irl import load_fit
from robustirl.irl._archive import Archive, read_archive, write_archive
from tests.irl.saved import content, made, same, written


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, -1])
def test_a_file_that_was_cut_off_is_refused(keep, tmp_path, refused):
    size = int(len(content()) * keep) if isinstance(keep, float) else keep
    (tmp_path / "fit.npz").write_bytes(content()[:size])
    with refused("fit.npz is damaged, cut off or not an .npz file"):
        load_fit(tmp_path / "fit.npz")


def test_a_changed_byte_is_noticed_wherever_it_is(tmp_path, refused):
    rng = np.random.default_rng(0)
    noticed = 0
    for place in rng.choice(len(content()), size=150, replace=False):
        changed = bytearray(content())
        changed[place] ^= 0x10
        (tmp_path / "fit.npz").write_bytes(bytes(changed))
        try:
            found = load_fit(tmp_path / "fit.npz")
        except Exception as error:
            with refused("fit.npz"):
                raise error
            noticed += 1
        else:
            same(found, made())  # A date or an attribute of the zip container: the content is untouched.
    assert noticed > 75


def rewritten(tmp_path, change):
    """The file with its note or arrays changed and no checksum made anew."""
    with np.load(written(tmp_path, content()), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    change(arrays)
    np.savez(tmp_path / "fit.npz", **arrays)
    return tmp_path / "fit.npz"


def test_an_altered_number_is_noticed(tmp_path, refused):
    def forge(arrays):
        arrays["fit.player"] = arrays["fit.player"][::-1]

    with refused("was altered or damaged: its content does not match its checksum"):
        load_fit(rewritten(tmp_path, forge))


def test_an_array_by_another_name_is_noticed(tmp_path, refused):
    def swap(arrays):
        arrays["fit.player"], arrays["fit.opponent"] = arrays["fit.opponent"], arrays["fit.player"]

    with refused("was altered or damaged"):
        load_fit(rewritten(tmp_path, swap))


def test_a_newer_file_asks_for_an_update(tmp_path, refused):
    def newer(arrays):
        note = json.loads(arrays["note"].tobytes()) | {"schema": 2}
        arrays["note"] = np.frombuffer(json.dumps(note).encode(), np.uint8)

    with refused("was written by a newer robustirl (schema 2, this one reads up to 1); update robustirl."):
        load_fit(rewritten(tmp_path, newer))


def test_pickles_are_never_opened(tmp_path, refused):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was opened",))

    trap = np.empty(1, dtype=object)
    trap[0] = Trap()
    np.savez(tmp_path / "trap.npz", note=trap, checksum=np.zeros(1, np.uint8))
    with refused("trap.npz is damaged, cut off or not an .npz file of plain arrays"):
        load_fit(tmp_path / "trap.npz")


def test_a_note_may_hold_what_is_no_number(tmp_path):
    write_archive(Archive({"kind": "fit", "tolerance": float("nan")}, {}), tmp_path / "a.npz")
    assert np.isnan(read_archive(tmp_path / "a.npz").note["tolerance"])


def test_objects_are_never_written(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle=False"):
        write_archive(Archive({"kind": "fit"}, {"trap": np.array([{}], dtype=object)}), tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


def test_of_a_strange_file_eight_arrays_are_named(tmp_path, refused):
    many: dict[str, Any] = {f"array{place}": np.zeros(1) for place in range(9)}
    np.savez(tmp_path / "many.npz", **many)
    with refused("array6, array7; give a file that save() has written."):
        load_fit(tmp_path / "many.npz")
