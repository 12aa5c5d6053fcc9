"""Rules, rewards and parts of Gymnasium's worlds with bodies, beside values computed by hand."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs.physics import gymnasium_models


def test_rules_of_gymnasiums_walkers():
    position = jnp.array([0.0, 1.0, 0.1, 0.3])
    healthy = lambda rule, place, value: bool(rule(position.at[place].set(value), jnp.zeros(4)))  # noqa: E731
    hopper, walker = gymnasium_models._hopper_healthy, gymnasium_models._walker_healthy
    assert [healthy(hopper, 1, height) for height in (0.7, 0.7001)] == [False, True]
    assert [healthy(hopper, 2, angle) for angle in (-0.2, -0.1999, 0.1999, 0.2)] == [False, True, True, False]
    assert [healthy(hopper, 3, joint) for joint in (-100.0, -99.9, 99.9, 100.0)] == [False, True, True, False]
    assert not bool(hopper(position, jnp.array([0.0, 0.0, 0.0, 100.0])))
    assert [healthy(walker, 1, height) for height in (0.8, 0.8001, 1.9999, 2.0)] == [False, True, True, False]
    assert [healthy(walker, 2, angle) for angle in (-1.0, -0.9999, 0.9999, 1.0)] == [False, True, True, False]
    seen = gymnasium_models._seen(position, jnp.array([-11.0, 9.0, 11.0, 0.0]))
    np.testing.assert_allclose(seen, [1.0, 0.1, 0.3, -10, 9, 10, 0])


def test_rewards_of_gymnasiums_worlds():
    before, after, speed = jnp.array([0.2, 1.0, 0.0]), jnp.array([0.5, 0.2, -0.3]), jnp.array([0.1, 2.0, -3.0])
    action = jnp.array([0.5, -1.0])
    pay = lambda rule: float(rule(before, speed, action, after, speed, 0.02))  # noqa: E731
    forward = gymnasium_models._forward
    assert pay(forward(None, 5.0, 0.1)) == pytest.approx(0.3 / 0.02 - 0.1 * 1.25)
    assert pay(forward(lambda *_: jnp.array(True), 1.5, 0.01)) == pytest.approx(15 + 1.5 - 0.0125)
    assert pay(forward(lambda *_: jnp.array(False), 1.5, 0.01)) == pytest.approx(15 - 0.0125)
    across = 0.5 + 0.6 * (np.sin(0.2) + np.sin(-0.1))
    height = 0.6 * (np.cos(0.2) + np.cos(-0.1))
    expected = 10 - 0.01 * across**2 - (height - 2) ** 2 - 1e-3 * 4 - 5e-3 * 9
    assert pay(gymnasium_models._double_reward) == pytest.approx(expected)
    low = jnp.array([0.0, np.arccos(0.7), 0.0])  # Both rods, and so a tip at 0.84.
    assert float(gymnasium_models._double_reward(low, speed, action, low, speed * 0, 0.02)) == pytest.approx(
        -0.01 * (1.2 * np.sqrt(0.51)) ** 2 - 1.16**2
    )
    seen = gymnasium_models._double_seen(after, jnp.array([-20.0, 3.0, 20.0]))
    expected = [0.5, np.sin(0.2), np.sin(-0.3), np.cos(0.2), np.cos(-0.3), -10, 3, 10]
    np.testing.assert_allclose(seen, expected)


@pytest.mark.usefixtures("mistyped")
def test_what_gymnasiums_worlds_are_made_of(monkeypatch):
    """MuJoCo may not be installed: what would be made of a model file is looked at, and nothing is simulated."""
    monkeypatch.setattr(gymnasium_models, "MujocoEquations", lambda *given, **options: (given, options))
    made: dict[str, Any] = {name: make(horizon=7) for name, make in gymnasium_models.MODELS.items()}
    files = {"walker-2d": "walker2d_v5.xml"}
    settings = {}
    for name, ((title, file), options) in made.items():
        assert (title, file.name, options["horizon"]) == (name, files.get(name, name.replace("-", "_") + ".xml"), 7)
        settings[name] = (options["frame_skip"], options.get("noise"))
    assert settings == {
        "inverted-double-pendulum": (5, 0.1),
        "inverted-pendulum": (2, 0.01),
        "hopper": (4, None),
        "half-cheetah": (5, 0.1),
        "walker-2d": (4, None),
    }
    still, action = jnp.array([0.0, 1.0, 0.1, 0.0, 0.0, 0.0]), jnp.ones(3)
    pay = lambda name, at=still: float(made[name][1]["reward"](still, still * 0, action, at, still * 0, 0.01))  # noqa: E731
    assert pay("hopper") == pytest.approx(1 - 3e-3)
    assert pay("walker-2d") == pytest.approx(1 - 3e-3)
    assert pay("half-cheetah") == pytest.approx(-0.3)
    ends = lambda name, at: bool(made[name][1]["terminal"](at, still * 0))  # noqa: E731
    for name in ("hopper", "walker-2d"):
        assert [ends(name, still), ends(name, still * 0.5)] == [False, True]
    assert [ends("inverted-double-pendulum", jnp.array([0, x, 0])) for x in (0.58, 0.59)] == [False, True]
    tilted = [jnp.array([0.0, tilt]) for tilt in (-0.2001, -0.1999, 0.1999, 0.2001, np.nan)]
    assert [ends("inverted-pendulum", at) for at in tilted] == [True, False, False, True, True]
    assert [pay("inverted-pendulum", at) for at in tilted] == [0, 1, 1, 0, 0]
    np.testing.assert_array_equal(
        made["half-cheetah"][1]["observe"](still, jnp.array([20.0])), [1.0, np.float64(0.1), 0, 0, 0, 20]
    )
