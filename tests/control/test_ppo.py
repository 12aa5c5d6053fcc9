"""Proximal policy optimization: hand-computed advantages, segments that begin anew, and who learns from what."""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import single_precision
from robustirl.control import Evaluation, PPOConfig, ppo_training
from robustirl.control.interface import action_units
from robustirl.control.ppo import _advantages, create, improve
from robustirl.control.segments import Segment
from robustirl.errors import InvalidInputError


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
            lambda segment: improve(
                agents, segment, segment.paid, jnp.array(0.9), config, jnp.ones((), int), jax.random.key(1)
            )
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


def test_the_median_and_the_mean_of_returns():
    found = Evaluation(jnp.array([[1.0, 2.0, 9.0], [0.0, 4.0, 2.0]]), jnp.ones((2, 3), bool), jnp.ones((2, 3), int))
    assert found.median_return.tolist() == [2, 2]
    assert found.mean_return.tolist() == [4, 2]
