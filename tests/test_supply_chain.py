"""What is installed is pinned, by version and by hash, and no file says from where."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def lock():
    spec = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_pin_has_hashes_and_every_hash_a_pin(lock):
    found = lock.locked()
    assert {name: version for name, (version, _) in found.items()} == lock.pins(), "run tools/lock.py"
    assert all(values and len(set(values)) == len(values) for _, values in found.values())


def test_what_the_package_and_its_tests_need_is_pinned(lock):
    extras = PROJECT["project"]["optional-dependencies"]
    asked = [*PROJECT["project"]["dependencies"], *extras["all"], *extras["docs"]]
    asked += [line for line in (ROOT / "requirements-dev.txt").read_text().splitlines() if not line.startswith("#")]
    for part in ("gymnasium", "minari"):
        asked += extras[part]
    pinned = {lock.canonical(name) for name in lock.pins()}
    names = {lock.canonical(re.match(r"[\w.-]+", line)[0]) for line in asked}  # pyright: ignore[reportOptionalSubscript]
    assert names - {"robustirl"} <= pinned


@pytest.mark.parametrize("name", ["constraints.txt", "requirements.lock", "requirements-dev.txt"])
def test_no_host_is_named(name):
    text = (ROOT / name).read_text()
    assert not re.search(r"https?:|file:|--(extra-)?index-url|--find-links|--trusted-host|@ ", text)


def test_the_build_backend_is_pinned_as_it_was_tested(lock):
    (backend,) = PROJECT["build-system"]["requires"]
    assert backend == f"hatchling=={lock.pins()['hatchling']}"


def test_what_brings_unfinished_versions_is_not_part_of_all():
    extras = PROJECT["project"]["optional-dependencies"]
    assert extras["all"] == ["robustirl[gymnasium,minari]"]
    assert extras["ray"] == ["ray>=2.52"]


def test_a_lock_with_a_line_that_is_no_entry_is_noticed(lock, tmp_path, monkeypatch):
    spoiled = tmp_path / "requirements.lock"
    spoiled.write_text((ROOT / "requirements.lock").read_text() + "evil @ https://example.org/evil.whl\n")
    monkeypatch.setattr(lock, "LOCK", spoiled)
    with pytest.raises(SystemExit, match="is no entry; write it anew"):
        lock.locked()
