"""Bad worlds, policies, rewards and occupancies, and bad requests to planners and theorems."""

import jax
import numpy as np
from inline_snapshot import snapshot

from robustirl import envs, planning, theory
from robustirl.mdp import (
    MDP,
    DenseKernel,
    MarkovGame,
    MixtureKernel,
    SuccessorKernel,
    as_occupancy,
    as_policy,
    as_reward,
    dynamics_distance,
)
from robustirl.planning import Temperatures
from robustirl.rewards import LinearReward, NetworkReward
from tests.planners import newton, value_iteration
from tests.reliability.cases import KERNEL, WORLD, Case

POLICY = [[0.5, 0.5], [1.0, 0.0]]
LISTS = SuccessorKernel([[[0, 1]], [[1, 1]]], [[[0.5, 0.5]], [[1.0, 0.0]]])
LEAKY = MDP(DenseKernel([[[0.5, 0.0]], [[0.0, 1.0]]], leaky=True), discount=0.9)
THREE = envs.make("three-state")


def kernel(**places):
    """The kernel with some entries changed: `_0_1_0=2.0` is T(0|0,1) = 2."""
    array = np.array(KERNEL)
    for place, value in places.items():
        array[tuple(int(i) for i in place.strip("_").split("_"))] = value
    return array


CASES = [
    Case(
        "a row that sums to more than one",
        lambda: MDP(kernel(_0_0_1=0.1), discount=0.9),
        snapshot(
            "the transition row of state 0, action 0 sums to 1.1 instead of 1; divide it by its sum, or set it to "
            "zeros if the action does not exist there."
        ),
    ),
    Case(
        "a row that sums to less than one",
        lambda: MDP(kernel(_1_0_1=0.999), discount=0.9),
        snapshot(
            "the transition row of state 1, action 0 sums to 0.999 instead of 1; divide it by its sum, or set it "
            "to zeros if the action does not exist there."
        ),
    ),
    Case(
        "a leaky row that gains",
        lambda: DenseKernel(kernel(_0_0_1=0.1), leaky=True),
        snapshot(
            "the transition row of state 0, action 0 sums to 1.1 instead of at most 1; divide it by its sum, or "
            "set it to zeros if the action does not exist there."
        ),
    ),
    Case(
        "a negative probability",
        lambda: MDP(kernel(_0_0_0=1.5, _0_0_1=-0.5), discount=0.9),
        snapshot(
            "the transition kernel is negative at state 0, action 0, successor 1: -0.5; probabilities must be "
            "finite numbers of at least 0."
        ),
    ),
    Case(
        "a NaN in the kernel",
        lambda: MDP(kernel(_0_1_0=np.nan), discount=0.9),
        snapshot(
            "the transition kernel is not finite at state 0, action 1, successor 0: nan; probabilities must be "
            "finite numbers of at least 0."
        ),
    ),
    Case(
        "an infinite probability",
        lambda: MDP(kernel(_0_1_0=np.inf), discount=0.9),
        snapshot(
            "the transition kernel is not finite at state 0, action 1, successor 0: inf; probabilities must be "
            "finite numbers of at least 0."
        ),
    ),
    Case(
        "a kernel that is not square",
        lambda: MDP(np.ones((2, 1, 3)) / 3, discount=0.9),
        snapshot(
            "the transition kernel has shape (2, 1, 3), but (S, A, S) is needed with at least one state and "
            "action; entry [s, a, t] is the probability of moving from s to t by a."
        ),
    ),
    Case(
        "a kernel of two axes",
        lambda: MDP(np.eye(2), discount=0.9),
        snapshot(
            "the transition kernel has shape (2, 2), but (S, A, S) is needed with at least one state and action; "
            "entry [s, a, t] is the probability of moving from s to t by a."
        ),
    ),
    Case(
        "a kernel without states",
        lambda: MDP(np.ones((0, 1, 0)), discount=0.9),
        snapshot(
            "the transition kernel has shape (0, 1, 0), but (S, A, S) is needed with at least one state and "
            "action; entry [s, a, t] is the probability of moving from s to t by a."
        ),
    ),
    Case(
        "a kernel without actions",
        lambda: MDP(np.ones((2, 0, 2)), discount=0.9),
        snapshot(
            "the transition kernel has shape (2, 0, 2), but (S, A, S) is needed with at least one state and "
            "action; entry [s, a, t] is the probability of moving from s to t by a."
        ),
    ),
    Case(
        "a ragged kernel",
        lambda: MDP([[[1.0]], [[0.5, 0.5]]], discount=0.9),
        snapshot(
            "the transition kernel is not a rectangular array of real numbers (setting an array element with a "
            "sequence)."
        ),
    ),
    Case(
        "complex probabilities",
        lambda: MDP(np.ones((1, 1, 1), complex), discount=0.9),
        snapshot("the transition kernel is not a rectangular array of real numbers (it holds complex128)."),
    ),
    Case(
        "probabilities in words",
        lambda: MDP(np.array([[["one"]]]), discount=0.9),
        snapshot("the transition kernel is not a rectangular array of real numbers (it holds <U3)."),
    ),
    Case(
        "a discount of one",
        lambda: MDP(KERNEL, discount=1.0),
        snapshot("the discount γ is 1.0, but a number with 0 <= γ < 1 is needed."),
    ),
    Case(
        "a negative discount",
        lambda: MDP(KERNEL, discount=-0.1),
        snapshot("the discount γ is -0.1, but a number with 0 <= γ < 1 is needed."),
    ),
    Case(
        "a discount that is none",
        lambda: MDP(KERNEL, discount=np.nan),
        snapshot("the discount γ is nan, but a number with 0 <= γ < 1 is needed."),
    ),
    Case(
        "two discounts",
        lambda: MDP(KERNEL, discount=np.array([0.5, 0.9])),
        snapshot(
            "the discount γ has shape (2,), but () (a single number) is needed; reshape it or build the world to match."
        ),
    ),
    Case(
        "a start for other states",
        lambda: MDP(KERNEL, discount=0.9, initial=[1.0]),
        snapshot(
            "the initial distribution has shape (1,), but (2,) (states) is needed; reshape it or build the world "
            "to match."
        ),
    ),
    Case(
        "a start that sums to more",
        lambda: MDP(KERNEL, discount=0.9, initial=[0.6, 0.6]),
        snapshot("the initial distribution sums to 1.2 instead of 1; divide it by its sum if it holds weights."),
    ),
    Case(
        "a start of zeros",
        lambda: MDP(KERNEL, discount=0.9, initial=[0.0, 0.0]),
        snapshot("the initial distribution sums to 0.0 instead of 1; divide it by its sum if it holds weights."),
    ),
    Case(
        "a negative start",
        lambda: MDP(KERNEL, discount=0.9, initial=[1.5, -0.5]),
        snapshot(
            "the initial distribution is negative at state 1: -0.5; probabilities must be finite numbers of at least 0."
        ),
    ),
    Case(
        "a state without actions",
        lambda: MDP(kernel(_1_0_1=0.0), discount=0.9),
        snapshot("state 1 has no available action; give a terminal state one that stays put."),
    ),
    Case(
        "a mask that allows what does not exist",
        lambda: MDP(KERNEL, discount=0.9, mask=np.ones((2, 2), bool)),
        snapshot(
            "the mask allows action 1 in state 1, but its transition row is all zeros; fill the row or mask the action."
        ),
    ),
    Case(
        "a mask of numbers",
        lambda: MDP(KERNEL, discount=0.9, mask=np.ones((2, 2))),
        snapshot("the action mask holds float64, but True and False are needed; use `array > 0`."),
    ),
    Case(
        "a mask for another world",
        lambda: MDP(KERNEL, discount=0.9, mask=np.ones((2, 3), bool)),
        snapshot(
            "the action mask has shape (2, 3), but (2, 2) (states, actions) is needed; reshape it or build the "
            "world to match."
        ),
    ),
    Case(
        "a successor that does not exist",
        lambda: SuccessorKernel([[[2]], [[1]]], [[[1.0]], [[1.0]]]),
        snapshot(
            "the list of successors names state 2 at state 0, action 0, successor 0, but the states are numbered "
            "from 0 to 1; give unused places any of them, with probability 0."
        ),
    ),
    Case(
        "a negative successor",
        lambda: SuccessorKernel([[[-1]], [[1]]], [[[1.0]], [[1.0]]]),
        snapshot(
            "the list of successors names state -1 at state 0, action 0, successor 0, but the states are numbered "
            "from 0 to 1; give unused places any of them, with probability 0."
        ),
    ),
    Case(
        "successors in floats",
        lambda: SuccessorKernel([[[0.0]], [[1.0]]], [[[1.0]], [[1.0]]]),
        snapshot("the list of successors holds float64, but whole numbers are needed: states that a move leads to."),
    ),
    Case(
        "fewer probabilities than successors",
        lambda: SuccessorKernel([[[0, 1]], [[1, 1]]], [[[1.0]], [[1.0]]]),
        snapshot(
            "the array of successor probabilities has shape (2, 1, 1), but (2, 1, 2) (as the list of successors) "
            "is needed; reshape it or build the world to match."
        ),
    ),
    Case(
        "a successor list that sums to less",
        lambda: SuccessorKernel([[[0]], [[1]]], [[[0.5]], [[1.0]]]),
        snapshot(
            "the transition row of state 0, action 0 sums to 0.5 instead of 1; divide it by its sum, or set it to "
            "zeros if the action does not exist there."
        ),
    ),
    Case(
        "a disturbance that is too likely",
        lambda: MixtureKernel(LISTS, [1.5, 0.0], [0.5, 0.5]),
        snapshot("the chance of a disturbance in state 0 is 1.5, but a probability of at most 1 is needed."),
    ),
    Case(
        "a disturbance to nowhere",
        lambda: MixtureKernel(LISTS, [0.5, 0.0], [0.5, 0.25]),
        snapshot(
            "the distribution of a disturbance sums to 0.75 instead of 1; divide it by its sum if it holds weights."
        ),
    ),
    Case(
        "α of zero",
        lambda: MarkovGame(WORLD, 0.0),
        snapshot("alpha is 0.0, but a number with 0 < alpha <= 1 is needed."),
    ),
    Case(
        "α above one",
        lambda: MarkovGame(WORLD, 1.5),
        snapshot("alpha is 1.5, but a number with 0 < alpha <= 1 is needed."),
    ),
    Case(
        "α that is no number",
        lambda: MarkovGame(WORLD, np.nan),
        snapshot("alpha is nan, but a number with 0 < alpha <= 1 is needed."),
    ),
    Case(
        "worlds of different sizes",
        lambda: dynamics_distance(WORLD, MDP([[[1.0]]], discount=0.9)),
        snapshot(
            "the worlds differ in size: (2, 2) against (1, 1) (states, actions); only worlds over the same states "
            "and actions can be compared."
        ),
    ),
    Case(
        "a policy for another world",
        lambda: as_policy([[1.0]], WORLD),
        snapshot(
            "the policy has shape (1, 1), but (2, 2) (states, actions) is needed; reshape it or build the world to "
            "match."
        ),
    ),
    Case(
        "a policy that sums to more",
        lambda: as_policy([[0.6, 0.6], [1.0, 0.0]], WORLD),
        snapshot("the policy at state 0 sums to 1.2 instead of 1; divide it by its sum if it holds weights."),
    ),
    Case(
        "a policy that takes what is not there",
        lambda: as_policy([[0.5, 0.5], [0.5, 0.5]], WORLD),
        snapshot(
            "the policy gives probability 0.5 to action 1 in state 1, where that action is not available; give it 0."
        ),
    ),
    Case(
        "a policy with a NaN",
        lambda: as_policy([[0.5, np.nan], [1.0, 0.0]], WORLD),
        snapshot(
            "the policy is not finite at state 0, action 1: nan; probabilities must be finite numbers of at least 0."
        ),
    ),
    Case(
        "a reward with a NaN",
        lambda: as_reward([0.0, np.nan], WORLD),
        snapshot("the reward is not finite at state 1: nan; replace it by a finite number."),
    ),
    Case(
        "an infinite reward",
        lambda: value_iteration(WORLD, [0.0, -np.inf]),
        snapshot("the reward is not finite at state 1: -inf; replace it by a finite number."),
    ),
    Case(
        "a reward for another world",
        lambda: newton(WORLD, [1.0, 2.0, 3.0]),
        snapshot("the reward has shape (3,), but (2,) (states) is needed; reshape it or build the world to match."),
    ),
    Case(
        "a reward for other actions",
        lambda: newton(WORLD, np.zeros((2, 3))),
        snapshot(
            "the reward has shape (2, 3), but (2, 2) (states, actions) is needed; reshape it or build the world to "
            "match."
        ),
    ),
    Case(
        "a ragged reward",
        lambda: newton(WORLD, [[1.0], [1.0, 2.0]]),
        snapshot("the reward is not a rectangular array (setting an array element with a sequence)."),
    ),
    Case(
        "an occupancy that sums to two",
        lambda: as_occupancy([1.0, 1.0], WORLD),
        snapshot("the occupancy sums to 2.0 instead of 1; divide it by its sum if it holds weights."),
    ),
    Case(
        "a negative occupancy",
        lambda: as_occupancy([1.5, -0.5], WORLD),
        snapshot("the occupancy is negative at state 1: -0.5; probabilities must be finite numbers of at least 0."),
    ),
    Case(
        "an occupancy of nothing in a leaky world",
        lambda: as_occupancy([0.0, 0.0], LEAKY),
        snapshot("the occupancy sums to 0.0, but a sum in (0, 1] is needed."),
    ),
    Case(
        "a tolerance of zero",
        lambda: newton(WORLD, [0.0, 1.0], tolerance=0.0),
        snapshot("the tolerance is 0.0, but a finite number above 0 is needed."),
    ),
    Case(
        "a tolerance out of reach",
        lambda: value_iteration(WORLD, [0.0, 1.0], tolerance=1e-18),
        snapshot("the tolerance 1e-18 is out of reach of float64 at discount 0.9; ask for at least 3.6e-14."),
    ),
    Case(
        "no steps for a planner",
        lambda: value_iteration(WORLD, [0.0, 1.0], max_steps=0),
        snapshot("max_steps is 0, but a whole number of at least 1 is needed."),
    ),
    Case(
        "a negative temperature",
        lambda: newton(WORLD, [0.0, 1.0], temperatures=Temperatures(-1.0, 0.0)),
        snapshot("the player's temperature is -1.0, but a finite number >= 0 is needed."),
    ),
    Case(
        "a start value with a NaN",
        lambda: newton(WORLD, [0.0, 1.0], initial_value=[0.0, np.nan]),
        snapshot("the initial value is not finite at state 1: nan; replace it by a finite number."),
    ),
    Case(
        "a horizon of zero",
        lambda: planning.backward_induction(WORLD, [0.0, 1.0], 0),
        snapshot("the horizon is 0, but a whole number of at least 1 is needed."),
    ),
    Case(
        "a return in a leaky world",
        lambda: planning.total_return(LEAKY, [[1.0], [1.0]], [0.0, 1.0]),
        snapshot(
            "returns cannot be measured in a leaky world, whose rows sum to less than 1; use the environment's "
            "evaluation_mdp instead."
        ),
    ),
    Case(
        "an unknown kind of expert",
        lambda: planning.expert_policy(WORLD, [0.0, 1.0], kind="wise"),
        snapshot("the expert is 'wise', but one of soft, optimal is needed."),
    ),
    Case(
        "one repetition of a sampled return",
        lambda: planning.sampled_total_return(WORLD, POLICY, [0.0, 1.0], key=jax.random.key(0), repetitions=1),
        snapshot("repetitions is 1, but a whole number of at least 2 is needed."),
    ),
    Case(
        "features that are not finite",
        lambda: LinearReward([[1.0], [np.inf]]),
        snapshot("the feature matrix is not finite at state 1, feature 0: inf; replace it by a finite number."),
    ),
    Case(
        "features of one axis",
        lambda: LinearReward([1.0, 2.0]),
        snapshot(
            "the feature matrix has shape (2,), but (S, d) is needed, d features for every state, or (S, A, d) for a reward of states and actions."
        ),
    ),
    Case(
        "a network without width",
        lambda: NetworkReward(np.eye(2), key=jax.random.key(0), width=0),
        snapshot("the width is 0, but a whole number of at least 1 is needed."),
    ),
    Case(
        "an unknown environment",
        lambda: envs.make("gridworld-9"),
        (f"there is no environment 'gridworld-9'; choose one of {', '.join(envs.names())}."),
    ),
    Case(
        "noise above one",
        lambda: THREE.mdp(noise=1.5),
        snapshot("the noise is 1.5, but a probability between 0 and 1 is needed."),
    ),
    Case(
        "noise that is no number",
        lambda: THREE.mdp(noise=float("nan")),
        snapshot("the noise is nan, but a probability between 0 and 1 is needed."),
    ),
    Case(
        "an unknown noise model",
        lambda: THREE.mdp(noise_model="fog"),
        snapshot("three-state has no noise model 'fog'; choose one of slip."),
    ),
    Case(
        "a grid of one cell",
        lambda: envs.GridWorld("tiny", rewards=np.zeros((1, 1))),
        snapshot("the grid of rewards has shape (1, 1), but two axes and at least two cells are needed."),
    ),
    Case(
        "a goal outside of the grid",
        lambda: envs.GridWorld("far", rewards=np.zeros((2, 2)), goals=((5, 5),)),
        snapshot("the goal (5, 5) lies outside the grid of shape (2, 2)."),
    ),
    Case(
        "too few objects",
        lambda: envs.objectworld.object_world(num_objects=1),
        snapshot("the number of objects is 1, but it must lie between 2 (a blue and a green one) and the 100 cells."),
    ),
    Case(
        "bounds between worlds of different discounts",
        lambda: theory.standard_bound(WORLD, MDP(KERNEL, discount=0.5), [0.0, 1.0]),
        snapshot("the worlds have different discounts, 0.9 and 0.5; the bounds need the same in both."),
    ),
    Case(
        "α for worlds that share nothing",
        lambda: theory.choose_alpha(
            MDP([[[1.0, 0.0]], [[0.0, 1.0]]], discount=0.9), MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.9)
        ),
        snapshot(
            "the worlds are at distance 2, where the rule gives alpha = 0: nothing of the expert's dynamics is "
            "left in the learner's; no alpha can help."
        ),
    ),
    Case(
        "a certificate for no distance",
        lambda: theory.certify(WORLD, POLICY, [0.0, 1.0]),
        snapshot("neither radius nor alpha is given; say how far kernels may be from the world's by one of them."),
    ),
    Case(
        "a certificate beyond all kernels",
        lambda: theory.certify(WORLD, POLICY, [0.0, 1.0], radius=3.0),
        snapshot("the radius is 3.0, but ℓ1 distances of distributions are from 0 to 2."),
    ),
]
