# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false, reportMissingImports=false
"""Robust imitation from observation: small fits, files, verdicts, refusals."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import PPOConfig, Segment, measure_returns, stretches, train_policy
from robustirl.demonstrations import Recordings, record
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from robustirl.irl import (
    ImitationConfig,
    Interrupted,
    RobustImitation,
    Trust,
    fit_imitation,
    fit_imitation_many,
    load_fit,
    save_fit,
)
from robustirl.irl.adversarial import alone
from robustirl.irl.adversarial.fit import _discriminator
from robustirl.irl.adversarial.result import ImitationVerdict, judge_imitation, states_gap

# The shapes of the examples in docstrings, so that both share compiled programs.
SMALL = ImitationConfig(steps=256, ppo=PPOConfig(environments=8, segment=16, hidden=(8,)))
STANDING = Recordings.from_arrays([np.tile([1.0, 0.0, 0.0], (20, 1))] * 2)
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def found():
    return fit_imitation(physics.make("pendulum"), STANDING, alpha=0.9, config=SMALL, key=KEY)


def test_a_fit_is_kept_in_a_file(found, tmp_path):
    save_fit(found, tmp_path / "fit.npz")
    again = load_fit(tmp_path / "fit.npz")
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    seen = np.array([[0.5, 0.2, 1.0]])
    np.testing.assert_allclose(again.reward(seen, seen), found.reward(seen, seen), rtol=1e-6)
    assert (again.reward.sees, again.reward.form) == ("transitions", "positive")


def test_fits_of_any_length_share_their_programs(found):
    programs = [stretches._take_compiled, stretches._begin_compiled, alone._player_states]
    before = [len(program) for program in programs]
    for steps in (3 * 128, 46 * 128):
        config = dataclasses.replace(SMALL, steps=steps)
        longer = fit_imitation(physics.make("pendulum"), STANDING, alpha=0.9, config=config, key=KEY)
        assert int(longer.verdict.updates) == steps // 128
        assert longer.history.reward.shape == (steps // 128,)
    assert [len(program) for program in programs] == before
    assert int(found.verdict.updates) == 2


def test_the_expert_s_episodes_are_as_long_as_their_mean(found):
    assert float(found.verdict.expert_length) == 19  # Steps of two episodes of 20 observations.


def test_an_estimator_is_kept_in_a_file(found, tmp_path):
    model = RobustImitation(0.9, config=SMALL, seed=3)
    model.fit_ = found
    model.save(tmp_path / "model.npz")
    again = RobustImitation.load(tmp_path / "model.npz")
    assert again.get_params() == model.get_params()
    seen = np.array([[0.5, 0.2, 1.0]])
    np.testing.assert_array_equal(again.predict(seen), model.predict(seen))
    assert float(load_fit(tmp_path / "model.npz").alpha) == pytest.approx(0.9)
    with pytest.raises(InvalidInputError, match=r"have the shape \(2,\), but 3 numbers an observation are needed"):
        again.predict([1.0, 0.0])
    save_fit(found, tmp_path / "fit.npz")
    with pytest.raises(
        InvalidInputError, match="holds no RobustImitation but kind 'imitation-fit'; read it with load_fit"
    ):
        RobustImitation.load(tmp_path / "fit.npz")


def test_the_same_seed_gives_the_same_policy_and_alpha_another(found):
    again = fit_imitation(physics.make("pendulum"), STANDING, alpha=0.9, config=SMALL, key=KEY)
    other = fit_imitation(physics.make("pendulum"), STANDING, alpha=0.5, config=SMALL, key=KEY)
    np.testing.assert_array_equal(found.player.weights[0], again.player.weights[0])
    assert not np.allclose(found.player.weights[0], other.player.weights[0])


def test_at_alpha_one_the_opponent_learns_nothing():
    fit = fit_imitation(physics.make("pendulum"), STANDING, alpha=1.0, config=SMALL, key=KEY)
    assert float(np.abs(fit.opponent.weights[-1]).max()) == 0  # As it began: its mean is zero everywhere.
    assert float(np.abs(fit.player.weights[-1]).max()) > 0
    np.testing.assert_allclose(fit.opponent.deviation, 0.6 * 2, rtol=1e-5)  # Torques reach ±2.


def test_a_learned_reward_of_other_observations_is_refused(found):
    with pytest.raises(InvalidInputError, match="the reward does not take what the world shows, 4 numbers a state"):
        train_policy(physics.make("cart-pole"), reward=found.reward, steps=256, config=SMALL.ppo, key=KEY)


@pytest.mark.slow
def test_a_learned_reward_trains_a_policy_in_another_world(found):
    trained = train_policy(
        physics.make("pendulum", mass=2.0), reward=found.reward, steps=256, config=SMALL.ppo, key=KEY
    )
    assert np.isfinite(np.asarray(trained.progress.reward)).all()
    assert (np.asarray(trained.progress.reward) > 0).all()  # The positive form.


def test_a_callback_ends_a_fit_and_ctrl_c_hands_it_over():
    fit = fit_imitation(physics.make("pendulum"), STANDING, config=SMALL, callbacks=[lambda _: False], key=KEY)
    assert fit.verdict.status.value == "stopped"
    assert int(fit.verdict.updates) == 1

    def press(_):
        raise KeyboardInterrupt

    model = RobustImitation(config=SMALL)
    with pytest.raises(Interrupted):
        model.fit(physics.make("pendulum"), STANDING, callbacks=[press])
    assert model.fit_.verdict.status.value == "stopped"


def test_verdicts_by_gap():
    def verdict(gap, own, valid=True) -> Any:
        return ImitationVerdict(*(jnp.asarray(x) for x in (False, valid, False, 1, gap, gap, own, 0.6, 9.0, 9.0, 0.0)))

    assert judge_imitation(verdict(0.1, 0.01)).trust is Trust.TRUST
    assert judge_imitation(verdict(0.3, 0.01)).trust is Trust.DOUBT
    assert judge_imitation(verdict(0.3, 0.2)).trust is Trust.TRUST  # The expert's own episodes differ as much.
    assert judge_imitation(verdict(0.9, 0.01)).trust is Trust.DO_NOT_USE
    edges = [(0.2, 0.01), (0.201, 0.01), (0.6, 0.01), (0.601, 0.01), (0.4, 0.2), (0.41, 0.2), (0.8, 0.2), (0.81, 0.2)]
    words = [judge_imitation(verdict(*map(np.float64, edge))).trust for edge in edges]
    assert words == [Trust.TRUST, Trust.DOUBT, Trust.DOUBT, Trust.DO_NOT_USE] * 2
    assert judge_imitation(verdict(0.1, np.nan)).trust is Trust.DOUBT
    assert judge_imitation(verdict(0.1, 0.01, valid=False)).trust is Trust.DO_NOT_USE


def test_the_gap_of_a_shift_is_known():
    rng = np.random.default_rng(1)
    sample = rng.normal(size=(5000, 1))
    assert states_gap(sample, sample + 3 * sample.std()) == pytest.approx(3, rel=1e-6)  # One direction: its length.


def test_bad_input_is_refused():
    world = physics.make("pendulum")
    with pytest.raises(InvalidInputError, match=r"alpha is 1.5, but a number above 0 and up to 1 is needed"):
        fit_imitation(world, STANDING, alpha=1.5, config=SMALL, key=KEY)
    with pytest.raises(
        InvalidInputError, match="the demonstrations have 1 numbers an observation, but the world shows 3"
    ):
        fit_imitation(world, Recordings.from_arrays([[[0.0], [1.0]]]), config=SMALL, key=KEY)
    with pytest.raises(InvalidInputError, match="1 worlds, 2 demonstrations, 1 alphas and 1 keys were given"):
        fit_imitation_many([world], [STANDING] * 2, config=SMALL, keys=[KEY])


@pytest.mark.slow
def test_imitation_keeps_a_heavier_pole_up():
    home, away = physics.make("cart-pole"), physics.make("cart-pole", mass=0.3)
    expert = train_policy(home, steps=300_000, key=jax.random.key(0)).policy
    seen = record(home, expert, episodes=16, key=jax.random.key(1)).without_actions()
    fits = fit_imitation_many(
        [away] * 2, [seen] * 2, [1.0, 0.95], config=ImitationConfig(steps=400_000), keys=[KEY] * 2
    )
    returns = np.asarray(measure_returns([away] * 2, [fit.player for fit in fits], episodes=8, keys=[KEY] * 2)).mean(1)
    assert (returns > 300).all()  # Of 500; a policy that does nothing keeps it up for some 40 steps.


def test_an_estimator_that_has_learned_nothing_says_so_and_parameters_are_checked():
    model = RobustImitation(0.9)
    for ask in (lambda: model.policy_, lambda: model.judgment_, lambda: model.predict([1.0, 0.0, 0.0])):
        with pytest.raises(
            InvalidInputError, match="this RobustImitation has not learned anything yet; call fit first"
        ):
            ask()
    with pytest.raises(InvalidInputError, match="there is no parameter 'speed'; choose from alpha, config, horizon"):
        model.set_params(speed=3)
    assert model.set_params(alpha=0.8).get_params()["alpha"] == 0.8


def test_rows_that_pad_the_demonstrations_are_never_drawn():
    seen = Recordings.from_arrays([np.ones((3, 2))])
    padded = _discriminator(seen, ImitationConfig(batch=64, discriminator_steps=1), 1 << 10)
    assert padded.before.shape == (1 << 10, 2)
    assert int(padded.count) == 2
    spoiled = eqx.tree_at(lambda d: d.before, padded, padded.before.at[2:].set(jnp.nan))
    steps, numbers = jnp.zeros((4, 2, 2)), jnp.zeros((4, 2))
    flags = numbers > 0
    segment = Segment(steps, steps, steps, flags, numbers, numbers, flags, flags, numbers, numbers.astype(int))
    _, rewards, report = spoiled.judge(spoiled.create(KEY), segment, KEY)
    assert np.isfinite(np.asarray(rewards)).all()
    assert np.isfinite(float(report["loss"]))
