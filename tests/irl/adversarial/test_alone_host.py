"""What a player alone shows of an environment that steps itself."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np

from robustirl.irl.adversarial import alone


def test_what_a_player_alone_shows_of_an_environment_that_steps_itself(monkeypatch):
    agents, players = namedtuple("agents", "players scale"), namedtuple("players", "player opponent")
    episodes = [SimpleNamespace(features=np.full((length, 1, 2), float(length))) for length in (2, 3)]
    asked = {}

    def play(world, policy, **options):
        asked.update(options, world=world, policy=policy)
        return episodes

    monkeypatch.setattr(alone, "HostField", SimpleNamespace)
    monkeypatch.setattr(alone, "episodes_of", play)
    monkeypatch.setattr(alone, "folded", lambda policy, scale, units: (policy, scale, units))
    given = agents(players(np.array([5.0, 6.0]), np.array([7.0, 8.0])), np.array([9.0, 10.0]))
    setting = SimpleNamespace(field=SimpleNamespace(world="here"), units=np.array([2.0]))
    (found,) = alone.visit_alone(setting, given, ["first", "second"])
    assert found.states.tolist() == [[2.0, 2.0]] * 2 + [[3.0, 3.0]] * 3
    assert found.length == 2.5
    assert asked == {"world": "here", "policy": (5.0, 9.0, 2.0), "episodes": 16, "mean_action": False, "key": "first"}
