"""Worlds of one's own on the command line: arrays, functions, arguments and noise."""

import json
import sys

import pytest
import scipy.sparse

from robustirl.demonstrations import Demonstrations, save
from tests.cli.own_world import FIT, KERNEL, world
from tests.commands import robustirl

__all__ = ["world"]  # A fixture.


def test_worlds_from_scipy_are_read(world, capsys):
    for kind in ("csr", "csc"):
        scipy.sparse.save_npz(world / "sparse.npz", scipy.sparse.coo_array(KERNEL.reshape(6, 3)).asformat(kind))
        line = "theory sparse.npz --discount 0.9 --demos walks.csv --json"
        status, out, _ = robustirl(line, capsys)
        assert status == 0
        assert json.loads(out)["matchable"] in ("no", "open")
    scipy.sparse.save_npz(world / "sparse.npz", scipy.sparse.csr_array(KERNEL.reshape(6, 3)[:5]))
    status, _, err = robustirl("demos inspect walks.csv --env sparse.npz", capsys)
    assert status == 2
    assert "one for each state and action" in " ".join(err.split())


def test_a_function_of_ones_own_makes_the_world_if_it_is_trusted(world, capsys, monkeypatch):
    (world / "my_rooms.py").write_text(
        "import numpy as np\nfrom robustirl import MDP\n"
        "def build(discount=0.5):\n    return MDP(np.load('world.npz')['kernel'], discount=discount)\n"
    )
    monkeypatch.syspath_prepend(world)
    inspect = "demos inspect walks.csv --env my_rooms:build"
    status, _, err = robustirl(inspect, capsys)
    assert status == 2
    assert "--allow-import" in err
    assert "my_rooms" not in sys.modules
    status, out, _ = robustirl(f"{inspect} --allow-import --env-arg discount=0.25", capsys)
    assert status == 0
    assert "γ = 0.25" in out


def test_arguments_go_to_gymnasium(world, capsys):
    pytest.importorskip("gymnasium")
    save(Demonstrations.from_arrays([[0, 4, 8]]), world / "lake.npz")
    line = "demos inspect lake.npz --env FrozenLake-v1 --env-arg is_slippery=false --env-arg map_name=8x8"
    _, out, _ = robustirl(line, capsys)
    assert "64 states" in out
    status, _, err = robustirl("demos inspect lake.npz --env FrozenLake-v1 --env-arg slippery", capsys)
    assert status == 2
    assert "is_slippery=false" in err


def test_noise_in_a_world_of_ones_own_says_what_it_does(world, capsys):
    line = f"{FIT} world.npz --demos walks.csv --noise 0.25 --out found"
    status, _, err = robustirl(line, capsys)
    assert status == 2
    assert "--noise-model" in err
    assert "any of all 3 states" in " ".join(err.split())
    _, out, _ = robustirl(f"{line} --noise-model uniform-action", capsys)
    assert "with probability 0.25 an action drawn from the available ones" in " ".join(out.split())
