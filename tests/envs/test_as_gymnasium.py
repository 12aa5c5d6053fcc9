"""Our worlds as Gymnasium environments: conformance, randomness, dynamics, returns."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy import stats

from robustirl import envs
from robustirl.envs import GridWorld, ThreeState
from robustirl.envs.as_gymnasium import ContinuousEnv, RobustIRLEnv, gymnasium_id, register_gymnasium
from robustirl.envs.gaussian_grid import GAUSSIAN_NOISE_MODELS, PUBLISHED_SCALES, GaussianGrid
from robustirl.envs.tables import Outcomes, TabularEnvironment
from robustirl.envs.toy_text import cliff_walking, frozen_lake
from robustirl.mdp import uniform_policy
from robustirl.planning import total_return

gymnasium = pytest.importorskip("gymnasium")
CORRIDOR = GridWorld("corridor", rewards=np.array([[0.0, -1.0, -5.0]]))  # Only left and right are available.
LAST = GridWorld("corridor", rewards=CORRIDOR.rewards, initial=np.array([[0.0, 0.0, 1.0]]))


def test_every_registered_environment_has_an_id():
    ids = register_gymnasium()
    assert len(ids) == len(envs.names())
    assert {"robustirl/GridWorld1-v0", "robustirl/ThreeState-v0"} <= set(ids) <= set(gymnasium.registry)


def walk(env, steps, seed, mask=False):
    """(state, action, reward, next state) of a random walk, reset whenever an episode ends."""
    rng = np.random.default_rng(seed)
    state, info = env.reset(seed=seed)
    path = []
    for _ in range(steps):
        chances = info["action_mask"] / info["action_mask"].sum() if mask else np.full(env.action_space.n, 1.0)
        action = rng.choice(len(chances), p=chances / chances.sum())
        following, reward, terminated, truncated, info = env.step(action)
        path.append((state, action, reward, following))
        state = following
        if terminated or truncated:
            state, info = env.reset()
    return path


def test_the_same_seed_gives_the_same_walk_and_another_does_not():
    one, again, other = (walk(RobustIRLEnv("gridworld-4", noise=0.3), 60, seed) for seed in (5, 5, 6))
    assert one == again != other


@pytest.mark.parametrize(
    ("environment", "noise", "model"),
    [("gridworld-4", 0.5, "uniform-state"), ("gridworld-4", 0.5, "published"), (cliff_walking(), 0.4, "wind")],
)
def test_steps_are_drawn_from_the_kernel_of_the_evaluation_world(environment, noise, model):
    env = RobustIRLEnv(environment, noise=noise, noise_model=model)
    world = env.environment.evaluation_mdp(noise, model)
    kernel = world.kernel.to_sparse().toarray().reshape(*world.mask.shape, -1)
    counts = np.zeros_like(kernel)
    for state, action, _, following in walk(env, 8_000, seed=0, mask=True):
        counts[state, action, following] += 1
    assert not counts[kernel == 0].any()
    expected = counts.sum(-1, keepdims=True) * kernel
    bins = (expected >= 5) & (kernel < 1)
    # Pearson's statistic. Leaving out rare outcomes and the sums' constraints only makes it smaller than it may be.
    statistic = ((counts - expected)[bins] ** 2 / expected[bins]).sum()
    assert bins.sum() > 40
    assert statistic < stats.chi2.ppf(1 - 1e-6, bins.sum())
    shifted = np.roll(expected, 1, axis=0)  # What the test would say of a wrong kernel.
    wrong = bins & (shifted > 0)
    assert ((counts - shifted)[wrong] ** 2 / shifted[wrong]).sum() > stats.chi2.ppf(1 - 1e-6, wrong.sum())


@pytest.mark.parametrize("environment", [CORRIDOR, ThreeState(), frozen_lake(lake=("SFG", "FHF"))])
def test_the_mean_return_is_the_total_return(environment):
    horizon, noise = 6, 0.3
    env = gymnasium.wrappers.TimeLimit(RobustIRLEnv(environment, noise=noise), horizon + 1)
    mdp = environment.evaluation_mdp(noise)
    exact = float(total_return(mdp, uniform_policy(mdp.mask), environment.reward, horizon=horizon))
    returns = []
    env.reset(seed=1)
    env.action_space.seed(2)
    for _ in range(800):
        _, info = env.reset()
        total, done = 0.0, False
        while not done:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
            total, done = total + reward, terminated or truncated
        returns.append(total)
    assert abs(np.mean(returns) - exact) <= 4 * np.std(returns) / np.sqrt(len(returns))
    assert abs(exact) > 0.1


def test_a_walk_along_the_cliff_returns_what_gymnasiums_own_does():
    ours, theirs = RobustIRLEnv(cliff_walking()), gymnasium.make("CliffWalking-v1")
    up, right, down = 0, 1, 2
    for actions in ([up, *[right] * 11, down], [right, up, *[right] * 3, down, up, *[right] * 11, down]):
        totals = []
        for env in (ours, theirs):
            env.reset(seed=0)
            steps = [env.step(action) for action in actions]
            totals.append(sum(step[1] for step in steps))
            assert [step[2] for step in steps] == [False] * (len(actions) - 1) + [True]
        assert totals[0] == totals[1]


def test_every_state_that_is_left_is_paid_for_and_the_goal_ends_the_episode():
    env = RobustIRLEnv(LAST)
    assert env.reset(seed=0)[0] == 2
    left = 3
    assert [env.step(left)[:4] for _ in range(2)] == [(1, -5.0, False, False), (0, -1.0, True, False)]


def test_a_state_that_keeps_but_pays_does_not_end_the_episode():
    env = RobustIRLEnv(ThreeState())
    env.reset(seed=0)
    rewards, ended = zip(*[env.step(0)[1:3] for _ in range(4)], strict=True)
    assert rewards == (0.0, 1.0, 1.0, 1.0)
    assert not any(ended)


def test_an_unavailable_action_stays_put_at_any_noise():
    env = RobustIRLEnv(CORRIDOR, noise=1.0, noise_model="uniform-state")
    state, info = env.reset(seed=4)
    assert info["action_mask"].dtype == np.int8
    for _ in range(20):
        following, reward, _, _, info = env.step(0)  # Up, off the grid.
        assert (following, reward) == (state, CORRIDOR.reward[state])
        assert info["action_mask"].tolist() == np.asarray(CORRIDOR.mdp().mask)[state].tolist()


def test_an_unavailable_action_pays_like_the_worst_available_one():
    table = Outcomes(np.zeros((1, 3, 1), dtype=int), np.array([[[1.0], [1.0], [0.0]]]))
    env = RobustIRLEnv(TabularEnvironment("toll", outcomes=table, rewards=np.array([[-2.0, -1.0, 99.0]])))
    env.reset(seed=0)
    assert [env.step(action)[1] for action in range(3)] == [-2.0, -1.0, -2.0]


def test_robustirl_imports_without_gymnasium(refused):
    program = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import robustirl.envs.tables, robustirl.envs.toy_text, robustirl.envs.gymnasium as tables\n"
        "robustirl.enable_x64()\n"
        "print(robustirl.envs.toy_text.frozen_lake().mdp(0.1).num_states)\n"
        "def worlds(): import robustirl.envs.as_gymnasium\n"
        "for attempt in (lambda: tables.from_gymnasium('Taxi-v4'), worlds):\n"
        "    try:\n        attempt()\n    except robustirl.errors.InvalidInputError as error:\n        print(error)\n"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    sentence = "this needs gymnasium, which is not installed; run `pip install 'robustirl[gymnasium]'`."
    assert output.splitlines() == ["17", sentence, sentence]


@pytest.mark.parametrize("name", [name for name in envs.names() if name != "sepsis"])
def test_gymnasiums_own_checker_is_content(name):
    check_env(gymnasium.make(gymnasium_id(name), noise=0.1).unwrapped)


@pytest.mark.filterwarnings("ignore")  # It would like spaces within ±1.
@pytest.mark.parametrize("name", ["pendulum", "cart-pole-swing-up"])
def test_the_checker_is_content_with_worlds_of_physics(name):
    check_env(ContinuousEnv(envs.physics.make(name)))


def test_an_action_that_is_none_is_refused(refused):
    env = RobustIRLEnv(CORRIDOR)
    with refused("call reset"):
        env.step(0)
    env.reset(seed=0)
    with refused("the action is 4", "0 to 3"):
        env.step(4)


@pytest.mark.parametrize("noise_model", GAUSSIAN_NOISE_MODELS)
def test_both_versions_walk_the_same_path_from_the_same_draws(noise_model):
    draws = np.random.default_rng(1).random((80, 3))
    actions = np.random.default_rng(2).normal(size=(80, 2)) * 0.4 + [0.3, -0.3]
    world = GaussianGrid(0.3, noise_model=noise_model, scales=PUBLISHED_SCALES)
    env = ContinuousEnv(world, features=False)

    def step(state, inputs):
        after = world.step(state, *inputs)
        return after, (after, world.reward(after), world.terminal(after))

    start = world.initial(key=jax.random.key(0))
    _, expected = jax.jit(lambda: jax.lax.scan(step, start, (jnp.asarray(actions), jnp.asarray(draws))))()
    first, _ = env.reset(options={"draws": draws})
    np.testing.assert_array_equal(first, start)
    for index, action in enumerate(actions):
        state, reward, terminated, truncated, _ = env.step(action)
        np.testing.assert_allclose(state, expected[0][index], rtol=0, atol=1e-14)
        np.testing.assert_allclose(float(reward), expected[1][index], rtol=1e-12)
        assert (terminated, truncated) == (bool(expected[2][index]), False)


def test_continuous_worlds_are_seeded_and_cut_off():
    env = ContinuousEnv(GaussianGrid(0.5), horizon=3)
    paths = []
    for _ in range(2):
        env.reset(seed=7)
        steps = [env.step(np.array([0.1, 0.1])) for _ in range(3)]
        paths.append([seen.tolist() for seen, *_ in steps])
        assert [truncated for *_, truncated, _ in steps] == [False, False, True]
    assert paths[0] == paths[1]
