"""Our worlds as Gymnasium environments: conformance, randomness, dynamics, returns, pictures."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from robustirl import envs
from robustirl.envs import GridWorld, ThreeState
from robustirl.envs.tabular import Outcomes, TabularEnvironment
from robustirl.envs.toy_text import cliff_walking, frozen_lake, taxi
from robustirl.mdp import uniform_policy
from robustirl.planning import total_return

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from robustirl.envs.gymnasium.worlds import RobustIRLEnv, gymnasium_id, register_gymnasium  # noqa: E402

TOY_TEXT = {"frozen-lake": frozen_lake, "cliff-walking": cliff_walking, "taxi": taxi}
CORRIDOR = GridWorld("corridor", rewards=np.array([[0.0, -1.0, -5.0]]))  # Only left and right are available.
LAST = GridWorld("corridor", rewards=CORRIDOR.rewards, initial=np.array([[0.0, 0.0, 1.0]]))


def everything():
    registered = [(name, model) for name in envs.names() for model in envs.make(name).noise_models]
    others = {name: make for name, make in TOY_TEXT.items() if name not in envs.names()}
    return registered + [(name, model) for name, make in others.items() for model in make().noise_models]


@pytest.mark.parametrize(("name", "model"), everything())
def test_gymnasiums_own_checker_is_content(name, model):
    # Warnings are errors here, so content it must be.
    if name not in envs.names():
        env = gymnasium.make("robustirl/GridWorld1-v0", environment=TOY_TEXT[name](), noise=0.1, noise_model=model)
    else:
        env = gymnasium.make(gymnasium_id(name), noise=0.1, noise_model=model)
    check_env(env.unwrapped)


def test_every_registered_environment_has_an_id():
    ids = register_gymnasium()
    assert len(ids) == len(envs.names())
    assert {"robustirl/GridWorld1-v0", "robustirl/ThreeState-v0"} <= set(ids) <= set(gymnasium.registry)


def test_an_environment_of_ones_own_gets_an_id():
    envs.register("my-corridor", lambda: CORRIDOR)
    try:
        assert "robustirl/MyCorridor-v0" in register_gymnasium()
        assert gymnasium.make("robustirl/MyCorridor-v0").observation_space.n == 3
    finally:
        envs.unregister("my-corridor")
        gymnasium.registry.pop("robustirl/MyCorridor-v0")


def test_an_id_that_names_the_module_needs_no_import():
    program = (
        "import robustirl, gymnasium; robustirl.enable_x64();"
        "env = gymnasium.make('robustirl.envs.gymnasium.worlds:robustirl/GridWorld4-v0', discount=0.5, noise=0.2);"
        "print(env.observation_space, env.spec.max_episode_steps, env.unwrapped.environment.discount)"
    )
    output = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert output.stdout.split() == ["Discrete(36)", "1001", "0.5"]


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


def test_starts_are_drawn_from_the_start_distribution():
    start = np.array([[0.0, 0.25, 0.75]])
    env = RobustIRLEnv(GridWorld("corridor", rewards=CORRIDOR.rewards, initial=start))
    env.reset(seed=0)
    drawn = np.bincount([env.reset()[0] for _ in range(2000)], minlength=3) / 2000
    np.testing.assert_allclose(drawn, start[0], atol=0.05)


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


def test_the_world_is_chosen_at_reset_and_stays_until_another_is():
    env = RobustIRLEnv(CORRIDOR)
    right = 1

    def strays():
        return [env.step(right)[0] for _ in range(100) if env.reset()[0] == 1].count(0) > 0

    env.reset(seed=0)
    assert not strays()
    env.reset(options={"noise": 0.9, "noise_model": "uniform-action"})
    assert strays()
    env.reset(options={"noise": 0.0})
    assert not strays()


def test_pictures_show_who_walks_where_it_ends_and_what_it_costs():
    env = RobustIRLEnv("gridworld-1", render_mode="rgb_array")
    env.reset(seed=0)
    image = np.asarray(env.render())
    assert (image.shape, image.dtype) == ((480, 480, 3), np.uint8)
    danger, plain, goal = image[60, 60], image[4, 300], image[24, 24]
    assert danger[0] > danger[1] + 100
    assert plain.min() > 200
    assert goal[1] > goal[0] + 30
    row, column = divmod(env.reset(seed=1)[0], 10)
    after = np.asarray(env.render())
    assert after[row * 48 + 24, column * 48 + 24, 2] > 150 > after[row * 48 + 24, column * 48 + 24, 0]
    assert (image != after).any()


def test_a_walk_that_is_over_grays_the_picture():
    env = RobustIRLEnv(frozen_lake(), render_mode="rgb_array")
    env.reset(seed=0)
    before = np.asarray(env.render())
    for action in (1, 2, 0):  # Down, right into the hole, and out of the game.
        _, _, terminated, _, _ = env.step(action)
    assert terminated
    after = np.asarray(env.render())
    assert after.std() < before.std()


@pytest.mark.parametrize(
    ("environment", "lines"),
    [
        (LAST, ["G . @"]),
        (cliff_walking(), [". . . . . . . . . . . ."] * 3 + ["@ ! ! ! ! ! ! ! ! ! ! G"]),
        (frozen_lake(), ["@ . . .", ". H . H", ". . . H", "H . . G"]),
        (ThreeState(), ["@ G", "H"]),
    ],
)
def test_text_shows_the_same(environment, lines):
    env = RobustIRLEnv(environment, render_mode="ansi")
    env.reset(seed=0)
    assert str(env.render()).splitlines() == lines


def test_without_a_render_mode_there_is_nothing_to_show():
    env = RobustIRLEnv(CORRIDOR)
    env.reset(seed=0)
    assert env.render() is None


def test_bad_requests_are_named(refused):
    with refused("'nowhere'"):
        RobustIRLEnv("nowhere")
    with refused("render mode", "'human'", "rgb_array, ansi"):
        RobustIRLEnv(CORRIDOR, render_mode="human")
    with refused("discount", "an environment was given"):
        RobustIRLEnv(CORRIDOR, discount=0.5)
    with refused("the noise", "1.5"):
        RobustIRLEnv(CORRIDOR, noise=1.5)
    env = RobustIRLEnv(CORRIDOR)
    with refused("call reset"):
        env.step(0)
    with refused("'wind'", "noise_model"):
        env.reset(options={"wind": 1})
    env.reset(seed=0)
    with refused("the action is 4", "0 to 3"):
        env.step(4)
    with refused("no noise model 'gusts'"):
        env.reset(options={"noise_model": "gusts"})
    state, *_ = env.step(0)  # A refused request leaves the environment as it was.
    assert state in range(3)


def test_robustirl_imports_without_gymnasium(refused):
    program = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import robustirl.envs.tabular, robustirl.envs.toy_text, robustirl.envs.gymnasium.tables as tables\n"
        "robustirl.enable_x64()\n"
        "print(robustirl.envs.toy_text.frozen_lake().mdp(0.1).num_states)\n"
        "def worlds(): import robustirl.envs.gymnasium.worlds\n"
        "for attempt in (lambda: tables.from_gymnasium('Taxi-v4'), worlds):\n"
        "    try:\n        attempt()\n    except robustirl.errors.InvalidInputError as error:\n        print(error)\n"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    sentence = "this needs gymnasium, which is not installed; run `pip install 'robustirl[gymnasium]'`."
    assert output.splitlines() == ["17", sentence, sentence]
