"""Proximal policy optimization: hand-computed advantages, segments that begin anew, and who learns from what."""

import inspect
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import single_precision
from robustirl.control import Evaluation, PPOConfig, measure_returns, network_policy, ppo_training, train_policy
from robustirl.control.interface import action_units
from robustirl.control.networks import Scale
from robustirl.control.policies import GaussianPolicy
from robustirl.control.policy_gradient import Players
from robustirl.control.ppo import _advantages, as_field, create, folded, improve
from robustirl.control.ppo_training import _require_fitting, train_policies, training_setting
from robustirl.control.segments import Field, Segment, Walkers, start, walk
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from tests.control.worlds import Line

SMALL = PPOConfig(environments=8, segment=16, hidden=(8,))  # The shapes of the examples in docstrings.


def _segment(**changes) -> Segment:
    """Return three steps of one episode, of which the second ends."""
    column = lambda *values: jnp.array(values)[:, None]  # noqa: E731
    fields = {
        "features": jnp.zeros((3, 1, 1)),
        "next_features": jnp.zeros((3, 1, 1)),
        "actions": jnp.zeros((3, 1, 1)),
        "by_player": column(True, True, True),
        "log_densities": jnp.zeros((3, 1)),
        "paid": column(1.0, 2.0, 4.0),
        "terminated": column(False, True, False),
        "over": column(False, True, False),
        "returns": column(np.nan, 3.0, np.nan),
        "lengths": column(0, 2, 0),
    }
    return Segment(**(fields | changes))


def test_advantages_by_hand():
    values, after = jnp.array([[1.0], [2.0], [3.0]]), jnp.array([[2.0], [10.0], [5.0]])
    found = _advantages(_segment().paid, values, after, _segment(), jnp.array(0.5), 0.5)
    # δ = (1 + ½·2 - 1, 2 + 0 - 2, 4 + ½·5 - 3); the sum of the second stops at the end of its episode.
    np.testing.assert_allclose(found[:, 0], [1.0 + 0.25 * 0.0, 0.0, 3.5])
    cut = _segment(terminated=jnp.zeros((3, 1), bool))  # Cut off at the horizon: the critic says what would follow.
    np.testing.assert_allclose(_advantages(cut.paid, values, after, cut, jnp.array(0.5), 0.5)[:, 0], [2.25, 5.0, 3.5])


def test_the_opponent_learns_from_its_own_steps_alone():
    config = PPOConfig(environments=8, segment=16, hidden=(4,), epochs=1, minibatches=1)
    with single_precision():
        agents = create(config, 1, 1, jax.random.key(0))
        rng = np.random.default_rng(0)
        actions = jnp.asarray(rng.normal(size=(16, 8, 1)), dtype=jnp.float32)
        densities = agents.players.player.log_density(jnp.zeros((16, 8, 1)), actions)
        shape = (16, 8)
        both = Segment(
            features=jnp.zeros((*shape, 1)),
            next_features=jnp.zeros((*shape, 1)),
            actions=actions,
            by_player=jnp.ones(shape, bool),
            log_densities=densities,
            paid=actions[..., 0],
            terminated=jnp.ones(shape, bool),
            over=jnp.ones(shape, bool),
            returns=actions[..., 0],
            lengths=jnp.ones(shape, int),
        )
        step = eqx.filter_jit(
            lambda segment: improve(agents, segment, segment.paid, jnp.array(0.9), config, 1, jax.random.key(1))
        )
        alone, other = step(both), step(eqx.tree_at(lambda s: s.by_player, both, ~both.by_player))
    same = jax.tree.map(lambda a, b: bool((a == b).all()), alone.players, agents.players)
    assert all(jax.tree.leaves(same.opponent))
    assert not all(jax.tree.leaves(same.player))

    # What pays more, the player does more often, and the opponent less.
    def rise(new, old):
        at = jnp.zeros((16, 8, 1))
        change = new.log_density(at, actions) - old.log_density(at, actions)
        return float(change.ravel() @ actions.ravel())

    assert rise(alone.players.player, agents.players.player) > 0
    assert rise(other.players.opponent, agents.players.opponent) < 0


def test_episodes_that_end_begin_anew():
    with single_precision():
        world = physics.make("cart-pole")
        field = Field(world, each=False)
        policy = network_policy(4, 1, hidden=(4,), key=jax.random.key(0))
        walkers = start(field, 6, 1000, jax.random.key(1))
        onwards, segment = eqx.filter_jit(walk)(
            field,
            Players(policy, policy),
            Scale.empty(4),
            jnp.array(0.5),
            walkers,
            steps=60,
            horizon=1000,
            key=jax.random.key(2),
        )
    over = np.asarray(segment.over)
    assert over.any()
    assert (over == np.asarray(segment.terminated)).all()  # Nothing was cut off.
    assert np.isnan(np.asarray(segment.returns)[~over]).all()
    ages = np.asarray(walkers.ages)
    for column in range(6):
        ends = np.flatnonzero(over[:, column])
        if len(ends):
            first = ends[0] + 1
            assert np.asarray(segment.lengths)[ends[0], column] == first + ages[column]
            assert np.asarray(segment.returns)[ends[0], column] == first  # One a step since the segment began.
    assert 0.3 < np.asarray(segment.by_player).mean() < 0.7
    assert np.abs(np.asarray(onwards.states)[:, 2]).max() < 0.3


def test_several_worlds_are_spread_over_the_environments():
    worlds = [physics.make("pendulum", mass=mass) for mass in (1.0, 2.0, 3.0)]
    field = as_field(worlds, 7)
    np.testing.assert_allclose(field.world.parameters["mass"], [1, 2, 3, 1, 2, 3, 1])


def test_what_a_training_is_put_together_from():
    class Endless(Line):
        horizon = 37

    given, line = [0.0, -1.0, 5.0], Line([0.0, -1.0, 5.0], discount=0.7)
    with single_precision():
        settings = [
            training_setting(line, 0.9, 128 * 45, SMALL, None),
            training_setting(Endless(given), 0.9, 128, SMALL, None),
            training_setting(line, 0.9, 128, SMALL, 50),
        ]
    assert [setting.horizon for setting in settings] == [200, 37, 50]
    assert settings[0].units is None  # Its actions lie within ±1.
    assert [setting.updates for setting in settings] == [46, 1, 1]  # Stretches of two.
    np.testing.assert_allclose([float(settings[0].alpha), float(settings[0].discount)], [0.9, 0.7], rtol=1e-6)
    with pytest.raises(InvalidInputError, match="the horizon is 0"), single_precision():
        training_setting(line, 0.9, 128, SMALL, 0)
    with pytest.raises(InvalidInputError, match="1 worlds and 2 keys were given, but one key a world is needed"):
        train_policies([line], keys=[jax.random.key(0)] * 2)
    with pytest.raises(InvalidInputError, match="0 worlds and 0 keys"):
        train_policies([], keys=[])


class Echo(eqx.Module):
    """The state is the last action."""

    draw_size = 1

    def initial(self, *, key):
        del key
        return jnp.zeros(2)

    def step(self, state, action, draws):
        del state, draws
        return action

    def terminal(self, state):
        del state
        return jnp.zeros((), bool)

    def features(self, state):
        return state


def test_policies_act_in_units_of_the_largest_action():
    with single_precision():
        policy = GaussianPolicy((jnp.eye(2), jnp.ones((2, 2))), (jnp.ones(2),), jnp.log(jnp.array([0.5, 0.6])))
        walkers, units = Walkers(jnp.zeros((3, 2)), jnp.zeros(3, int), jnp.zeros(3)), jnp.array([2.0, 3.0])
        field, scale, key = Field(Echo(), each=False), Scale.empty(2), jax.random.key(0)
        players, alone = Players(policy, policy), jnp.ones(())
        _, taken = walk(field, players, scale, alone, walkers, steps=1, horizon=9, units=units, key=key)
        np.testing.assert_allclose(taken.next_features, taken.actions * units, rtol=1e-6)
        np.testing.assert_allclose(taken.log_densities, policy.log_density(taken.features, taken.actions), rtol=1e-5)
        whole, seen = folded(policy, scale, units), jnp.array([0.3, -0.2])
        np.testing.assert_allclose(whole.mean(seen), policy.mean(seen) * units, rtol=1e-6)
        np.testing.assert_allclose(whole.deviation, [1.0, 1.8], rtol=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "units"),
    [
        ([-1, -1], [1, 1], None),
        ([-2, -0.4], [0.5, 0.4], [2, 0.4]),
        ([-np.inf, 0], [np.inf, 0], None),  # Without bounds, and without a choice.
        ([0, -np.inf], [5, 7], [5, 1]),
    ],
)
def test_units_are_the_largest_actions(low, high, units):
    found = action_units(SimpleNamespace(bounds=(np.array(low), np.array(high))))
    assert (found if found is None else found.tolist()) == units


def test_episodes_begin_at_ages_spread_over_half_of_the_horizon():
    with single_precision():
        field = Field(Line([0.0, -1.0, 5.0]), each=False)
        walkers = start(field, 4, 11, jax.random.key(0))
    assert walkers.ages.tolist() == [0, 1, 2, 3]  # 5 · n // 4.
    np.testing.assert_array_equal(walkers.states, [[1.0]] * 4)
    assert not walkers.totals.any()


@pytest.mark.parametrize("mean", [True, False])
def test_a_policy_is_measured_as_asked_and_by_the_first_episode_of_each_column(monkeypatch, mean):
    asked = {}

    def walk(field, players, scale, alpha, walkers, **options):
        asked.update(options, alpha=float(alpha), walkers=walkers, same=players.player is players.opponent)
        over = jnp.array([[False, True], [True, False], [True, True]])
        numbers = jnp.arange(6).reshape(3, 2)
        return walkers, SimpleNamespace(over=over, returns=10 * numbers, lengths=numbers + 1)

    monkeypatch.setattr(ppo_training, "walk", walk)
    field = SimpleNamespace(initial=lambda keys: jnp.zeros((len(keys), 1)))
    policy = SimpleNamespace(weights=[np.zeros((4, 1))])
    returns, lengths = ppo_training._measure(field, policy, jax.random.key(0), 2, 3, mean)  # pyright: ignore
    assert (returns.tolist(), lengths.tolist()) == ([20, 10], [3, 2])
    assert (asked["mean_action"], asked["same"], asked["alpha"]) == (mean, True, 1.0)
    assert (asked["steps"], asked["horizon"]) == (3, 3)
    assert [part.tolist() for part in jax.tree.leaves(asked["walkers"])] == [[[0.0]] * 2, [0, 0], [0.0, 0.0]]


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(InvalidInputError, match="minibatches is 7, which does not divide"):
        PPOConfig(minibatches=7)
    with pytest.raises(InvalidInputError, match="the world is a dict"):
        inspect.unwrap(train_policies)([{}], keys=[jax.random.key(0)])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInputError, match="steps is 5"):
        train_policy(physics.make("pendulum"), steps=5, key=jax.random.key(0))


@pytest.mark.parametrize(
    ("within", "beyond", "words"),
    [
        *(({name: 1}, {name: 0}, f"{name} is 0") for name in ("environments", "segment", "epochs")),
        ({"minibatches": 1}, {"minibatches": 0}, "minibatches is 0"),
        *(
            ({name: 1e-9}, {name: 0.0}, f"{name} is 0.0")
            for name in ("learning_rate", "final_rate", "opponent_rate", "clip", "gradient_norm", "deviation")
        ),
        ({"gae_decay": 0}, {"gae_decay": -1e-9}, "gae_decay is -1e-09"),
        ({"gae_decay": 1}, {"gae_decay": 1.001}, "gae_decay is 1.001"),
        ({"entropy": 0}, {"entropy": -1e-9}, "entropy is -1e-09"),
        ({"entropy": 1e9}, {"entropy": float("inf")}, "entropy is inf"),
        ({"deviations": (0.3, 0.3)}, {"deviations": (0.3, 0.2)}, r"deviations is \(0.3, 0.2\), but a smallest and a l"),
        ({"deviations": (1e-9, 1)}, {"deviations": (0.0, 1)}, "a limit of the deviations is 0.0"),
        ({"deviations": (0.1, 0.2)}, {"deviations": (0.1, 0.2, 0.3)}, "a smallest and a largest one are needed"),
        ({"hidden": (1,)}, {"hidden": (8, 0)}, "the width of a hidden layer is 0"),
        ({"environments": 3, "segment": 4, "minibatches": 6}, {"environments": 3, "segment": 3}, "the 9 steps"),
    ],
)
def test_settings_at_their_limits_are_accepted_and_beyond_them_refused(within, beyond, words):
    divisible = {"environments": 4, "segment": 4, "minibatches": 4}
    if within.keys() & divisible.keys():
        divisible["minibatches"] = 1 if len(within) == 1 else 4
    made = PPOConfig(**divisible | within)
    assert {name: getattr(made, name) for name in within} == within
    with pytest.raises(InvalidInputError, match=words):
        PPOConfig(**divisible | {"minibatches": 4} | beyond)


@pytest.mark.slow
def test_ppo_swings_a_pole_up():
    world = physics.make("cart-pole-swing-up")
    found = train_policy(world, steps=600_000, key=jax.random.key(0))
    returns = np.asarray(measure_returns([world], [found.policy], episodes=16, keys=[jax.random.key(1)]))
    assert returns.mean() > 165  # Of 250; hanging pays 0, and the way up takes time.


def test_a_reward_that_does_not_fit_what_a_world_shows_is_refused():
    line = Line([0.0, -1.0, 5.0])  # It shows three numbers.
    _require_fitting(lambda now, after: (now @ jnp.ones(3)) + after[..., 0], line)
    parts = ("discount", "action_size", "environments", "horizon", "reset", "advance")
    for world in (line, SimpleNamespace(width=3, **dict.fromkeys(parts, len))):  # The second steps itself.
        with pytest.raises(InvalidInputError, match="does not take what the world shows, 3 numbers a state"):
            _require_fitting(lambda now, after: now @ jnp.ones(2) + after[..., 0], world)


def test_a_training_is_reported_stretch_by_stretch(monkeypatch):
    monkeypatch.setattr(ppo_training, "take_batch", lambda _s, _j, run, count: (run + count, np.full((1, count), run)))
    setting, told = SimpleNamespace(config=SimpleNamespace(batch=10)), []
    end, logs = ppo_training.take_in_stretches(setting, None, 0, 46, lambda *report: told.append(report))  # pyright: ignore
    assert end == 46
    assert told == [(10 * taken, 460) for taken in range(2, 47, 2)]  # Two updates each.
    np.testing.assert_array_equal(logs, [np.repeat(np.arange(0, 46, 2), 2)])
    told.clear()
    total = ppo_training.in_stretches(610)
    assert total == 630
    end, _ = ppo_training.take_in_stretches(setting, None, 0, total, lambda *report: told.append(report))  # pyright: ignore
    assert end == 630  # No update more than was said: 30 each, not 31.
    assert told[-1] == (6300, 6300)


def test_copies_of_a_world():
    field = Field({"mass": np.array([1.0, 2.0, 3.0])}, each=True)
    assert field.take(2).world["mass"].tolist() == [1, 2]
    assert field.take(2).each
    alike = Field({"mass": np.array([1.0])}, each=False)
    assert alike.take(2) is alike
    assert alike.paid(jnp.ones((2, 5))).tolist() == [0, 0]  # A world without a reward.


def test_the_median_and_the_mean_of_returns():
    found = Evaluation(jnp.array([[1.0, 2.0, 9.0], [0.0, 4.0, 2.0]]), jnp.ones((2, 3), bool), jnp.ones((2, 3), int))
    assert found.median_return.tolist() == [2, 2]
    assert found.mean_return.tolist() == [4, 2]
