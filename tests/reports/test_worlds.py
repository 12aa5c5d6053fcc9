"""Worlds are found by name, by function and with their arguments, and their noise is explained."""

import sys
from types import SimpleNamespace

import pytest

from robustirl.envs import ThreeState
from robustirl.reports.worlds import _from_function, explain_noise, find_environment, parse_arguments


def test_arguments_are_json_or_text(refused):
    assert parse_arguments(["a=True", "b=false", "c=1.5", "d=x=y", "e=[1, 2]"]) == {
        "a": True,
        "b": False,
        "c": 1.5,
        "d": "x=y",
        "e": [1, 2],
    }
    for words, why in ((["a"], "name=value is needed"), (["=1"], "name=value"), (["a=1", "a=2"], "a is given twice")):
        with refused(why):
            parse_arguments(words)


def test_noise_is_explained_where_it_has_no_meaning_of_its_own(refused):
    own = SimpleNamespace(name="mine", disturbances={}, noise_models=("uniform-state", "uniform-action"))
    assert explain_noise(own, 0.0, None, 5) is None
    assert explain_noise(SimpleNamespace(disturbances=None), 0.1, None, 5) is None
    assert explain_noise(own, 0.1, "uniform-state", 5) == (
        "noise in mine: with probability 0.1 the successor is any of all 5 states, whatever lies between, instead of"
        " where the action leads."
    )
    assert explain_noise(own, 0.1, "other", 5) is None
    with refused("--noise 0.1 has no meaning of its own in mine", "; or uniform-action: with probability 0.1"):
        explain_noise(own, 0.1, None, 5)


def test_a_function_of_ones_own_makes_a_world(monkeypatch, refused):
    world = ThreeState().mdp(0.1)
    made = {"mdp": world, "environment": ThreeState(), "number": 3, "not_callable": None}
    module = SimpleNamespace(**{name: (lambda one=one, **_: one) for name, one in made.items()}, text="x")

    def fail():
        raise KeyError("odd")

    module.fails = fail
    monkeypatch.setitem(sys.modules, "mine", module)
    assert _from_function("mine:mdp", "mine", "mdp", {}, None).mdp().discount == world.discount
    assert _from_function("mine:mdp", "mine", "mdp", {}, 0.5).mdp().discount == 0.5
    assert _from_function("mine:environment", "mine", "environment", {}, None) is made["environment"]
    assert _from_function("mine:text", "mine", "text", {}, None) is None
    assert _from_function("mine:none", "mine", "none", {}, None) is None
    with refused("mine:number returned a int, but an environment, an MDP or a Gymnasium environment is needed"):
        _from_function("mine:number", "mine", "number", {}, None)
    with refused("mine:fails failed (KeyError: 'odd')"):
        _from_function("mine:fails", "mine", "fails", {}, None)
    with refused("the module 'no_such' of 'no_such:x' cannot be imported (ModuleNotFoundError"):
        _from_function("no_such:x", "no_such", "x", {}, None)


def test_worlds_are_found_by_name_with_their_arguments(refused):
    assert find_environment("gridworld-4").mdp(0.0).discount == pytest.approx(0.99)
    assert find_environment("gridworld-4", 0.5).mdp(0.0).discount == 0.5
    with refused("--env-arg size is for environments that are made, but world.npz is a file"):
        find_environment("world.npz", arguments={"size": 3})
    with refused("would import and run the module 'mine'", "--allow-import"):
        find_environment("mine:world")
