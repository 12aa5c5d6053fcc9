"""Compiled programs are kept from one process to the next, whatever becomes of the folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robustirl._runtime.cache import bound_size, enable_cache, use_compilation_cache, user_cache_folder

PROGRAM = """
import logging, sys
logging.basicConfig(level=logging.DEBUG)
for name in ("jax", "matplotlib"):
    logging.getLogger(name).setLevel(logging.ERROR)
import jax
import robustirl
from robustirl._runtime import disable_compilation_cache
disable_compilation_cache() if "off" in sys.argv else robustirl.enable_cache()
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event) if "cache_hits" in event else None)
print(float(jax.jit(lambda x: x * 3.25 + 0.5)(2.0)), len(hits))
"""


@pytest.fixture
def run(tmp_path):
    """A process that compiles one program, with the cache in a folder of the test's own."""
    usual = {name: value for name, value in os.environ.items() if "CACHE" not in name}

    def start(*arguments, **environment):
        command = [sys.executable, "-c", PROGRAM, *arguments]
        variables = {**usual, "XDG_CACHE_HOME": str(tmp_path / "cache"), **environment}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
        value, hits = done.stdout.split()
        assert value == "7.0"
        # Where JAX has a plugin for an accelerator, that logs, too.
        said = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith("DEBUG:jax_plugins")]
        return int(hits), "".join(said)

    return start


def entries(folder: Path):
    return sorted(path for path in folder.rglob("*-cache") if path.is_file())


def test_a_second_process_loads_what_the_first_compiled(run, tmp_path):
    assert run()[0] == 0
    assert entries(tmp_path / "cache" / "robustirl")
    assert run()[0] >= 1
    assert run("off")[0] == 0


def test_a_half_written_entry_is_compiled_again_without_a_word(run, tmp_path):
    run()
    for path in entries(tmp_path):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    hits, said = run()
    assert (hits, said) == (0, "")


def test_a_folder_that_cannot_be_written_turns_the_cache_off_with_one_line_in_the_log(run, tmp_path):
    (tmp_path / "cache").write_text("a file")
    hits, said = run()
    assert hits == 0
    assert said.startswith("DEBUG:robustirl._runtime.cache:compiled programs are not kept: ")
    assert said.count("\n") == 1


def test_a_folder_that_the_environment_names_is_used(run, tmp_path):
    own = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "own"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    run(**own)
    assert entries(tmp_path / "own")
    assert not (tmp_path / "cache").exists()


def test_the_folder_is_where_the_user_keeps_caches(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert user_cache_folder() == Path("/somewhere/robustirl")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert "robustirl" in user_cache_folder().parts


ENTRY = f"jit_f-{64 * 'a'}-cache"


def test_nothing_but_compiled_programs_is_removed(tmp_path):
    for name in ("thesis.tex", "notes-cache", ENTRY):
        (tmp_path / name).write_bytes(bytes(100))
    (tmp_path / ENTRY.replace(64 * "a", 64 * "b")).symlink_to(tmp_path / "thesis.tex")
    (tmp_path / "folder").mkdir()
    bound_size(tmp_path, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "notes-cache", "thesis.tex"]
    assert (tmp_path / "thesis.tex").stat().st_size == 100


@pytest.mark.parametrize("folder", ["a\0b", 5, b"bytes", "file/below", "n" * 300, "everybody"])
def test_a_folder_that_cannot_hold_programs_is_refused(here, refused, folder):
    (here / "file").write_text("")
    (here / "everybody").mkdir()
    (here / "everybody").chmod(0o777)
    with refused("compiled programs cannot be kept in"):
        enable_cache(folder)
    assert sorted(path.name for path in here.iterdir()) == ["everybody", "file"]


def test_programs_of_another_user_are_not_run(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with caplog.at_level("DEBUG", "robustirl"):
        assert use_compilation_cache() is None
    assert "belongs to another user" in caplog.text
