"""How much memory there is, on devices and machines that are not here, and the sentence about what does not fit."""

import io
from types import SimpleNamespace

import pytest

from robustirl._runtime import memory
from robustirl.errors import InvalidInputError


def device(kind, stats=None):
    return [SimpleNamespace(platform=kind, memory_stats=lambda: stats)]


def test_memory_is_that_of_the_device(monkeypatch):
    monkeypatch.setattr(memory.jax, "devices", lambda: device("gpu", {"bytes_limit": 100, "bytes_in_use": 30}))
    assert memory.available_bytes() == 70
    monkeypatch.setattr(memory.jax, "devices", lambda: device("gpu", {"bytes_limit": 100}))
    assert memory.available_bytes() == 100


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_memory_is_that_of_the_machine_where_the_device_does_not_tell(monkeypatch, kind):
    monkeypatch.setattr(memory.jax, "devices", lambda: device(kind, {"bytes_limit": 1} if kind == "cpu" else None))
    text = "MemTotal:  9 kB\nMemAvailable:   7 kB\n"
    monkeypatch.setattr(memory, "Path", lambda name: SimpleNamespace(open=lambda encoding: io.StringIO(text)))
    assert memory.available_bytes() == 7 * 1024
    text = "MemTotal:  9 kB\n"
    pages = {"SC_AVPHYS_PAGES": 3, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory, "os", SimpleNamespace(sysconf=pages.__getitem__))
    assert memory.available_bytes() == 3 * 4096
    monkeypatch.setattr(memory, "os", SimpleNamespace())
    assert memory.available_bytes() is None


def test_what_does_not_fit_is_refused_with_both_sizes(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 3 * 2**29)
    memory.require_memory(3 * 2**29, "this", "use less")
    with pytest.raises(InvalidInputError, match=r"^this needs about 2 GiB of memory, but 1\.5 GiB are available; use"):
        memory.require_memory(2**31, "this", "use less")
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require_memory(2.0**80, "this", "use less")
