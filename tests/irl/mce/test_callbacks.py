"""A fit in steps: the same numbers, a word after each, and clean ends."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from robustirl import envs
from robustirl.irl import PAPER_SETTINGS, Interrupted, Status, Step, fit, fit_many
from robustirl.planning import expert_policy, state_occupancy
from robustirl.rewards import LinearReward, NetworkReward

STEPS = 30


@functools.cache
def problem():
    env = envs.make("gridworld-4")
    world = env.mdp(0.1)
    return env.mdp(0.0), state_occupancy(world, expert_policy(world, env.reward))


def run(*callbacks, **options):
    world, rho = problem()
    return fit(world, rho, **{**PAPER_SETTINGS, "alpha": 0.9, "steps": STEPS, **options}, callbacks=callbacks)


@functools.cache
def whole():
    return run()


def same(first, second):
    return jax.tree.all(jax.tree.map(jnp.array_equal, first, second))


def test_callbacks_see_every_step_and_change_no_number():
    seen = []
    watched = run(seen.append)
    assert same(watched, whole())
    assert [step.step for step in seen] == list(range(STEPS + 1))
    assert np.array_equal([step.occupancy_gap for step in seen], whole().history.occupancy_gap)
    assert np.array_equal([step.dual for step in seen], whole().history.dual)
    assert same(seen[-1].reward, whole().reward)
    assert same(seen[-1].player, whole().player)
    assert jnp.array_equal(seen[0].parameters, jnp.zeros(36))
    assert "parameters" not in repr(seen[0])
    assert len(set(seen)) == STEPS + 1  # Steps are told apart as objects, not by comparing arrays.


def test_false_ends_the_fit_where_it_is():
    others = []
    stopped = run(lambda step: step.step < 7, others.append)
    assert stopped.verdict.status == Status.STOPPED
    assert int(stopped.verdict.steps) == 7
    assert [step.step for step in others] == list(range(8))  # Those asked later hear of the last step too.
    assert np.array_equal(stopped.history.occupancy_gap, whole().history.occupancy_gap[:8])
    assert same(stopped.reward, others[-1].reward)


@pytest.mark.parametrize("answer", [None, True, 0, "", np.True_])
def test_only_false_ends_a_fit(answer):
    assert run(lambda step: answer).verdict.status == Status.MAX_STEPS


def test_false_at_the_last_step_stops_nothing():
    assert run(lambda step: step.step < STEPS).verdict.status == Status.MAX_STEPS


def test_who_stops_a_fit_is_not_told_that_it_missed_the_tolerance():
    assert run(lambda step: step.step < 2, tolerance=1e-9).verdict.status == Status.STOPPED


def test_a_tolerance_ends_a_watched_fit_as_well():
    seen = []
    found = run(seen.append, tolerance=0.5)
    assert found.verdict.status == Status.CONVERGED
    assert int(found.verdict.steps) == seen[-1].step < STEPS
    assert seen[-1].occupancy_gap <= 0.5 < seen[-2].occupancy_gap


@pytest.mark.slow
def test_an_unsound_step_is_not_reported():
    seen = []
    found = run(seen.append, optimizer=optax.sgd(1e308), throw=False)
    assert found.verdict.status == Status.FAILED
    assert [step.step for step in seen] == list(range(int(found.verdict.steps) + 1))
    assert all(np.isfinite(step.occupancy_gap) for step in seen)


def test_an_interrupt_brings_the_fit_so_far():
    def interrupt(step: Step):
        if step.step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        run(interrupt)
    assert isinstance(caught.value, Interrupted)
    found = caught.value.fit
    assert found is not None
    assert found.verdict.status == Status.STOPPED
    assert np.array_equal(found.history.dual, whole().history.dual[:5])


def test_an_error_in_a_callback_is_the_callers():
    def broken(step: Step):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(broken)


def test_learning_goes_on_from_given_parameters():
    onward = run(initial_parameters=whole().parameters)
    assert float(onward.history.occupancy_gap[0]) == pytest.approx(float(whole().verdict.occupancy_gap), abs=1e-9)
    watched = run(lambda step: None, initial_parameters=np.asarray(whole().parameters))
    assert same(watched, onward)


@pytest.mark.slow
def test_a_network_goes_on_from_given_layers():
    world, rho = problem()
    features = np.random.default_rng(0).normal(size=(36, 3))
    model, other = (NetworkReward(features, key=jax.random.key(seed)) for seed in (0, 1))
    found = fit(world, rho, reward=model, steps=0, initial_parameters=other.initial_parameters())
    assert jnp.allclose(found.reward, other(other.initial_parameters()), atol=1e-12)
    assert not jnp.allclose(found.reward, model(model.initial_parameters()))


@pytest.mark.slow
def test_a_batch_starts_each_fit_where_it_is_told():
    world, rho = problem()
    starts = [jnp.zeros(36), jnp.linspace(-1.0, 0.0, 36)]
    found = fit_many([world] * 2, [rho] * 2, [0.9, 0.9], steps=0, initial_parameters=starts)
    assert [same(one.reward, start) for one, start in zip(found, starts, strict=True)] == [True, True]


@pytest.mark.parametrize(
    ("start", "culprit"),
    [
        (np.zeros(35), "the initial parameters have the shapes [(35,)], but the reward model's have [(36,)]"),
        ((np.zeros(36),), "arranged as in its initial_parameters()"),
        (np.full(36, np.nan), "array 0 of the initial parameters is not finite at entry 0: nan"),
        (np.array(["a"] * 36), "an array of the initial parameters is not a rectangular array of real numbers"),
    ],
)
def test_bad_starts_are_named(start, culprit, refused):
    world, rho = problem()
    with refused(culprit):
        fit(world, rho, initial_parameters=start)


def test_bad_batches_of_starts_are_named(refused):
    world, rho = problem()
    with refused("1 initial parameters were given for 2 fits"):
        fit_many([world] * 2, [rho] * 2, [1.0, 0.9], initial_parameters=[jnp.zeros(36)])


def test_linear_parameters_start_a_linear_reward(refused):
    world, rho = problem()
    model = LinearReward(np.eye(36)[:, :2])
    with refused("[(36,)]", "[(2,)]"):
        fit(world, rho, reward=model, initial_parameters=jnp.zeros(36))
