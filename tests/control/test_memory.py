"""What sampling and training take: refused by one sentence before anything is made, wherever a size is taken."""

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import control, demonstrations, envs, irl, planning, rewards
from robustirl._runtime import memory as runtime_memory
from robustirl._runtime import single_precision
from robustirl.control import PolicyGradientConfig, PPOConfig, memory
from robustirl.demonstrations import Recordings
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from robustirl.irl import ImitationConfig, RelativeEntropyConfig
from robustirl.mdp import MDP

KEY = jax.random.key(0)
BILLION, MILLIONS = 10**9, 10**7
GIBIBYTE = 2**30
PENDULUM = physics.make("pendulum")
STANDING = Recordings.from_arrays([np.tile([1.0, 0.0, 0.0], (20, 1))] * 2, [np.zeros((19, 1))] * 2)
GRID, LINEAR = envs.GaussianGrid(), control.linear_policy(7, 2)
POLICY = control.network_policy(3, 1, hidden=(4,), key=KEY)
SMALL = PPOConfig(environments=8, segment=16, hidden=(8,))


class Hosted:
    """Environments that step themselves, none of which is ever stepped."""

    discount, action_size, width, environments, horizon = 0.9, 1, 3, 2, 5

    def reset(self):
        raise AssertionError("nothing was to be begun")

    def advance(self, actions):
        raise AssertionError("nothing was to be done")


def imitate(world=PENDULUM, attempts=1, horizon=None, **settings):
    config = ImitationConfig(**{"ppo": SMALL, "steps": BILLION} | settings)
    return irl.fit_imitation(world, STANDING, config=config, attempts=attempts, horizon=horizon, key=KEY)


def train(worlds=(PENDULUM,), **settings):
    return control.train_policies(list(worlds), steps=BILLION, config=PPOConfig(**settings), keys=[KEY] * len(worlds))


def learn(rounds=1, attempts=1, **game):
    config = RelativeEntropyConfig(rounds=rounds, attempts=attempts, game=PolicyGradientConfig(**game))
    return irl.fit_relative_entropy(GRID, np.zeros(7), config=config, key=KEY)


def solve(**settings):
    return control.solve_game(GRID, config=PolicyGradientConfig(**settings), key=KEY)


TOO_LARGE = {
    "environments": (lambda: train(environments=MILLIONS), "environments=10000000, segment=64"),
    "segment": (lambda: train(segment=MILLIONS), "environments=64, segment=10000000"),
    "both": (lambda: train(environments=BILLION // 64, segment=BILLION // 64), "a training with environments=15625000"),
    "layers": (lambda: train(hidden=(BILLION, BILLION)), "hidden=(1000000000, 1000000000)"),
    "one layer": (lambda: train(hidden=(BILLION,)), "hidden=(1000000000,)"),
    "many trainings": (lambda: train([PENDULUM] * 200, environments=2**17), "200 trainings with environments=131072"),
    "many worlds": (lambda: train([[PENDULUM] * 3], environments=MILLIONS), "environments=10000000"),
    "steps": (lambda: train(environments=1, segment=1, minibatches=1, hidden=(1,)), "environments=1, segment=1"),
    "imitation, environments": (
        lambda: imitate(ppo=PPOConfig(environments=MILLIONS)),
        "environments=10000000, segment=64, hidden=(64, 64) and a discriminator with batch=512",
    ),
    "imitation, batch": (lambda: imitate(batch=BILLION), "a discriminator with batch=1000000000"),
    "imitation, layers": (lambda: imitate(hidden=(BILLION,) * 2), "batch=512, hidden=(1000000000, 1000000000)"),
    "imitation, attempts": (lambda: imitate(attempts=BILLION), "attempts=1000000000"),
    "imitation, many attempts": (lambda: imitate(attempts=20_000), "20000 trainings with environments=8"),
    "imitation, horizon": (lambda: imitate(horizon=BILLION), "sampling 8 episodes of 1000000000 steps"),
    "imitation, hosted": (
        lambda: imitate(Hosted(), ppo=PPOConfig(segment=BILLION)),
        "environments=2, segment=1000000000",
    ),
    "training, hosted": (lambda: train([Hosted()], segment=BILLION), "environments=2, segment=1000000000"),
    "cloning, batch": (lambda: irl.clone_behavior(STANDING, batch=BILLION, key=KEY), "cloning with batch=1000000000"),
    "cloning, layers": (
        lambda: irl.clone_behavior(STANDING, config=PPOConfig(hidden=(BILLION,)), key=KEY),
        "cloning with batch=256, hidden=(1000000000,)",
    ),
    "policy": (
        lambda: control.network_policy(3, 1, hidden=(BILLION, 2), key=KEY),
        "a policy with layers of (3, 1000000000, 2, 1) numbers",
    ),
    "linear policy": (
        lambda: control.linear_policy(BILLION, 1000),
        "a policy with layers of (1000000000, 1000) numbers",
    ),
    "collect, episodes": (
        lambda: control.collect(GRID, LINEAR, episodes=BILLION, key=KEY),
        "sampling 1000000000 episodes of 200 steps",
    ),
    "collect, horizon": (
        lambda: control.collect(GRID, LINEAR, horizon=BILLION, key=KEY),
        "sampling 128 episodes of 1000000000 steps",
    ),
    "evaluate": (lambda: control.evaluate(GRID, LINEAR, episodes=BILLION, key=KEY), "sampling 1000000000 episodes"),
    "measure": (
        lambda: control.measure_returns([PENDULUM] * 2, [POLICY] * 2, episodes=BILLION, keys=[KEY] * 2),
        "sampling 1000000000 episodes of 200 steps, 2 times",
    ),
    "measure, hosted": (
        lambda: control.measure_returns([Hosted()], [POLICY], episodes=BILLION, keys=[KEY]),
        "sampling 1000000000 episodes needs",
    ),
    "record": (
        lambda: demonstrations.record(PENDULUM, POLICY, episodes=BILLION, key=KEY),
        "sampling 1000000000 episodes",
    ),
    "record, hosted": (
        lambda: demonstrations.record(Hosted(), POLICY, episodes=BILLION, key=KEY),
        "sampling 1000000000 episodes needs",
    ),
    "game, episodes": (lambda: solve(episodes=BILLION), "sampling 1000000000 episodes"),
    "game, horizon": (lambda: solve(horizon=BILLION), "sampling 128 episodes of 1000000000 steps"),
    "game, steps": (lambda: solve(steps=BILLION), "a history of 1000000000 steps"),
    "expert, steps": (
        lambda: control.train_expert(GRID, config=PolicyGradientConfig(steps=BILLION), key=KEY),
        "a history of 1000000000 steps",
    ),
    "expert, attempts": (
        lambda: control.train_expert(GRID, attempts=BILLION, key=KEY),
        "a history of 1000000000 attempts",
    ),
    "relative entropy, rounds": (lambda: learn(rounds=BILLION), "a history of 1000000000 rounds"),
    "relative entropy, attempts": (lambda: learn(attempts=BILLION), "a history of 1000000000 attempts"),
    "relative entropy, steps": (lambda: learn(steps=BILLION), "a history of 1000000000 steps"),
    "relative entropy, episodes": (lambda: learn(episodes=BILLION), "sampling 1000000000 episodes"),
    "reward, width": (
        lambda: rewards.NetworkReward(np.eye(3), width=BILLION, key=KEY),
        "a reward network with width=1000000000, depth=2",
    ),
    "reward, depth": (
        lambda: rewards.NetworkReward(np.eye(3), depth=BILLION, key=KEY),
        "a reward network with width=3, depth=1000000000",
    ),
    "convolutional, width": (
        lambda: rewards.ConvolutionalReward(np.eye(4), (2, 2), width=BILLION, key=KEY),
        "a reward network with width=1000000000",
    ),
    "convolutional, kernel": (
        lambda: rewards.ConvolutionalReward(np.eye(4), (2, 2), kernel_size=BILLION - 1, key=KEY),
        "a reward network with width=4, depth=2",
    ),
    "repetitions": (
        lambda: planning.sampled_total_return(
            MDP(np.ones((2, 1, 2)) / 2, discount=0.9), np.ones((2, 1)), np.ones(2), repetitions=BILLION, key=KEY
        ),
        "1000000000 repetitions from each of 2 states",
    ),
    "Gymnasium": (lambda: envs.from_gymnasium_vector("CartPole-v1", environments=BILLION), "environments=1000000000"),
}


@pytest.mark.parametrize(("request_made", "culprit"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
@pytest.mark.usefixtures("mistyped")
def test_what_does_not_fit_is_refused_before_anything_is_made(request_made, culprit, refused, monkeypatch):
    monkeypatch.setattr(runtime_memory, "available_bytes", lambda: 4 * GIBIBYTE)
    tracemalloc.start()
    try:
        with refused(culprit, "GiB of memory, but 4.0 GiB are available; "):
            request_made()
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_the_usual_sizes_fit_into_little_memory(monkeypatch):
    monkeypatch.setattr(runtime_memory, "available_bytes", lambda: 2**25)
    memory.require_training(PENDULUM, PPOConfig(), steps=600_000)
    memory.require_episodes(GRID, 128, 300)
    memory.require_network(17, (256, 256), 6)
    memory.require_history("steps", 400, 3)


def test_weights_are_counted_as_networks_have_them():
    policy = control.network_policy(3, 2, hidden=(4, 5), key=KEY)
    own = sum(leaf.size for leaf in jax.tree.leaves(policy))
    # The mean of a policy has no bias, and its deviations are as many.
    assert memory.count_weights(3, (4, 5), 2) == own
    network = control.Network.create(3, (4, 5), key=KEY)
    assert memory.count_weights(3, (4, 5), 1) == sum(leaf.size for leaf in jax.tree.leaves(network))


def test_no_more_is_asked_for_than_a_training_holds(monkeypatch):
    """What is estimated is less than what the arrays of a segment, its steps in order and the networks take."""
    asked = []
    monkeypatch.setattr(memory, "require_memory", lambda needed, *_: asked.append(needed))
    config = PPOConfig(environments=256, segment=64, hidden=(64, 64))
    memory.require_training(PENDULUM, config, steps=config.batch)
    with single_precision():
        setting = control.training_setting(PENDULUM, 1.0, config.batch, config, None)
        (setting,) = control.stacked([setting])
        run = control.begin_batch(setting, (), jnp.stack([KEY]))
        held = sum(leaf.nbytes for leaf in jax.tree.leaves((run.agents, run.recent)))
    # A segment has twice as many features as `recent`, actions, and nine numbers a step.
    segment = 4 * config.batch * (2 * 3 + 1 + 7)
    assert held + segment < asked[0] < 20 * (held + segment)


def test_episodes_of_which_little_is_kept_are_not_refused_for_the_rest(monkeypatch):
    """Measured: ten million steps of a double pendulum took 60 MB, not the 1.4 GB of their states and actions."""
    monkeypatch.setattr(runtime_memory, "available_bytes", lambda: 2**24)
    returns = control.measure_returns([PENDULUM], [POLICY], episodes=2000, horizon=200, keys=[KEY])
    assert returns.shape == (1, 2000)
    with pytest.raises(InvalidInputError, match="sampling 2000 episodes of 200 steps needs about"):
        control.collect(PENDULUM, POLICY, episodes=2000, horizon=200, key=KEY)
    config = ImitationConfig(ppo=SMALL, steps=SMALL.batch)
    irl.require_imitation(PENDULUM, config, width=3, steps=20, horizon=40_000, fits=1)
