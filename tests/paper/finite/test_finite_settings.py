"""The paper's settings reach the runs: its optimizers, its trajectories per start, its 95 %."""

import math

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import estimate_alpha, estimate_occupancy, l1_radius, sample_demonstrations
from robustirl.demonstrations.estimation.concentration import episodes_needed, l1_radius_from_data
from robustirl.irl import ADAM, DEEP_ADAM, RobustIRL, paper_optimizer
from robustirl.mdp import uniform_policy
from robustirl.paper import statistics
from robustirl.paper.finite.catalog import EXPERIMENTS, Grid
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.finite.specs import PAPER_ENVIRONMENTS, RunSpec
from robustirl.rewards import LinearReward, NetworkReward, TabularReward
from robustirl.sweeps import flat, run

MODELS = {"gridworld-l": LinearReward, "objectworld": NetworkReward}


@pytest.mark.parametrize("name", PAPER_ENVIRONMENTS)
def test_networks_are_trained_with_the_papers_adam_for_networks_and_only_they(name):
    environment = envs.make(name)
    context = ExperimentContext(environment, environment.noise_models[0])
    assert type(context.reward_model()) is MODELS.get(name, TabularReward)
    assert paper_optimizer(context.reward_model()) is (DEEP_ADAM if name == "objectworld" else ADAM)


def test_the_first_step_of_either_adam_is_its_learning_rate():
    for optimizer, rate in ((ADAM, 0.5), (DEEP_ADAM, 1e-3)):
        parameters, gradient = jax.numpy.zeros(2), jax.numpy.array([3.0, -0.2])
        update, _ = optimizer.update(gradient, optimizer.init(parameters), parameters)
        assert np.asarray(update) == pytest.approx([-rate, rate], rel=1e-5)


def test_a_sampled_evaluation_is_of_a_thousand_trajectories_per_start():
    specs = EXPERIMENTS["sampled"].specs(Grid(("gridworld-4",)), "uniform-state")
    assert {spec.sampled for spec in specs} == {1000}
    others = [item for item in EXPERIMENTS.values() if item.name != "sampled"]
    assert {spec.sampled for item in others for spec in item.specs(Grid(("gridworld-4",)), "uniform-state")} == {0}


def test_what_nobody_chose_is_at_95_percent():
    world = envs.make("three-state").mdp(0.0)
    walks = sample_demonstrations(world, uniform_policy(world.mask), episodes=40, horizon=20, key=jax.random.key(0))
    assert estimate_occupancy(walks, num_states=3, discount=0.9).confidence == 0.95
    assert estimate_alpha(world, walks).confidence == 0.95
    assert RobustIRL().confidence == 0.95
    assert statistics.CONFIDENCE == 0.95
    # sqrt((|S| - 1) / m) + sqrt(2 log(1 / 0.05) / m) for m = 400 episodes and 5 states.
    assert l1_radius(400, 5) == pytest.approx(0.1 + math.sqrt(2 * math.log(20) / 400))
    assert episodes_needed(l1_radius(400, 5), 5) == 400
    assert l1_radius_from_data(400, 5, 10.0) == l1_radius(400, 5, confidence=0.975)  # Half of the risk is left.


@pytest.mark.parametrize(("expert", "alpha", "known"), [("optimal", 1.0, True), ("soft", 1.0, False)])
def test_a_record_has_a_bound_only_if_its_expert_is_optimal(expert, alpha, known):
    spec = RunSpec("three-state", "slip", 0.0, 0.1, alpha, expert=expert, steps=2)
    (found,) = flat(run([spec]))
    assert found.record.bound == (pytest.approx(0.9 * 0.2 / 0.1**2) if known else None)
