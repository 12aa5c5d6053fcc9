"""Guarantees from data: values by hand, both sides, the truth never beyond, and coverage."""

import dataclasses

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations
from robustirl.envs import GridWorld, ThreeState
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP, uniform_policy
from robustirl.planning import expert_policy, state_occupancy
from robustirl.theory import certify, guarantee
from robustirl.theory.guarantee import _episodes_needed
from robustirl.theory.guarantee_program import ExpertRegion, Rows, Surroundings, largest

WORLD = ThreeState().mdp(noise=0.0)  # γ = 0.9; state 0 leads to 1 or to 2, which are never left.
EXPERT = [0.1, 0.9, 0.0]
AT_START = [[0.2, 0.2], [0.0, 0.0], [0.0, 0.0]]


def choosing(chance):
    """Take the first action in state 0 with this chance."""
    return [[chance, 1 - chance], [1.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.8, 1.0])
def test_one_decision_and_an_exact_occupancy(chance):
    """R(1) >= R(2) explain the expert; the policy misses 0.9 (1-p) of state 1, worth 1 against 0."""
    found = guarantee(WORLD, EXPERT, choosing(chance))
    assert found.shortfall == pytest.approx(0.9 * (1 - chance), abs=2e-6)
    assert found.attained == pytest.approx(0.9 * (1 - chance), abs=2e-6)
    assert (found.confidence, found.episodes, found.occupancy_error) == (1.0, None, 0.0)


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_a_suboptimal_expert_by_hand(chance):
    """An expert who goes either way is indifferent. Within ε it need not be: |R(1) - R(2)| <= ε / 0.45."""
    indifferent = [0.1, 0.45, 0.45]
    assert guarantee(WORLD, indifferent, choosing(chance)).shortfall == pytest.approx(0, abs=2e-6)
    assert guarantee(WORLD, indifferent, choosing(chance), suboptimality=0.1).shortfall == pytest.approx(0.1, abs=2e-6)


@pytest.mark.parametrize("radius", [0.1, 0.4, 1.0])
def test_a_radius_by_hand(radius):
    """In the worst world half of the radius of state 0's mass goes astray to state 2, and nothing else differs."""
    found = guarantee(WORLD, EXPERT, choosing(1.0), radius=np.array(AT_START) / 0.2 * radius)
    assert found.shortfall == pytest.approx(0.45 * radius, abs=2e-6)
    assert found.attained == pytest.approx(0.45 * radius, abs=2e-6)
    assert found.mismatch == pytest.approx(0.45 * radius)  # κ = γ d/2: states 1 and 2 are as they are.


def test_an_expert_of_another_world_by_hand():
    """The expert misses state 1 with 0.1, which is optimal in its world and would not be in the learner's."""
    found = guarantee(WORLD, [0.1, 0.81, 0.09], choosing(0.0), radius=AT_START)
    assert found.shortfall == pytest.approx(0.81, abs=2e-6)  # R(1) = 1 and R(2) = 0, where the policy never goes.


def test_a_return_by_hand():
    """An expert who earns 0.9 or more: R(1) = 1 and R(0) = 0 at worst, of which the policy has half."""
    found = guarantee(WORLD, EXPERT, choosing(0.5), expert_return=0.9)
    assert found.return_bound == pytest.approx(0.45, abs=2e-6)
    assert "the policy earns 0.45" in found.summary()
    nothing = guarantee(WORLD, EXPERT, choosing(0.0), expert_return=0.9)
    assert (nothing.return_bound, nothing.vacuous, nothing.episodes_needed) == (0.0, True, None)
    assert "no number of episodes" in nothing.summary()


def test_data_by_hand():
    """A thousand like walks: the flow of the world says what the sample leaves open, and nothing is lost."""
    walks = Demonstrations.from_arrays([[0, 1]] * 1000, terminated=True)
    found = guarantee(WORLD, walks, choosing(0.75))
    assert found.shortfall == pytest.approx(0.225, abs=2e-6)
    assert (found.vacuous, found.episodes_needed, found.confidence) == (False, 1000, 0.95)
    assert found.summary().startswith(
        "with 95 % confidence the policy earns at least what the expert earns, less 0.225"
    )


def test_few_data_are_vacuous_and_say_when_they_would_not_be():
    walks = Demonstrations.from_arrays([[0, 1]] * 5, terminated=True)
    found = guarantee(WORLD, walks, choosing(0.75))
    assert found.vacuous
    assert found.shortfall == pytest.approx(found.without_data, rel=1e-3)
    assert found.episodes_needed is not None
    assert found.episodes_needed > 5
    enough = Demonstrations.from_arrays([[0, 1]] * (2 * found.episodes_needed), terminated=True)
    assert not guarantee(WORLD, enough, choosing(0.75)).vacuous


def test_a_radius_from_moves_by_hand():
    """Each action of state 0 was taken 2000 times as the learner's world has it: two classes, two pairs, 2.5 % each."""
    walks = Demonstrations.from_arrays([[0, 1], [0, 2]] * 2000, [[0], [1]] * 2000, terminated=True)
    found = guarantee(WORLD, walks, choosing(0.5), radius="moves")
    share = np.sqrt(2 * (2 * np.log(2) + np.log(2 * 2 / 0.025)) / 2000) / 2
    assert found.radius == pytest.approx(2 * share)
    assert found.mismatch == pytest.approx(0.9 * share)
    assert found.confidence == 0.95


def random_world(seed, states=4, actions=2):
    rng = np.random.default_rng(seed)
    return MDP(
        rng.dirichlet(np.full(states, 0.5), (states, actions)), discount=0.8, initial=rng.dirichlet(np.ones(states))
    )


def best(world, reward):
    """Return the occupancy of an optimal policy, by enumeration in NumPy."""
    rows, start, found = np.asarray(world.kernel.dense()), np.asarray(world.initial), []
    for actions in np.ndindex(*(rows.shape[1],) * len(rows)):
        chain = rows[np.arange(len(rows)), actions]
        found.append(np.linalg.solve((np.eye(len(rows)) - 0.8 * chain).T, 0.2 * start))
    return max(found, key=lambda rho: rho @ reward)


def nearby(world, radius, rng):
    """Return a world within the radius: rows mixed with random certain ones, as far as they may be."""
    rows = np.asarray(world.kernel.dense())
    towards = np.eye(len(rows))[rng.integers(len(rows), size=rows.shape[:2])]
    distance = np.abs(towards - rows).sum(-1, keepdims=True)
    weight = np.minimum(1, radius / np.maximum(distance, 1e-9)) * rng.choice([0, 1, 1], size=(*rows.shape[:2], 1))
    return MDP(rows + weight * (towards - rows), discount=0.8, initial=world.initial)


@pytest.mark.parametrize("seed", range(6))
def test_without_mismatch_and_error_both_sides_meet(seed):
    world, rng = random_world(seed), np.random.default_rng(seed)
    policy = rng.dirichlet(np.ones(2), 4)
    found = guarantee(world, best(world, rng.uniform(size=4)), policy)
    assert found.attained == pytest.approx(found.shortfall, abs=1e-5)
    assert found.shortfall > 0.01


@pytest.mark.parametrize("seed", range(4))
def test_no_reward_and_no_world_is_worse_than_the_bound(seed):
    world, rng, radius = random_world(seed), np.random.default_rng(seed), 0.3
    policy = rng.dirichlet(np.ones(2), 4)
    worst = -np.inf
    expert_world = nearby(world, radius, rng)
    truth = rng.uniform(size=4)
    rho = best(expert_world, truth)
    found = guarantee(world, rho, policy, radius=radius)
    for _ in range(200):
        reward = np.clip(truth + rng.normal(size=4) * rng.choice([0.02, 0.2, 1]), 0, 1)
        if rho @ reward < best(expert_world, reward) @ reward - 1e-12:
            continue  # It does not explain the expert.
        other = np.asarray(nearby(world, radius, rng).kernel.dense())
        chain = np.einsum("sa,sat->st", policy, other)
        own = np.linalg.solve((np.eye(4) - 0.8 * chain).T, 0.2 * np.asarray(world.initial))
        worst = max(worst, float((rho - own) @ reward))
    assert 0 < worst <= found.shortfall
    assert found.attained is None or found.attained <= found.shortfall


@pytest.mark.parametrize("radius", [0.0, 0.3])
def test_the_worst_world_is_that_of_the_certificate(radius):
    world, rng = random_world(7), np.random.default_rng(7)
    policy, reward = rng.dirichlet(np.ones(2), 4), rng.uniform(size=4)
    around = Surroundings.of(world, radius)
    expected = 0.2 * float(certify(world, policy, reward, radius=radius).worst_return)
    found = around.lowest_return(policy, reward)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert float(found.occupancy @ reward) == pytest.approx(expected, abs=1e-8)
    least, most = around.occupancy_limits(policy)
    chain = np.einsum("sa,sat->st", policy, np.asarray(world.kernel.dense()))
    own = 0.2 * np.linalg.solve(np.eye(4) - 0.8 * chain.T, np.asarray(world.initial))
    assert np.all((least <= own + 1e-9) & (own <= most + 1e-9))


def test_the_most_by_which_occupancies_move():
    """One strength everywhere: κ = γσ / (1-γ+γσ), and attained where mass that went astray never comes back."""
    around = Surroundings.of(WORLD, 0.4)
    assert around.deviation() == pytest.approx(0.9 * 0.2 / (0.1 + 0.9 * 0.2))
    still = MDP([[[1.0, 0.0]], [[0.0, 1.0]]], discount=0.9, initial=[1.0, 0.0])
    leaving = Surroundings.of(still, [[0.4], [0.0]])
    found = leaving.lowest_return(np.ones((2, 1)), np.array([1.0, 0.0])).value
    assert 1 - found == pytest.approx(0.9 * 0.2 / (0.1 + 0.9 * 0.2))
    assert leaving.deviation() == pytest.approx(1 - found)
    assert Surroundings.of(WORLD, 0.0).deviation() == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"suboptimality": 1.5}, "the suboptimality is 1.5, but a number from 0 to below 1 is needed."),
        ({"expert_return": 2}, "the expert's return is 2, but a number above 0 and at most 1 is needed"),
        ({"radius": "moves"}, "the radius is 'moves', but numbers are needed"),
        ({"radius": "wide"}, "the radius is 'wide', but numbers are needed"),
        ({"radius": 3}, "the radius is 3.0, but ℓ1 distances of distributions are from 0 to 2."),
        ({"demonstrations": [0.5, 0.25, 0.25]}, "no expert in a world within the radius has the occupancy"),
    ],
)
def test_refusals(options, sentence):
    given = {"demonstrations": EXPERT, **options}
    with pytest.raises(InvalidInputError) as error:
        guarantee(WORLD, given.pop("demonstrations"), choosing(1.0), **given)
    assert sentence in str(error.value)


REGION = ExpertRegion(np.array([0.5, 0.5]), np.array([0.25, 0.0]), np.array([0.75, 1.0]), 0.4)


def test_episodes_that_would_be_needed_by_hand():
    """An error of a quarter of the present one is useful; errors fall with the root of the number of episodes."""

    def needed(useful=0.1, region=REGION, **given):
        known = {"episodes": 100, "radius": 0.4, "bias": 0.0} | given
        return _episodes_needed(
            region, (known["episodes"], known["radius"], known["bias"]), lambda place: place.error <= useful
        )

    count, why = needed()
    assert why is None
    assert count is not None
    assert 1600 <= count <= 1608  # (0.4 / 0.1)² as many, up to the steps of the search.
    count, _ = needed(bias=0.05, radius=0.35)
    assert count is not None
    assert 4900 <= count <= 4950  # (0.35 / 0.05)².
    truncated = "the expert's occupancy stays open where episodes were truncated; record longer ones"
    assert needed(bias=0.1) == (None, truncated)
    assert needed(radius=1e5, episodes=10**4) == (None, "more than 1e+12 would be needed")
    assert needed(radius=0.99e4, episodes=100)[1] is None  # 100 · (0.99e5)², just below.
    exact = "it would be so with the expert's exact occupancy, for this policy and radius"
    assert needed(useful=1e-6) == (None, exact)
    assert needed(region=dataclasses.replace(REGION, error=0.0)) == (None, exact)
    assert _episodes_needed(REGION, None, lambda _: True) == (None, exact)


def test_a_linear_program_by_hand():
    program = Rows()
    program.variable("x", 2, high=1.0)
    program.variable("y", 1, low=-2.0)
    assert (program.size, program.places) == (3, {"x": slice(0, 2), "y": slice(2, 3)})
    program.below.append(({"x": np.array([[1.0, 1.0]]), "y": np.array([[1.0]])}, np.array([0.5])))
    program.equal.append(({"y": np.array([[1.0]])}, np.array([-1.0])))
    # x₁ + x₂ <= 3/2: all of x₂, half of x₁, and twice y = -1; a millionth is added.
    bound, found = largest(program, {"x": np.array([1.0, 3.0]), "y": 2.0})
    assert bound == pytest.approx(1.5 + 1e-6, abs=1e-8)
    assert found["x"] == pytest.approx([0.5, 1.0])
    assert found["y"] == pytest.approx([-1.0])
    program.below.append(({"x": np.array([[1.0, 0.0]])}, np.array([-1.0])))
    with pytest.raises(InvalidInputError, match="no expert in a world within the radius"):
        largest(program, {"x": 1.0})
    endless = Rows()
    endless.variable("x", 1)
    with pytest.raises(ConvergenceError, match="did not end in a solution"):
        largest(endless, {"x": 1.0})


def test_returns_and_occupancies_of_the_worst_world_by_hand():
    """Who stays leaves nevertheless with 1/4, and so is in state 0 for (1-γ) / (1 - 3γ/4) = 0.8 of the time."""
    leaking, staying = around([[0.25, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    found = leaking.lowest_return(staying, np.array([1.0, 0.0]))
    assert found.value == pytest.approx(0.8)
    assert found.occupancy == pytest.approx([0.8, 0.2])
    least, most = leaking.occupancy_limits(staying)
    assert least == pytest.approx([0.8, 0.0])
    assert most == pytest.approx([1.0, 0.2])
    least, most = leaking.occupancy_limits()  # Of all policies: one leaves at once.
    assert least == pytest.approx([0.5, 0.0])
    assert most == pytest.approx([1.0, 0.5])
    assert leaking.deviation(staying) == pytest.approx(0.2)
    assert leaking.deviation() == pytest.approx(0.2)
    assert leaking.deviation(np.array([[0.0, 1.0], [1.0, 0.0]])) == pytest.approx(0.0)


def around(strength):
    """State 0 stays, or by its other action goes to state 1, which has one action and stays; γ = 1/2, from 0."""
    world = MDP([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.5, initial=[1.0, 0.0])
    return Surroundings.of(world, 2 * np.array(strength))


def test_the_worst_rows_by_hand():
    world = MDP([[[0.5, 0.3, 0.2]]] * 3, discount=0.5)
    three = Surroundings.of(world, [[1.2], [0.5], [0.0]])
    left, moved = three.lowest_rows(np.array([2.0, 1.0, 0.0]))
    assert left == pytest.approx(np.array([[0.0, 0.2, 0.2], [0.25, 0.3, 0.2], [0.5, 0.3, 0.2]]))
    assert moved == pytest.approx([0.6, 0.25, 0.0])
    assert (three.exact, around([[0.0, 0.0], [0.0, 0.0]]).exact) == (False, True)


@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_worlds_of_a_hundred_states_take_seconds_and_say_so(radius, capsys):
    grid = GridWorld("grid", rewards=np.where(np.arange(49) == 0, 0.0, -1.0).reshape(7, 7), discount=0.9)
    world = grid.mdp(0.1, "uniform-action")
    found = guarantee(
        world,
        state_occupancy(world, expert_policy(world, grid.reward, kind="optimal")),
        uniform_policy(world.mask),
        radius=radius,
        suboptimality=0.05,
        progress=True,
    )
    assert found.attained <= found.shortfall <= found.without_data + 1e-9
    assert "guarantee" in capsys.readouterr().err
