"""Every name of the table of old names gives the new object and a warning that says the new name."""

import ast
import importlib
import re
import subprocess
import sys
import types
import warnings
from pathlib import Path

import jax
import pytest

import robustirl
from robustirl._runtime import deprecations
from robustirl._runtime.deprecations import IMPORTED_WITH_WARNING, METHODS, MODULES, NAMES, warn_renamed
from robustirl.control import PolicyGradientConfig, solve_game
from robustirl.demonstrations import Demonstrations, estimate_occupancy
from robustirl.envs import GaussianGrid
from robustirl.irl import Status

ROOMS = Path(robustirl.__file__).parent


def new_object(full_name):
    home, _, name = full_name.rpartition(".")
    return getattr(importlib.import_module(home), name)


@pytest.mark.parametrize("old", NAMES)
def test_an_old_name_gives_the_new_object_and_says_its_name(old):
    home, _, name = old.rpartition(".")
    module = importlib.import_module(home)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {re.escape(METHODS.get(old, NAMES[old]))}; "):
        found = getattr(module, name)
    assert found is new_object(NAMES[old])
    assert not isinstance(found, types.ModuleType)


@pytest.mark.parametrize("old", MODULES)
def test_an_old_module_forwards_to_its_successor(old):
    with warnings.catch_warnings(action="ignore"):  # A first import may warn, too.
        module, successor = importlib.import_module(old), importlib.import_module(MODULES[old])
    name = next(name for name in vars(successor) if name[0].isalpha() and f"{old}.{name}" not in {*NAMES, *MODULES})
    private = ", which is private" if MODULES[old] == "robustirl._runtime" else ""
    with pytest.warns(DeprecationWarning, match=f"{old}.{name} is now {MODULES[old]}.{name}{private}; "):
        found = getattr(module, name)
    assert found is getattr(successor, name)


def test_what_nobody_ever_had_is_an_attribute_error():
    for module in ("robustirl", "robustirl.irl", "robustirl.experiments", "robustirl.precision"):
        with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nothing'"):
            importlib.import_module(module).nothing  # noqa: B018


def test_an_unknown_module_is_still_missing():
    with pytest.raises(ModuleNotFoundError, match=r"robustirl\.experiments\.nothing"):
        importlib.import_module("robustirl.experiments.nothing")


def test_a_program_of_version_0_1_runs_with_one_warning_a_name():
    program = """
from robustirl.experiments import RunSpec, Store, grid_of_specs
from robustirl.experiments.specs import PAPER_ALPHAS
from robustirl.precision import enable_x64
enable_x64()
print(len(grid_of_specs("gridworld-4", "uniform-state")), PAPER_ALPHAS[0])
"""
    command = [sys.executable, "-W", "default", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["75", "1.0"]
    assert done.stderr.count("DeprecationWarning") == 5
    assert done.stderr.count("<string>:2: DeprecationWarning: ") == 3  # The warning names the line of the program.


def test_the_import_of_a_module_of_gymnasium_does_what_it_did_with_a_warning():
    pytest.importorskip("gymnasium")
    program = """
import robustirl.envs.gymnasium_functional
import robustirl.envs.gymnasium_continuous
import robustirl.envs.gymnasium_worlds
import gymnasium
print(gymnasium.make("robustirl/GridWorld1-v0").observation_space.n)
"""
    command = [sys.executable, "-W", "default", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 1
    said = [line for line in done.stderr.splitlines() if "DeprecationWarning" in line]
    goes = "the old name goes with the next version."
    assert said == [
        f"<string>:{line}: DeprecationWarning: robustirl.envs.gymnasium_{name} is now robustirl.envs.gymnasium.{name};"
        f" {goes}"
        for line, name in enumerate(("functional", "continuous", "worlds"), start=2)
    ]
    assert set(MODULES) >= IMPORTED_WITH_WARNING


def test_the_package_warns_of_what_is_in_the_table_alone():
    warned = set()
    for path in ROOMS.rglob("*.py"):
        text = path.read_text("utf-8")
        if path != Path(deprecations.__file__):
            assert "DeprecationWarning" not in text, path
            warned |= set(re.findall(r"warn_renamed\(\"([^\"]+)\"", text))
    assert warned <= set(METHODS)


@pytest.mark.parametrize("old", METHODS)
def test_what_to_write_now_is_public(old):
    with pytest.warns(DeprecationWarning, match=rf"{re.escape(old)} is now ") as caught:
        warn_renamed(old)
    assert caught[0].filename == __file__
    assert not re.search(r"\b_[a-z]|private", str(caught[0].message))


def test_no_old_module_hides_a_present_name():
    # An import binds the module in its package, which must not have anything else of that name.
    for old in MODULES:
        package, _, name = old.rpartition(".")
        if package not in MODULES:
            found = vars(importlib.import_module(package)).get(name)
            assert found is None or found is sys.modules[old]


def test_rooms_that_the_table_names_look_there():
    homes = {old.rpartition(".")[0] for old in NAMES} - set(MODULES)
    for home in homes:
        assert callable(vars(importlib.import_module(home))["__getattr__"])


def test_the_package_itself_uses_no_old_name():
    old = {*NAMES, *MODULES}
    for path in ROOMS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not old & {node.module, *(f"{node.module}.{name.name}" for name in node.names)}, path


def test_an_old_member_of_a_status_is_the_new_one_and_its_value_in_files_stays():
    with pytest.warns(DeprecationWarning, match=r"Status\.BUDGET is now Status\.MAX_STEPS; ") as caught:
        found = getattr(Status, "BUDGET")  # noqa: B009
    assert found is Status.MAX_STEPS is Status("budget")
    assert caught[0].filename == __file__
    with pytest.raises(AttributeError, match="type object 'Status' has no attribute 'NOTHING'"):
        getattr(Status, "NOTHING")  # noqa: B009


def test_an_old_attribute_of_a_training_is_the_new_one():
    quick = PolicyGradientConfig(steps=2, episodes=8)
    trained = solve_game(GaussianGrid(), config=quick, key=jax.random.key(0))
    with pytest.warns(DeprecationWarning, match=r"^Training\.sound is now Training\.valid; "):
        assert trained.sound == trained.valid
    with pytest.warns(DeprecationWarning, match=r"TrainingHistory\.sound is now TrainingHistory\.valid; "):
        assert trained.history.sound.all() == trained.history.valid.all()


def test_the_old_spelling_of_a_tail_is_taken_with_a_warning_at_the_call():
    walks = Demonstrations.from_arrays([[0, 1], [1, 1, 0]], terminated=[False, False])
    with pytest.warns(DeprecationWarning, match="tail='renormalise' is now tail='renormalize'; ") as caught:
        found = estimate_occupancy(walks, num_states=2, discount=0.9, tail="renormalise")  # pyright: ignore
    assert caught[0].filename == __file__
    assert found.tail == "renormalize"


def test_moved_modules_are_looked_for_first_and_once(monkeypatch):
    others = [object(), object()]
    monkeypatch.setattr(sys, "meta_path", list(others))
    for _ in range(2):
        deprecations.support_moved_modules()
        assert sys.meta_path[1:] == others
        assert isinstance(sys.meta_path[0], deprecations._MovedModules)
