"""Named checks of a fit: what makes each pass, warn and fail."""

import functools

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Demonstrations, estimate_occupancy, sample_demonstrations
from robustirl.irl import RobustIRL, fit
from robustirl.irl.checks import CheckStatus, check_fit, policy_uses, reachable_states
from robustirl.mdp import MDP
from robustirl.planning import expert_policy

PASSED, WARNS, FAILED = CheckStatus.PASSED, CheckStatus.WARNS, CheckStatus.FAILED


@functools.cache
def lake():
    """Return a calm lake, and a fit at α = 1 to an expert of a slippery one: greedily it goes nowhere."""
    env = envs.make("frozen-lake")
    theirs, world = env.mdp(0.2), env.mdp(0.0)
    walks = sample_demonstrations(
        theirs, expert_policy(theirs, env.reward, kind="optimal"), episodes=1000, horizon=200, key=jax.random.key(0)
    ).without_actions()
    return world, walks, RobustIRL(1.0).fit(world, walks)


def walk_world(discount=0.5):
    """Return a world of three states in a row that ends in the last."""
    kernel = np.zeros((3, 2, 3))
    kernel[[0, 1], 0, [1, 2]], kernel[[0, 1], 1, [0, 1]], kernel[2, :, 2] = 1, 1, 1
    return MDP(kernel, discount=discount, initial=[1.0, 0.0, 0.0])


def test_predict_uses_the_policy_that_works():
    world, walks, model = lake()
    checks = model.checks_
    found = checks["policy in use"]
    arrived = found.numbers["sampled_arrival"], found.numbers["greedy_arrival"]
    assert checks.acting == ("greedy" if arrived[1] >= arrived[0] else "sampled")
    assert found.status is (PASSED if checks.acting == "greedy" else WARNS)
    assert model.use_.arrival == max(arrived) > 0.5
    if checks.acting == "sampled":
        assert len(set(model.predict([0] * 200, seed=0).tolist())) > 1
        action, _ = model.as_sb3(seed=1).predict(np.zeros(200, int), deterministic=True)
        assert len(set(action.tolist())) > 1
    uses = policy_uses(model.fit_, world, policy=np.eye(4)[np.zeros(world.num_states, int)])  # Always to the left.
    assert uses.check.status is FAILED
    assert uses.sampled.arrival == uses.greedy.arrival == 0
    assert len(walks) == 1000


def test_arrivals_by_hand():
    """A policy that moves on with chance p in each state: it arrives, and the greedy one does if p > 1/2."""
    world = walk_world()
    found = fit(world, [0.5, 0.25, 0.25], alpha=1.0)
    for p, acting in ((0.75, "greedy"), (0.25, "sampled")):
        uses = policy_uses(found, world, policy=np.array([[p, 1 - p]] * 3))
        assert uses.use.name == acting
        assert uses.sampled.arrival == pytest.approx(1)
        assert uses.greedy.arrival == (1 if p > 0.5 else 0)
        assert uses.check.numbers["random_steps"] == pytest.approx(0.25)
    gap = uses.sampled.occupancy_gap
    chain = np.array([[0.75, 0.25, 0], [0, 0.75, 0.25], [0, 0, 1]])
    visits = 0.5 * np.linalg.solve((np.eye(3) - 0.5 * chain).T, [1.0, 0, 0])
    assert gap == pytest.approx(np.abs(visits - [0.5, 0.25, 0.25]).sum())


def test_the_gap_passes_within_the_error_of_the_data_or_of_what_is_possible():
    world = walk_world()
    exact = check_fit(fit(world, [0.5, 0.25, 0.25], alpha=1.0), world)["occupancy gap"]
    assert exact.status is PASSED
    assert exact.numbers["data_error"] == 0
    # No policy starts elsewhere than in state 0: half of the mass cannot be matched, and that is the least gap.
    shifted = check_fit(fit(world, [0.0, 0.5, 0.5], alpha=1.0, throw=False), world)["occupancy gap"]
    assert shifted.numbers["least_gap"] == pytest.approx(1, abs=1e-2)
    early = fit(world, [0.5, 0.25, 0.25], alpha=1.0, steps=1, throw=False)
    found = check_fit(early, world)["occupancy gap"]
    assert found.status is (WARNS if found.numbers["gap"] > 1e-3 else PASSED)
    walks = Demonstrations.from_arrays([[0, 1, 2]] * 3 + [[0, 0, 1, 2]], terminated=True)
    estimate = estimate_occupancy(walks, world)
    sampled = check_fit(fit(world, estimate.occupancy, alpha=1.0), world, estimate=estimate)
    assert sampled["occupancy gap"].status is PASSED
    assert sampled["weights"].status is WARNS  # Three weights for three states.
    assert sampled["weights"].numbers == {"weights": 3, "episodes": 4}


def test_states_that_one_of_the_two_never_visits():
    kernel = np.zeros((4, 2, 4))
    kernel[0, 0, 1] = kernel[0, 1, 2] = kernel[1, :, 1] = kernel[2, :, 2] = kernel[3, :, 3] = 1
    world = MDP(kernel, discount=0.5, initial=[1.0, 0.0, 0.0, 0.0])
    assert reachable_states(world).tolist() == [True, True, True, False]
    statuses = []
    for mass in (0.0, 0.25, 0.75):
        occupancy = [(1 - mass) / 2, (1 - mass) / 2, 0.0, mass]
        found = check_fit(fit(world, occupancy, alpha=1.0, throw=False), world)
        assert found["unreachable states"].numbers["mass"] == pytest.approx(mass)
        statuses.append(found["unreachable states"].status)
    assert statuses == [PASSED, WARNS, FAILED]
    assert [check.name for check in found.failed] == ["unreachable states"]
    never = check_fit(fit(world, [0.5, 0.5, 0.0, 0.0], alpha=1.0, steps=1, throw=False), world)["unvisited states"]
    assert never.status is WARNS
    assert 0 < never.numbers["mass"] < 0.5


def test_hypotheses_are_those_that_are_open():
    env = envs.make("gridworld-4")
    theirs, world = env.mdp(0.2), env.mdp(0.0)
    walks = sample_demonstrations(
        theirs, expert_policy(theirs, env.reward), episodes=100, horizon=200, key=jax.random.key(0)
    )
    model = RobustIRL().fit(world, walks)
    selection, checks = model.alpha_selection_, model.checks_
    assert [h.alpha for h in checks.hypotheses] == selection.candidates[selection.open].tolist()
    mean = checks["hypotheses"].numbers["mean_regret"]
    assert mean == pytest.approx(np.mean([h.regret for h in checks.hypotheses]))
    assert mean <= checks["hypotheses"].numbers["standard_mean_regret"]
    assert checks["hypotheses"].status is PASSED
    assert str(checks).count("\n") == len(checks.checks) - 1
