"""How much memory there is, on devices and machines that are not here, and the sentence about what does not fit."""

import resource
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


@pytest.fixture
def unlimited(monkeypatch, tmp_path):
    """A process without limits, in no group, on a machine with 7 MiB left."""
    monkeypatch.setattr(memory.jax, "devices", lambda: device("cpu", {"bytes_limit": 1}))
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    for name in ("MACHINE", "MAPPED", "OWN_GROUPS", "GROUPS"):
        monkeypatch.setattr(memory, name, tmp_path / name.lower())
    memory.MACHINE.write_text(f"MemTotal:  9999 kB\nMemAvailable:   {7 * 1024} kB\n")


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_memory_is_that_of_the_machine_where_the_device_does_not_tell(monkeypatch, kind):
    monkeypatch.setattr(memory.jax, "devices", lambda: device(kind, {"bytes_limit": 1} if kind == "cpu" else None))
    assert memory.available_bytes() == 7 * 2**20
    memory.MACHINE.write_text("MemTotal:  9 kB\n")
    pages = {"SC_AVPHYS_PAGES": 3, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory, "os", SimpleNamespace(sysconf=pages.__getitem__))
    assert memory.available_bytes() == 3 * 4096
    monkeypatch.setattr(memory, "os", SimpleNamespace())
    assert memory.available_bytes() is None


@pytest.mark.usefixtures("unlimited")
def test_a_limit_on_the_process_counts_less_what_is_mapped(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (5 * 2**20, resource.RLIM_INFINITY))
    assert memory.available_bytes() == 7 * 2**20  # What is mapped is not told.
    memory.MAPPED.write_text("100 30 20 1 0 9 0\n")
    assert memory.available_bytes() == 5 * 2**20 - 100 * resource.getpagesize()
    memory.MAPPED.write_text("100000 30 20 1 0 9 0\n")
    assert memory.available_bytes() == 0


def limited(group, names, numbers, cached=None):
    group.mkdir(parents=True, exist_ok=True)
    for name, number in zip(names[:2], numbers, strict=True):
        (group / name).write_text(f"{number}\n")
    if cached is not None:
        (group / "memory.stat").write_text(f"anon 7\n{names[2]} {cached}\n")


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize(("line", "top"), [("0::/a/b", "."), ("4:cpu,memory:/a/b", "memory")])
def test_the_limits_of_all_groups_of_the_process_count_less_what_is_used(line, top):
    names = memory.SECOND_VERSION if top == "." else memory.FIRST_VERSION
    memory.OWN_GROUPS.write_text(f"9:name=systemd:/\n{line}\n")
    assert memory.available_bytes() == 7 * 2**20
    limited(memory.GROUPS / top / "a" / "b", names, ("max", 100))
    assert memory.available_bytes() == 7 * 2**20
    limited(memory.GROUPS / top / "a" / "b", names, (6000, 1000))
    assert memory.available_bytes() == 5000
    limited(memory.GROUPS / top / "a" / "b", names, (6000, 1000), cached=300)
    assert memory.available_bytes() == 5300
    limited(memory.GROUPS / top / "a", names, (4000, 1000))
    assert memory.available_bytes() == 3000
    limited(memory.GROUPS / top, names, (2000, 1000))
    assert memory.available_bytes() == 1000


def test_what_does_not_fit_is_refused_with_both_sizes(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 3 * 2**29)
    memory.require_memory(3 * 2**29, "this", "use less")
    with pytest.raises(InvalidInputError, match=r"^this needs about 2 GiB of memory, but 1\.5 GiB are available; use"):
        memory.require_memory(2**31, "this", "use less")
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require_memory(2.0**80, "this", "use less")
