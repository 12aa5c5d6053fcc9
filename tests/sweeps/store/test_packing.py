"""What is no packed store is refused with the reason, or with the kind of error where that says nothing."""

import pytest

from robustirl.sweeps import unpack_store
from robustirl.sweeps.store import packing


@pytest.mark.parametrize(("error", "reason"), [(MemoryError(), "(MemoryError)"), (ValueError("a\n b."), "(a b)")])
def test_the_reason_is_never_empty(error, reason, tmp_path, monkeypatch, refused):
    def fail(_):
        raise error

    monkeypatch.setattr(packing, "read_arrays", fail)
    (tmp_path / "runs.npz").write_bytes(b"x")
    with refused(f"cannot be read as a packed store {reason}; pack it again"):
        unpack_store(tmp_path / "runs.npz", tmp_path / "store")
    assert not (tmp_path / "store").exists()
