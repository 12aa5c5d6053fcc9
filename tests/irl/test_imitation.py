"""Robust imitation from observation: the discriminator by hand, small fits, files, and how it acts."""

import time

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import PPOConfig, measure_returns, train_policy
from robustirl.control.policies import Network, Scale, linear_policy
from robustirl.control.rollouts import Segment
from robustirl.demonstrations import Recordings, record
from robustirl.envs import from_gymnasium_vector, physics
from robustirl.errors import InvalidInputError
from robustirl.irl import ImitationConfig, Interrupted, RobustImitation, fit_imitation, load_fit, save_fit
from robustirl.irl.cloning import clone_behavior
from robustirl.irl.discriminator import Discriminator, LearnedReward, _loss, choose_reward, inputs_of
from robustirl.irl.imitation import closest, fit_imitation_many, states_gap

# The shapes of the examples in docstrings, so that both share compiled programs.
SMALL = ImitationConfig(steps=256, ppo=PPOConfig(environments=8, segment=16, hidden=(8,)))
STANDING = Recordings.from_arrays([np.tile([1.0, 0.0, 0.0], (20, 1))] * 2)
KEY = jax.random.key(0)
SCALE = Scale(jnp.array([1.0]), jnp.array([4.0]), jnp.array(5.0))


@pytest.fixture(scope="module")
def fit():
    return fit_imitation(physics.make("pendulum"), STANDING, alpha=0.9, config=SMALL, key=KEY)


def line(*weights: float, bias: float) -> Network:
    """A network without hidden layers: a line."""
    network = Network.create(len(weights), (), key=jax.random.key(0))
    parts = (jnp.array([weights]), jnp.array([bias]))
    return eqx.tree_at(lambda n: (n.layers[0].weight, n.layers[0].bias), network, parts)


def segment(seen):
    numbers = jnp.zeros(seen.shape[:2])
    flags = numbers > 0
    return Segment(seen, seen, seen, flags, numbers, numbers, flags, flags, numbers, numbers.astype(int))


def test_what_is_seen_of_a_step():
    before, after = jnp.array([[3.0], [-50.0]]), jnp.array([[-1.0], [50.0]])
    np.testing.assert_allclose(inputs_of(SCALE, "transitions", before, after), [[1, -1], [-10, 10]])
    np.testing.assert_allclose(inputs_of(SCALE, "states", before, after), [[-1], [10]])


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("logit", lambda x: x),
        ("positive", lambda x: np.log1p(np.exp(x))),
        ("negative", lambda x: -np.log1p(np.exp(-x))),
    ],
)
def test_the_three_forms_of_a_reward_in_and_out_of_programs(form, expected):
    reward = LearnedReward(line(0.5, -2.0, bias=0.25), SCALE, "transitions", form)
    logit = 0.5 * 1.0 - 2.0 * -1.0 + 0.25
    for call in (reward, jax.jit(reward.__call__)):
        np.testing.assert_allclose(call(np.array([[3.0]]), np.array([[-1.0]])), [expected(logit)], rtol=1e-6)
    deep = LearnedReward(Network.create(1, (4, 4), key=KEY), SCALE, "states", form)
    seen = np.linspace(-30, 30, 9)[:, None]
    np.testing.assert_allclose(deep(seen, seen), jax.jit(deep.__call__)(seen, seen), rtol=1e-5)


def test_the_loss_is_logistic_with_a_penalty_on_slopes():
    network = line(3.0, -4.0, bias=0.5)
    expert = jnp.array([[1.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    mixture = jnp.array([[0.0, 0.0], [0.0, 0.5], [1.0, 0.0]])
    loss, right = _loss(network, expert, mixture, (expert + mixture) / 2, 0.7)
    real, made = np.array([3.5, -7.5, 6.5]), np.array([0.5, -1.5, 3.5])
    plain = np.log1p(np.exp(-real)).mean() + np.log1p(np.exp(made)).mean()
    np.testing.assert_allclose(loss, plain + 0.7 * (5 - 1) ** 2, rtol=1e-6)  # The slope is (3, -4) everywhere.
    assert float(right) == pytest.approx((2 / 3 + 1 / 3) / 2)  # Two of the expert's steps, and one of the others.


def test_rows_that_pad_the_demonstrations_are_never_drawn():
    expert = Recordings.from_arrays([np.ones((3, 2))])
    judge = Discriminator.of(expert, ImitationConfig(batch=64, discriminator_steps=1), 20_000)
    assert (judge.before.shape, int(judge.count)) == ((1 << 15, 2), 2)
    spoiled = eqx.tree_at(lambda d: d.before, judge, judge.before.at[2:].set(jnp.nan))
    _, rewards, report = spoiled.judge(spoiled.create(KEY), segment(jnp.zeros((4, 2, 2))), KEY)
    assert np.isfinite(np.asarray(rewards)).all()
    assert np.isfinite(float(report["loss"]))


def test_the_form_of_a_reward_follows_how_the_expert_ended():
    ends = [[True, True], [True, False], [False], [True, True, False]]
    assert [choose_reward(ImitationConfig(), one).reward for one in ends] == ["logit", "positive", "positive", "logit"]
    assert choose_reward(ImitationConfig(reward="negative"), [True]).reward == "negative"


def test_the_distance_of_samples_in_one_dimension():
    first, second = np.linspace(-1, 1, 401)[:, None], np.linspace(-2, 4, 401)[:, None]
    # Quantiles are 2q - 1 and 6q - 2: the mean of |4q - 1| is 2 · ¼² + 2 · ¾² = 5/4, in deviations of the first.
    assert states_gap(first, second) == pytest.approx(1.25 / first.std(), rel=1e-3)
    still = np.zeros((5, 1))  # A deviation is at least a thousandth.
    assert states_gap(still, still + 0.002) == pytest.approx(2.0)


def test_numbers_of_a_fit_are_as_before(fit):
    np.testing.assert_allclose(fit.history.reward, [0.41303933, 0.30464092], rtol=1e-5)
    gaps = [fit.verdict.gap, fit.verdict.mixture_gap, fit.verdict.length, fit.verdict.expert_length]
    np.testing.assert_allclose(gaps, [1761.00183, 1499.90271, 200, 19], rtol=1e-5)
    other = fit_imitation(physics.make("pendulum"), STANDING, alpha=0.5, config=SMALL, key=KEY)
    assert not np.allclose(fit.player.weights[0], other.player.weights[0])


def test_at_alpha_one_the_opponent_learns_nothing():
    alone = fit_imitation(physics.make("pendulum"), STANDING, alpha=1.0, config=SMALL, key=KEY)
    assert float(np.abs(alone.opponent.weights[-1]).max()) == 0  # As it began: its mean is zero everywhere.
    assert float(np.abs(alone.player.weights[-1]).max()) > 0
    np.testing.assert_allclose(alone.opponent.deviation, 0.6 * 2, rtol=1e-5)  # Torques reach ±2.


def test_of_several_attempts_the_closest_is_returned():
    keys = list(jax.random.split(KEY, 2))
    world = physics.make("pendulum")
    fits = fit_imitation_many([world] * 2, [STANDING] * 2, 0.9, config=SMALL, keys=keys)
    best = fit_imitation(world, STANDING, alpha=0.9, config=SMALL, attempts=2, key=KEY)
    assert float(best.verdict.gap) == min(float(one.verdict.gap) for one in fits)
    spoiled = [eqx.tree_at(lambda f: f.verdict.valid, one, jnp.asarray(False)) for one in fits[:1]]
    assert closest([*spoiled, fits[1]]) is fits[1]


def test_a_fit_and_an_estimator_are_kept_in_files(fit, tmp_path):
    save_fit(fit, tmp_path / "fit.npz")
    again = load_fit(tmp_path / "fit.npz")
    for one, other in zip(jax.tree.leaves(fit), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert (again.reward.sees, again.reward.form) == ("transitions", "positive")  # pyright: ignore
    model = RobustImitation(0.9, config=SMALL, seed=3)
    model.fit_ = fit
    model.save(tmp_path / "model.npz")
    loaded = RobustImitation.load(tmp_path / "model.npz")
    assert loaded.get_params() == model.get_params()
    seen = np.array([[0.5, 0.2, 1.0]])
    np.testing.assert_array_equal(loaded.predict(seen), model.predict(seen))


def test_a_callback_ends_a_fit_and_ctrl_c_hands_it_over():
    steps = []
    options = {"config": SMALL, "key": KEY}
    ended = fit_imitation(physics.make("pendulum"), STANDING, callbacks=[steps.append, lambda _: False], **options)
    assert (ended.verdict.status.value, int(ended.verdict.updates)) == ("stopped", 1)
    assert [(step.steps, step.total) for step in steps] == [(128, 256)]

    def press(_):
        raise KeyboardInterrupt

    model = RobustImitation(config=SMALL)
    with pytest.raises(Interrupted):
        model.fit(physics.make("pendulum"), STANDING, callbacks=[press])
    assert model.fit_.verdict.status.value == "stopped"


def test_it_acts_as_the_environment_takes_it(fit):
    model = RobustImitation(config=SMALL)
    model.fit_ = eqx.tree_at(lambda f: f.player.weights, fit, tuple(50 * weight for weight in fit.player.weights))
    seen = np.random.default_rng(0).normal(size=(50, 3)) * [1, 1, 4]
    actions = model.predict(seen)
    unclipped = np.asarray(model.policy_.mean(seen))
    np.testing.assert_allclose(actions, np.clip(unclipped, -2, 2), rtol=1e-4, atol=1e-6)
    assert np.abs(unclipped).max() > 2
    space = gymnasium.make("Pendulum-v1").action_space
    assert space.contains(model.predict(seen[0]))
    action, state = model.as_sb3(seed=0).predict(seen[0])
    assert space.contains(action)
    assert state is None
    assert not np.array_equal(model.sample(seen, seed=0), actions)
    np.testing.assert_array_equal(model.sample(seen, seed=0), model.sample(seen, seed=0))
    assert "α = 0.9" in model.summary()


def test_in_worlds_of_choices_it_returns_their_numbers():
    world = from_gymnasium_vector("CartPole-v1", environments=4)
    seen = record(world, linear_policy(4, 2), episodes=2, key=KEY).without_actions()
    small = ImitationConfig(steps=64, ppo=PPOConfig(segment=16, hidden=(8,)))
    model = RobustImitation(alpha=0.9, config=small).fit(world, seen)
    assert bool(model.fit_.discrete)
    assert world.envs.single_action_space.contains(model.predict(np.zeros(4)))
    assert set(model.sample(np.zeros((50, 4)), seed=0).tolist()) == {0, 1}
    assert float(model.fit_.verdict.expert_ended) == 1


def test_a_reward_is_computed_fast(fit):
    network = Network.create(6, (64, 64), key=KEY)  # As large as by default.
    reward, seen = LearnedReward(network, fit.reward.scale, "transitions", "positive"), np.ones((1000, 3))

    def best(*given):
        times = []
        for _ in range(20):
            begun = time.perf_counter()
            reward(*given)
            times.append(time.perf_counter() - begun)
        return min(times)

    assert best(seen, seen) / 1000 < 1e-4
    assert best(seen[0], seen[0]) < 2e-4


@pytest.mark.slow
def test_imitation_keeps_a_heavier_pole_up():
    home, away = physics.make("cart-pole"), physics.make("cart-pole", mass=0.3)
    expert = train_policy(home, steps=300_000, key=jax.random.key(0)).policy
    seen = record(home, expert, episodes=16, key=jax.random.key(1)).without_actions()
    config = ImitationConfig(steps=400_000)
    fits = fit_imitation_many([away] * 2, [seen] * 2, [1.0, 0.95], config=config, keys=[KEY] * 2)
    returns = np.asarray(measure_returns([away] * 2, [fit.player for fit in fits], episodes=8, keys=[KEY] * 2)).mean(1)
    assert (returns > 300).all()  # Of 500; a policy that does nothing keeps it up for some 40 steps.


def test_clonings_of_any_length_learn():
    seen = np.linspace(-1, 1, 51)[:, None]
    recorded = Recordings.from_arrays([seen], [2 * seen[:-1]])
    policies = [clone_behavior(recorded, steps=steps, key=KEY) for steps in (300, 3, 30)]
    misses = [float(abs(policy.mean(np.array([0.5], np.float32))[0] - 1)) for policy in policies]
    assert misses[0] < misses[2] < misses[1]  # Who learns longer knows more.


WALK = np.arange(6.0).reshape(3, 2)
PENDULUM, RISE = physics.make("pendulum"), [np.zeros((9, 3))] * 2
REFUSED = {
    "alpha is 1.5": lambda: fit_imitation(PENDULUM, RISE, alpha=1.5, key=KEY),
    "alpha is 'auto'": lambda: RobustImitation("auto").fit(PENDULUM, RISE),
    "seed is -1": lambda: RobustImitation(seed=-1).fit(PENDULUM, RISE),
    "attempts is 0": lambda: RobustImitation(attempts=0).fit(PENDULUM, RISE),
    "but an ImitationConfig is needed": lambda: RobustImitation(config=PPOConfig()).fit(PENDULUM, RISE),
    "the demonstrations have 2 numbers an observation, but the world shows 3": lambda: fit_imitation(
        PENDULUM, [WALK], key=KEY
    ),
    "1 worlds, 2 demonstrations, 1 alphas and 1 keys": lambda: fit_imitation_many([PENDULUM], [RISE] * 2, keys=[KEY]),
    "callbacks is <built-in function print>": lambda: fit_imitation(PENDULUM, RISE, callbacks=print, key=KEY),
    "world 1 is of another kind": lambda: fit_imitation([PENDULUM, physics.make("cart-pole")], RISE, key=KEY),
    "the demonstrations have no actions": lambda: clone_behavior(RISE, key=KEY),
    "learning_rate is -1": lambda: clone_behavior(
        Recordings.from_arrays([WALK], [WALK[:2]]), learning_rate=-1, key=KEY
    ),
    "this RobustImitation has not learned anything yet": lambda: RobustImitation().predict([1.0, 0.0, 0.0]),
    "there is no parameter 'speed'": lambda: RobustImitation().set_params(speed=3),
    "reward is 'large', but one of auto, positive, negative, logit": lambda: ImitationConfig(reward="large"),
    "penalty is 0.0": lambda: ImitationConfig(penalty=0.0),
}


@pytest.mark.parametrize("sentence", REFUSED)
@pytest.mark.usefixtures("mistyped")
def test_what_cannot_be_used_is_refused(sentence, refused):
    with refused(sentence):
        REFUSED[sentence]()


def test_observations_of_another_world_are_refused(fit):
    model = RobustImitation()
    model.fit_ = fit
    with pytest.raises(InvalidInputError, match=r"have the shape \(2,\), but 3 numbers an observation are needed"):
        model.predict([1.0, 0.0])
    with pytest.raises(InvalidInputError, match="the reward does not take what the world shows, 4 numbers a state"):
        train_policy(physics.make("cart-pole"), reward=fit.reward, steps=256, config=SMALL.ppo, key=KEY)
