"""Episodes of the player alone: who walks where, for how long, and what is counted."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.irl.adversarial import alone

LENGTHS = (3, 1, 4)  # Steps of three episodes, all of them over after the fourth.


@pytest.mark.parametrize(("environments", "count"), [(3, 3), (64, alone.ALONE)])
def test_players_alone_walk_from_a_start_to_the_horizon(environments, count, monkeypatch):
    asked = {}

    def walk(field, players, scale, alpha, walkers, **options):
        asked.update(options, field=field, alpha=float(alpha), walkers=walkers)
        asked["same"] = players.player is players.opponent
        over = np.zeros((4, 3), bool)
        over[np.array(LENGTHS) - 1, np.arange(3)] = True
        over[3] = True
        return "walkers", SimpleNamespace(features=players.player * jnp.ones((4, 3, 2)) + scale, over=jnp.asarray(over))

    monkeypatch.setattr(alone, "walk", walk)
    field = SimpleNamespace(take=lambda number: SimpleNamespace(initial=lambda keys: jnp.full(keys.shape, number)))
    config = SimpleNamespace(environments=environments)
    setting = SimpleNamespace(config=config, field=field, horizon=4, units="radians")
    agents = SimpleNamespace(players=SimpleNamespace(player=5.0, opponent=7.0), scale=0.5)
    monkeypatch.setattr(jax, "vmap", lambda one: lambda s, a, keys: [one(s, a, key) for key in keys])
    found = alone._walk_alone(setting, agents, jax.random.split(jax.random.key(0), 2))  # pyright: ignore
    for features, length in found:
        assert features.shape == (4, 3, 2)
        assert (features == 5.5).all()
        assert float(length) == pytest.approx(np.mean(LENGTHS))
    begun = [part.tolist() for part in jax.tree.leaves(asked["walkers"])]
    assert begun == [[count] * count, [0] * count, [0.0] * count]
    assert (asked["alpha"], asked["same"]) == (1.0, True)
    assert (asked["steps"], asked["horizon"], asked["units"]) == (4, 4, "radians")
