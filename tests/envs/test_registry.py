"""Every registered environment is a sound family of worlds."""

import numpy as np
import pytest

from robustirl import envs
from robustirl.envs import GridWorld
from robustirl.envs.gridworld import MOVES, PAPER_LAYOUTS, danger_grid
from robustirl.envs.physics import equations
from robustirl.envs.registry import register_recorded
from robustirl.errors import InvalidInputError
from robustirl.mdp import uniform_policy
from robustirl.planning import expert_policy, state_action_occupancy, state_occupancy, total_return


def every_world():
    return [(name, model) for name in envs.names() for model in envs.make(name).noise_models]


@pytest.mark.parametrize(
    ("name", "model"),
    [pytest.param(*world, marks=pytest.mark.slow if world[0] == "taxi" else ()) for world in every_world()],
)
def test_worlds_plan_and_evaluate_at_every_noise(name, model):
    env = envs.make(name)
    for noise in (0.0, 0.1, 1.0):
        mdp, evaluation = env.mdp(noise, model), env.evaluation_mdp(noise, model)
        assert mdp.num_states == evaluation.num_states == len(env.reward)
        occupancy = state_occupancy(mdp, uniform_policy(mdp.mask))
        assert occupancy.min() >= 0
        assert occupancy.sum() <= 1 + 1e-12
        assert mdp.kernel.leaky or occupancy.sum() == pytest.approx(1)
        assert np.isfinite(total_return(evaluation, uniform_policy(mdp.mask), env.reward))


LARGE = ("cliff-walking", "frozen-lake-8x8", "taxi")  # Each takes planners of its own size.


@pytest.mark.parametrize(
    ("name", "model"),
    [pytest.param(*world, marks=pytest.mark.slow if world[0] in LARGE else ()) for world in every_world()],
)
def test_an_optimal_policy_is_never_beaten_by_a_soft_one(name, model):
    env = envs.make(name)
    mdp = env.mdp(0.1, model)
    optimal, soft = (expert_policy(mdp, env.reward, kind=kind) for kind in ("optimal", "soft"))
    reward = env.reward if env.reward.ndim == 2 else env.reward[:, None]  # Taxi pays for actions.
    gain = ((state_action_occupancy(mdp, optimal) - state_action_occupancy(mdp, soft)) * reward).sum()
    assert gain >= -1e-12


@pytest.mark.parametrize(
    ("name", "dangers"), [("gridworld-1", 64), ("gridworld-2", 28), ("gridworld-3", 24), ("gridworld-4", 8)]
)
def test_layouts_have_the_right_number_of_dangers(name, dangers):
    env = envs.make(name)
    assert (env.reward == -100).sum() == dangers
    assert env.reward[0] == 0
    assert (env.reward == -1).sum() == env.reward.size - dangers - 1


def test_a_grid_with_dangers_by_hand():
    grid = danger_grid(3, (slice(0, 2), [0, 2]), danger=-7.0)
    assert grid.tolist() == [[0, -1, -7], [-7, -1, -7], [-1, -1, -1]]


def test_layouts_look_as_in_the_paper():
    grid = {name: rewards == -100 for name, rewards in PAPER_LAYOUTS.items()}
    assert grid["gridworld-1"][1:-1, 1:-1].all()
    assert grid["gridworld-2"][4:6, 1:-1].all()
    assert grid["gridworld-2"][1:-1, 4:6].all()
    assert grid["gridworld-3"][[0, 2, 7, 9], 2:8].all()
    assert grid["gridworld-4"][[0, 2], 1:5].all()


def test_moves_off_the_grid_are_not_available():
    env = GridWorld("strip", rewards=np.array([[0.0, -1.0, -1.0]]))
    assert np.asarray(env.mdp().mask).tolist() == [
        [name in moves for name in MOVES] for moves in (["right"], ["left", "right"], ["left"])
    ]


def test_any_reward_array_start_and_discount_make_a_world():
    start = np.array([[0.0, 0.0], [0.0, 1.0]])
    env = GridWorld("small", rewards=np.array([[0, -1], [-2, -3]]), initial=start, discount=0.5, goals=((0, 1),))
    mdp = env.mdp()
    assert mdp.initial.tolist() == [0, 0, 0, 1]
    assert mdp.discount == 0.5
    assert state_occupancy(mdp, uniform_policy(mdp.mask))[1] > 0


def test_registry_options_reach_the_environment():
    assert envs.make("gridworld-4", discount=0.9).mdp().discount == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: envs.make("gridworld-9"), "no environment 'gridworld-9'; choose one of gridworld-1"),
        (lambda: envs.register("gridworld-1", envs.ThreeState), "registered already"),
        (lambda: register_recorded("buses", envs.ThreeState), "an environment named 'buses' is registered already"),
        (lambda: register_recorded("gridworld-1", envs.ThreeState), "named 'gridworld-1' is registered already"),
        (lambda: equations.register(envs.physics.make("pendulum").equations), "there is a world 'pendulum' already"),
        (lambda: envs.make({}), "the name of an environment is {}, but a text is needed."),
        (lambda: envs.unregister([]), r"the name of an environment is \[\], but a text is needed."),
        (lambda: envs.unregister("nowhere"), "no environment 'nowhere' to unregister"),
        (lambda: envs.make("gridworld-1").mdp(1.5), "the noise is 1.5, but a probability"),
        (lambda: envs.make("gridworld-1").mdp(float("nan")), "the noise is nan"),
        (
            lambda: envs.make("gridworld-1").mdp(0.1, "gaussian"),
            "no noise model 'gaussian'; choose one of uniform-state",
        ),
        (
            lambda: envs.make("three-state").evaluation_mdp(0.1, "published"),
            "three-state has no noise model 'published'",
        ),
        (lambda: GridWorld("flat", rewards=np.zeros(4)), r"shape \(4,\), but two axes"),
        (lambda: GridWorld("hole", rewards=np.array([[0.0, np.nan]])), "not finite at row 0, column 1"),
        (lambda: GridWorld("far", rewards=np.zeros((2, 2)), goals=((2, 0),)), r"goal \(2, 0\) lies outside"),
        (
            lambda: GridWorld("s", rewards=np.zeros((2, 2)), initial=np.ones(4) / 4),
            r"start distribution has shape \(4,\)",
        ),
        (lambda: GridWorld("s", rewards=np.zeros((2, 2)), initial=np.ones((2, 2))).mdp(), "sums to 4.0 instead of 1"),
    ],
)
@pytest.mark.usefixtures("mistyped")
def test_bad_requests_are_named(action, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        action()
    assert "\n" not in str(caught.value)
