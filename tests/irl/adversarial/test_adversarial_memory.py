"""What an imitation takes is counted part by part."""

from robustirl.control import PPOConfig, count_weights
from robustirl.envs import physics
from robustirl.irl import ImitationConfig
from robustirl.irl.adversarial import memory


def test_parts_of_a_fit_by_hand(monkeypatch):
    seen = []
    monkeypatch.setattr(memory, "require_training", lambda *_, **named: seen.append(named))
    monkeypatch.setattr(memory, "require_episodes", lambda *_, **__: None)
    config = ImitationConfig(steps=1000, batch=10, hidden=(7, 5), ppo=PPOConfig(environments=8, segment=16))
    world = physics.make("pendulum")
    memory.require_imitation(world, config, width=3, steps=20_000, horizon=50, fits=2)
    pairs = 2 * 32_768 * 3  # Observations before and after, padded.
    judged = 8 * 16 * (6 + 7)
    drawn = 3 * 10 * (6 + 12)
    network = 5 * count_weights(6, (7, 5), 1)
    assert seen[0]["extra"] == 4 * (pairs + judged + drawn + network)
    assert (seen[0]["steps"], seen[0]["fits"]) == (1000, 2)
    assert "batch=10, hidden=(7, 5)" in seen[0]["what"]
    assert count_weights(6, (7, 5), 1) == 6 * 7 + 7 + 7 * 5 + 5 + 5 * 1 + 1


def test_parts_of_clonings_by_hand(monkeypatch):
    seen = []
    monkeypatch.setattr(memory, "require_memory", lambda *given: seen.append(given))
    for fits in (1, 2):
        memory.require_cloning(PPOConfig(hidden=(7,)), (3, 2), rows=100, batch=10, fits=fits)
    layers = 3 * 10 * (3 + 2 + 7)
    one = 4 * (100 * 5 + layers + 5 * count_weights(3, (7,), 2))
    assert seen == [
        (one, "cloning with batch=10, hidden=(7,)", "use smaller ones"),
        (2 * one, "cloning of 2 experts with batch=10, hidden=(7,)", "use smaller ones, or fewer at a time"),
    ]
