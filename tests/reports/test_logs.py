"""Every command numbers the states of a log as the world does, or refuses."""

import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Demonstrations, load, save
from robustirl.demonstrations.tables import TableOptions
from robustirl.errors import InvalidInputError
from robustirl.irl import RobustIRL
from robustirl.reports import read_demonstrations
from tests.commands import robustirl

CORRIDOR = np.zeros((4, 2, 4))
for cell in range(3):
    CORRIDOR[cell, 0, max(cell - 1, 0)] = CORRIDOR[cell, 1, cell + 1] = 1
CORRIDOR[3, :, 3] = 1


def house(folder, **names):
    path = folder / "house.npz"
    np.savez(path, kernel=CORRIDOR, initial=[1.0, 0.0, 0.0, 0.0], discount=0.9, **names)
    return envs.from_file(path)


def log(folder, *states, name="log.csv"):
    (folder / name).write_text("episode,state\n" + "".join(f"{e},{s}\n" for e in range(4) for s in states))
    return folder / name


COMMANDS = {
    "fit": "fit --alpha 1 --steps 3 --env house.npz --demos log.csv --out learned",
    "theory": "theory house.npz --demos log.csv",
    "inspect": "demos inspect log.csv --env house.npz",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_numbers_names_as_the_world_does(command, here, capsys):
    names = ["west", "north", "east", "attic"]
    house(here, state_names=names)
    log(here, *names)
    status, out, err = robustirl(COMMANDS[command], capsys)
    assert status in (0, 1), err
    assert "4 states by name (west = 0, north = 1, east = 2, attic = 3)" in out
    house(here)  # Without names: alphabetical order would be a guess.
    status, _, err = robustirl(COMMANDS[command].replace("learned", "other"), capsys)
    assert status == 2
    assert "holds 'west' in row 0 of log.csv" in err
    assert "but house.npz has no names for its states" in err
    (here / "names.txt").write_text("\n".join(names))
    status, out, err = robustirl(f"{COMMANDS[command].replace('learned', 'third')} --state-names names.txt", capsys)
    assert status in (0, 1), err


def test_names_and_numbers_become_the_numbers_of_the_world(tmp_path):
    world = house(tmp_path, state_names=["west", "north", "east", "attic"], action_names=["10", "20"])
    for states in (("west", "north", "attic"), (0, 1, 3)):
        found, _ = read_demonstrations(log(tmp_path, *states), TableOptions(), world)
        assert found[0].states.tolist() == [0, 1, 3]
    (tmp_path / "acts.csv").write_text("episode,state,action\n0,0,20\n0,1,\n")
    found, _ = read_demonstrations(tmp_path / "acts.csv", TableOptions(), world)
    assert found.actions is not None
    assert found.actions.tolist() == [1]


def test_what_we_saved_is_read_as_numbers(tmp_path):
    world = house(tmp_path, state_names=["3", "2", "1", "0"])
    for suffix in (".csv", ".npz", ".jsonl", ".parquet"):
        save(Demonstrations.from_arrays([[0, 1, 2]]), tmp_path / f"walks{suffix}")
        found, _ = read_demonstrations(tmp_path / f"walks{suffix}", TableOptions(), world)
        assert found.states.tolist() == [0, 1, 2]
    named = Demonstrations([0, 1], None, [2], state_names=["1", "0"])
    save(named, tmp_path / "named.csv")
    found, _ = read_demonstrations(tmp_path / "named.csv", TableOptions(), world)
    assert found.states.tolist() == [2, 3]
    with pytest.raises(InvalidInputError, match=r"names its states, as '1', but .* has no names for them"):
        read_demonstrations(tmp_path / "named.csv", TableOptions(), house(tmp_path))


def test_in_python_a_file_of_names_needs_its_names(tmp_path, refused):
    world = house(tmp_path).mdp()
    path = log(tmp_path, "s0", "s1", "s10", "s2")
    model = RobustIRL(1.0, steps=3, throw=False)
    with refused("holds 's0' in row 0", "the world has no names for its states", "state_names"):
        model.fit(world, path)
    found = load(path, state_names=["s0", "s1", "s2", "s10"])
    assert found[0].states.tolist() == [0, 1, 3, 2]
    model.fit(world, found)
