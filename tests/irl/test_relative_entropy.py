"""Relative-entropy IRL: its gradient, one loop for both versions, recovery, and clear verdicts."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import PolicyGradientConfig, collect, evaluate, train_expert
from robustirl.control.policies import Players, initial_players, linear_policy
from robustirl.envs import GaussianGrid
from robustirl.envs.gaussian_grid import PUBLISHED_SCALES
from robustirl.errors import ConvergenceError
from robustirl.irl import (
    Interrupted,
    RelativeEntropyConfig,
    RelativeEntropyIRL,
    fit_relative_entropy,
    load_fit,
    save_fit,
)
from robustirl.irl import relative_entropy as module
from robustirl.irl.relative_entropy import (
    PAPER,
    Problem,
    RelativeEntropyFit,
    _begin,
    _improve_reward,
    expert_features,
    fit_relative_entropy_many,
    reward_gradient,
    trajectory_features,
)
from robustirl.irl.result import Status
from tests.control.worlds import Line, fast_key

LINE = Line([0.0, -1.0, -1.0, -1.0, 0.0], slip=0.1)
GAME = PolicyGradientConfig(steps=1, episodes=64, horizon=20, excess=1.0, deviations=(0.1, 0.5))
QUICK = RelativeEntropyConfig(rounds=60, game=GAME)
EXPERT = [0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0]


def leaning(mean, cells=5, deviation=0.5):
    return eqx.tree_at(
        lambda p: p.weights, linear_policy(cells, 1, deviation=deviation), (jnp.full((cells, 1), mean, dtype=float),)
    )


def demonstrations(mean=0.6, world=LINE, seed=9):
    return collect(world, leaning(mean, world.cells), episodes=500, horizon=20, key=fast_key(seed))


def fit(expert, world=LINE, alpha=1.0, config=QUICK, seed=0, **options):
    return fit_relative_entropy(world, expert, alpha=alpha, config=config, key=fast_key(seed), **options)


def test_the_gradient_is_that_of_the_log_partition():
    rng = np.random.default_rng(0)
    theta, expert, features = (jnp.asarray(rng.normal(size=shape)) for shape in (4, 4, (9, 4)))
    gradient, effective = reward_gradient(theta, expert, features)
    automatic = jax.grad(lambda t: t @ expert - jax.nn.logsumexp(features @ t))(theta)
    np.testing.assert_allclose(gradient, automatic, atol=1e-12)
    chances = np.exp(features @ theta)
    np.testing.assert_allclose(effective, chances.sum() ** 2 / (chances**2).sum())


def test_trajectory_features_by_hand():
    right = collect(Line([0.0] * 5, slip=0.0), leaning(1.0), episodes=2, horizon=6, mean_action=True, key=fast_key(0))
    mean = trajectory_features(right, "mean", 0.5)
    np.testing.assert_allclose(mean, [[0, 0, 1 / 3, 1 / 3, 1 / 3]] * 2, atol=1e-12)
    np.testing.assert_allclose(trajectory_features(right, "discounted", 0.5), [[0, 0, 0.5, 0.25, 0.125]] * 2)


def test_the_reward_is_improved_by_adam_up_the_gradient():
    rng = np.random.default_rng(0)
    features, expert = rng.normal(size=(7, 5)), rng.normal(size=5)
    config = RelativeEntropyConfig(ridge=0.3, reward_steps=3, reward_rate=0.2)
    start = initial_players(LINE)
    problem = Problem(LINE, jnp.asarray(expert), jnp.asarray(1.0), start, jnp.asarray(-1.0), config)
    theta, _, effective = _improve_reward(problem, _begin(problem), jnp.asarray(features))
    here, first, second, weights = np.zeros(5), np.zeros(5), np.zeros(5), []
    for step in range(1, 4):
        chances = np.exp(features @ here)
        chances /= chances.sum()
        weights.append(1 / (chances**2).sum())
        gradient = 0.3 * here - (expert - chances @ features)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        here = here - 0.2 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    np.testing.assert_allclose(theta, here, rtol=1e-6)  # Optax has its rates in float32.
    np.testing.assert_allclose(effective, min(weights), rtol=1e-6)


@pytest.mark.parametrize(("alpha", "mean"), [(1.0, 0.6), (0.8, -0.4)])
def test_the_mixture_matches_the_experts_features(alpha, mean):
    # Against an opponent of chance 0.2 only an expert who goes one way less than 80 % of the time can be matched.
    result = fit(demonstrations(mean), alpha=alpha)
    assert result.verdict.status == Status.MAX_STEPS
    assert result.verdict.feature_gap < 0.15  # Of 64 episodes, whose own mean features vary by some 0.1.
    assert result.history.feature_gap[0] > 2 * result.verdict.feature_gap
    assert result.history.feature_gap.shape == (60,)
    assert str(result.verdict).startswith("budget after 60 rounds")


def test_numbers_of_a_fit_are_as_before():
    config = RelativeEntropyConfig(rounds=20, game=PolicyGradientConfig(steps=1, horizon=30))
    result = fit_relative_entropy(GaussianGrid(0.1), EXPERT, alpha=0.9, config=config, key=jax.random.key(1))
    gaps = np.asarray(result.history.feature_gap)[[0, 9, 19]]
    np.testing.assert_allclose(gaps, [0.8153255917914775, 0.1873623290728082, 0.143708052459359], rtol=1e-8)
    theta = [-0.0011576302, 0.0411217060, -0.0092431669, -0.0395177217, -0.0392264436, 0.0, -1.65949748e-06]
    np.testing.assert_allclose(result.parameters, theta, rtol=1e-6)


def test_at_alpha_one_the_opponent_is_ignored_to_the_bit():
    config = dataclasses.replace(QUICK, rounds=10)
    starts = [Players(leaning(0.0), leaning(mean)) for mean in (-3.0, 3.0)]
    results = [fit(demonstrations(), start=start, config=config) for start in starts]
    for one, two in zip(*(jax.tree.leaves((r.player, r.parameters, r.history)) for r in results), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(two).tobytes()
    heard = [fit(demonstrations(), start=start, alpha=0.8, config=config) for start in starts]
    assert np.any(heard[0].parameters != heard[1].parameters)


def test_a_batch_gives_the_numbers_of_single_fits_and_the_best_attempt(monkeypatch):
    expert = expert_features(demonstrations(), LINE.discount, QUICK)
    keys, config = list(jax.random.split(jax.random.key(3), 2)), dataclasses.replace(QUICK, rounds=5)
    single = [fit_relative_entropy(LINE, expert, alpha=0.8, config=config, key=key) for key in keys]
    many = fit_relative_entropy_many([LINE] * 2, [expert] * 2, 0.8, config=config, keys=keys)
    for one, two in zip(jax.tree.leaves(many), jax.tree.leaves(single), strict=True):
        np.testing.assert_array_equal(one, two)
    made, finish = [], module._verdict_of_all
    monkeypatch.setattr(module, "_verdict_of_all", lambda *given: made.append(finish(*given)) or made[-1])
    config = dataclasses.replace(config, attempts=3)
    best = fit_relative_entropy(LINE, expert, alpha=0.8, config=config, key=keys[0])
    gaps = np.asarray(made[0].verdict.feature_gap)
    assert len(set(gaps.tolist())) == 3
    assert best.verdict.feature_gap == gaps.min()


def test_a_tolerance_ends_the_fit_and_one_out_of_reach_is_said_to_be():
    result = fit(demonstrations(), tolerance=0.1)
    assert result.verdict.status == Status.CONVERGED
    assert int(result.verdict.rounds) < 60
    assert result.history.feature_gap[-1] <= 0.1 < result.history.feature_gap[0]
    with pytest.raises(ConvergenceError, match=r"feature gap is .* after 60 rounds, above the tolerance"):
        fit(demonstrations(), tolerance=1e-9)
    assert fit(demonstrations(), tolerance=1e-9, throw=False).verdict.status == Status.MAX_STEPS


def test_features_that_are_not_numbers_end_the_fit_at_the_last_valid_round():
    world, expert = Line([0.0] * 5, broken=True), jnp.full(5, 0.2)
    with pytest.raises(ConvergenceError, match=r"round 0 .*not finite.*throw=False"):
        fit(expert, world=world)
    kept = fit(expert, world=world, throw=False)
    assert kept.verdict.status == Status.FAILED
    assert kept.history.feature_gap.shape == (1,)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((kept.player, kept.opponent, kept.parameters)))
    assert np.isinf(kept.verdict.feature_gap)


def test_weights_on_too_few_trajectories_end_the_fit():
    kept = fit(demonstrations(3.0), config=dataclasses.replace(QUICK, ridge=0.0, least_effective=40.0), throw=False)
    assert kept.verdict.status == Status.FAILED
    assert 0 < int(kept.verdict.rounds) < 60
    assert kept.verdict.effective < 40


def test_a_world_that_never_ends_and_an_opponent_too_strong_are_told():
    endless = fit(jnp.full(5, 0.1), world=Line([0.0] * 5, endless=True))
    assert endless.verdict.status == Status.MAX_STEPS
    assert "; 0% of the episodes ended before the horizon" in str(endless.verdict)
    strong = fit(demonstrations(3.0), alpha=0.05)
    assert strong.verdict.feature_gap > 5 * fit(demonstrations(3.0)).verdict.feature_gap


def test_callbacks_see_end_and_interrupt_a_fit():
    config, seen = dataclasses.replace(QUICK, rounds=25, attempts=2), []
    whole = fit(demonstrations(), config=config, callbacks=[seen.append])
    assert [(step.round, step.rounds) for step in seen] == [(10, 25), (20, 25), (25, 25)]
    assert whole.verdict.status == Status.MAX_STEPS
    assert seen[-1].feature_gap <= whole.history.feature_gap[-1]
    stopped = fit(demonstrations(), config=config, callbacks=[lambda step: step.round < 20])
    assert (stopped.verdict.status, int(stopped.verdict.rounds)) == (Status.STOPPED, 20)
    assert stopped.history.feature_gap.shape == (20,)

    def press(step):
        raise KeyboardInterrupt

    model = RelativeEntropyIRL(0.9, config=config)
    with pytest.raises(Interrupted):
        model.fit(LINE, demonstrations(), callbacks=[press])
    assert int(model.fit_.verdict.rounds) == 10


@pytest.fixture(scope="module")
def model():
    config = RelativeEntropyConfig(rounds=20, game=PolicyGradientConfig(steps=1, horizon=30))
    return RelativeEntropyIRL(0.9, config=config, seed=1).fit(GaussianGrid(), EXPERT)


def test_an_estimator_acts_and_is_saved(model, tmp_path):
    world, states = GaussianGrid(), np.array([[1.0, 1.0], [-0.5, 0.25]])
    features = np.stack([np.asarray(world.features(state)) for state in states])
    low, high = (np.asarray(bound) for bound in world.bounds)
    expected = np.clip(features @ np.asarray(model.policy_.weights[0]), low, high)
    np.testing.assert_allclose(model.predict(states), expected, rtol=1e-6)
    assert not np.array_equal(model.sample(states, seed=0), model.predict(states))
    action, state = model.as_sb3().predict(states[0], deterministic=True)
    assert np.array_equal(action, model.predict(states[0]))
    assert state is None
    assert model.score(EXPERT) <= 0
    assert "α = 0.9" in model.summary()
    model.save(tmp_path / "fit.npz")
    again = load_fit(tmp_path / "fit.npz")
    assert isinstance(again, RelativeEntropyFit)
    for one, two in zip(jax.tree.leaves(again), jax.tree.leaves(model.fit_), strict=True):
        np.testing.assert_array_equal(one, two)
    save_fit(again, tmp_path / "again.npz")


@pytest.mark.slow
def test_the_papers_own_settings_run():
    config = dataclasses.replace(PAPER, rounds=5, game=dataclasses.replace(PAPER.game, horizon=20, episodes=64))
    assert fit(demonstrations(), alpha=0.9, config=config).verdict.valid


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.0, 0.85])
def test_on_the_grid_every_episode_reaches_the_goal_under_the_largest_mismatch(alpha):
    noisiest, world = GaussianGrid(0.2, scales=PUBLISHED_SCALES), GaussianGrid(0.0, scales=PUBLISHED_SCALES)
    expert = train_expert(noisiest, key=fast_key(0)).player
    walks = collect(noisiest, expert, episodes=1000, horizon=1000, key=fast_key(1))
    result = fit_relative_entropy(world, walks, alpha=alpha, key=fast_key(2))
    measured = evaluate(world, result.player, key=fast_key(3))
    assert measured.goal_share == 1
    assert measured.mean_return > -250  # Published medians are -385 and -222, with one seed in five that never arrives.


DISCOUNTED = RelativeEntropyConfig(summary="discounted", center="none")
REFUSED = {
    "alpha is 0.0": lambda: fit([0.2] * 5, alpha=0.0),
    "alpha is nan": lambda: fit([0.2] * 5, alpha=float("nan")),
    "expert's features has shape (3,), but (5,)": lambda: fit([0.0] * 3),
    "expert's features is not finite at feature 2: nan": lambda: fit([0.2, 0.2, np.nan, 0.2, 0.2]),
    "tolerance is -1": lambda: fit([0.2] * 5, tolerance=-1.0),
    "the discount is 1.0, for which the discounted summary is zero": lambda: fit(
        [0.2] * 5, world=Line([0.0] * 5, discount=1.0), config=DISCOUNTED
    ),
    "the world is 5": lambda: fit_relative_entropy(5, [0.2], key=fast_key(0)),
    "1 worlds, 1 experts, 0 alphas and 1 keys": lambda: fit_relative_entropy_many(
        [LINE], [[0.2] * 5], [], keys=[fast_key(0)]
    ),
    "world 1 is of another kind": lambda: fit_relative_entropy_many(
        [LINE, Line([0.0] * 4)], [[0.2] * 5, [0.2] * 4], keys=[fast_key(0)] * 2
    ),
    "rounds is 0": lambda: RelativeEntropyConfig(rounds=0),
    "summary is 'sum', but one of mean, discounted": lambda: RelativeEntropyConfig(summary="sum"),
    "ridge is -1.0": lambda: RelativeEntropyConfig(ridge=-1.0),
    "center is 'expert' with the discounted": lambda: RelativeEntropyConfig(summary="discounted"),
    "game is None, but a PolicyGradientConfig": lambda: RelativeEntropyConfig(game=None),
    "the seed is -1": lambda: RelativeEntropyIRL(seed=-1).fit(LINE, [0.2] * 5),
    "has not learned anything yet": lambda: RelativeEntropyIRL().predict([0.0]),
}


@pytest.mark.parametrize("sentence", REFUSED)
@pytest.mark.usefixtures("mistyped")
def test_what_cannot_be_used_is_refused(sentence, refused):
    with refused(sentence):
        REFUSED[sentence]()
