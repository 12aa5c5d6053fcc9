"""Where compiled programs are kept on every system, what JAX is told of it, and which entries are removed."""

import hashlib
import os
import platform
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from robustirl._runtime import cache


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
