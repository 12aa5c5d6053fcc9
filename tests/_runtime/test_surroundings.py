"""What the library finds around it, and what it then does: folders, memory, devices, forks."""

import hashlib
import io
import os
import platform
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl._runtime import cache, forks, memory, placement, precision, progress, reading
from robustirl.cli import devices
from robustirl.errors import InvalidInputError, RobustIRLError


@pytest.mark.parametrize(
    ("system", "variables", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/robustirl"),
        ("win32", {"XDG_CACHE_HOME": "/x"}, "/x/robustirl"),
        ("linux", {}, "~/.cache/robustirl"),
        ("darwin", {}, "~/Library/Caches/robustirl"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/robustirl/Cache"),
        ("win32", {}, "~/AppData/Local/robustirl/Cache"),
    ],
)
def test_the_cache_is_where_the_system_keeps_such_files(monkeypatch, system, variables, folder):
    monkeypatch.setattr(cache, "sys", SimpleNamespace(platform=system))
    monkeypatch.setattr(cache, "os", SimpleNamespace(environ=variables))
    assert cache.user_cache_folder() == Path(folder).expanduser()


def test_a_processor_is_named_by_what_it_can_do():
    text, info = platform.machine(), Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        text += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    assert cache.processor() == hashlib.sha256(text.encode()).hexdigest()[:12]


def settings_of(monkeypatch):
    """The settings that are made, without making them."""
    made, environment = {}, {}
    monkeypatch.setattr(cache.jax.config, "update", made.__setitem__)
    monkeypatch.setattr(cache, "os", SimpleNamespace(environ=environment, name=os.name, geteuid=os.geteuid))
    return made, environment


def test_the_cache_keeps_every_program_in_this_process_and_those_it_starts(monkeypatch, tmp_path):
    made, environment = settings_of(monkeypatch)
    folder = tmp_path / "a" / "b"
    assert cache.use_compilation_cache(folder) == folder
    assert made == {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    assert environment == {name.upper(): str(value) for name, value in made.items()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    environment.pop("JAX_COMPILATION_CACHE_DIR")
    assert cache.use_compilation_cache() == tmp_path / "robustirl" / "programs" / cache.processor()
    environment["JAX_COMPILATION_CACHE_DIR"] = "/named"
    assert cache.use_compilation_cache() == Path("/named")
    assert cache.use_compilation_cache(folder) == folder


def test_without_a_cache_everything_is_compiled(monkeypatch):
    made, environment = settings_of(monkeypatch)
    cache.disable_compilation_cache()
    assert (made, environment) == ({"jax_enable_compilation_cache": False}, {"JAX_ENABLE_COMPILATION_CACHE": "false"})


def test_a_cache_that_others_may_write_is_not_used(monkeypatch, tmp_path, refused):
    made, _ = settings_of(monkeypatch)
    tmp_path.chmod(0o707)
    assert cache.use_compilation_cache(tmp_path) is None
    with refused("compiled programs cannot be kept in", "everybody may write"):
        cache.enable_cache(tmp_path)
    tmp_path.chmod(0o770)
    monkeypatch.setattr(cache.os, "geteuid", lambda: os.geteuid() + 1)
    with refused("belongs to another user"):
        cache.enable_cache(tmp_path)
    assert made == {}


def test_entries_are_removed_oldest_first_and_other_files_never(tmp_path):
    for age, name in enumerate(("new", "old", "older")):
        path = tmp_path / f"jit_{name}-{64 * '0'}-cache"
        path.write_bytes(bytes(10))
        os.utime(path, (1000, 1000 - age))  # The later of the two times counts.
        os.utime(path, (990 - age, 1000 - age))
    (tmp_path / "mine").write_bytes(bytes(1000))
    for limit, count in ((30, 3), (29, 2), (20, 2), (0, 0)):
        cache.bound_size(tmp_path, limit)
        left = sorted(path.name.split("-")[0] for path in tmp_path.iterdir())
        assert left == sorted([*("jit_new", "jit_old", "jit_older")[:count], "mine"])


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


def test_a_file_that_memory_cannot_hold_is_told_both_sizes(monkeypatch):
    monkeypatch.setattr(reading, "available_bytes", lambda: 3 * 2**29)
    assert reading.excess(3 * 2**29) == ""
    assert reading.excess(5 * 2**40) == "5,120.0 GiB, but 1.5 GiB of memory are available"
    monkeypatch.setattr(reading, "available_bytes", lambda: None)
    assert reading.excess(2**80) == ""


def test_tolerances_follow_from_the_type_and_the_discount():
    wide, narrow = np.zeros(1), np.zeros(1, dtype=np.float32)
    eps = {8: 2.0**-52, 4: 2.0**-23}
    for array in (wide, narrow):
        assert precision.epsilon(array) == eps[array.itemsize]
        assert precision.tie_tolerance(array) == 4096 * eps[array.itemsize]
        assert precision.smallest_tolerance(array, 0.75) == 64 * eps[array.itemsize]
    assert (precision.sum_tolerance(wide.dtype), precision.sum_tolerance(narrow.dtype)) == (1e-10, 1e-5)


def test_small_arrays_are_made_beside_an_accelerator(monkeypatch):
    asked = []
    monkeypatch.setattr(placement.jax, "default_device", asked.append)
    monkeypatch.setattr(placement.jax, "local_devices", lambda backend: [f"first {backend}", "second"])
    placement.on_host()
    assert asked == []  # Here the CPU is what computes.
    monkeypatch.setattr(placement.jax, "default_backend", lambda: "gpu")
    placement.on_host()
    assert asked == ["first cpu"]

    def none(backend):
        raise RuntimeError("no CPU")

    monkeypatch.setattr(placement.jax, "local_devices", none)
    with placement.on_host():
        assert asked == ["first cpu"]


@pytest.mark.parametrize(
    ("bridge", "before", "refuses"),
    [
        (None, False, False),
        (SimpleNamespace(), False, False),
        (SimpleNamespace(backends_are_initialized=lambda: False), False, False),
        (SimpleNamespace(backends_are_initialized=lambda: True), False, True),
        (SimpleNamespace(backends_are_initialized=lambda: False), True, True),
    ],
)
def test_a_fork_matters_once_jax_has_threads(monkeypatch, bridge, before, refuses):
    modules = {} if bridge is None else {"jax._src.xla_bridge": bridge}
    monkeypatch.setattr(forks, "sys", SimpleNamespace(modules=modules))
    monkeypatch.setattr(forks, "_forked", before)
    forks._note_fork()
    assert forks._forked is refuses
    if refuses:
        with pytest.raises(RobustIRLError, match="this process was forked from one in which JAX was at work"):
            forks.require_no_fork()
    else:
        forks.require_no_fork()


def test_a_device_that_cannot_be_used_is_a_sentence_if_it_was_named(monkeypatch, refused):
    def fail():
        raise error

    monkeypatch.setattr(devices.jax, "devices", fail)
    monkeypatch.setattr(devices, "os", SimpleNamespace(environ={"JAX_PLATFORMS": "cuda"}))
    error = RuntimeError("no driver.\nMore.")
    with refused("JAX_PLATFORMS is 'cuda', but JAX cannot compute there (no driver); unset it"):
        devices.require_device()
    error = RuntimeError()
    with refused("cannot compute there; unset it"):
        devices.require_device()
    monkeypatch.setattr(devices, "os", SimpleNamespace(environ={}))
    with pytest.raises(RuntimeError):
        devices.require_device()


@pytest.mark.parametrize("widgets", [None, "found"])
def test_bars_go_to_standard_error_and_are_text_without_widgets(monkeypatch, widgets):
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: widgets)
    found = progress._console()
    assert found.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rich.console.Console", lambda **options: options)
        assert progress._console() == ({"stderr": True} if widgets else {"stderr": True, "force_jupyter": False})
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    with progress.progress_bar("learning", 4) as report:
        report(1, "gap 0.5")
    assert "learning" in said.getvalue()
    assert "100%" in said.getvalue()
    with progress.progress_bar("waiting", None) as report:
        report(1, "gap 0.5")
    assert "%" not in said.getvalue().partition("waiting")[2]
    with progress.progress_bar("hidden", 4, show=False) as report:
        report(1, "note")
    assert "hidden" not in said.getvalue()
