"""Bad demonstrations, and bad requests to learners."""

import jax
import numpy as np
from inline_snapshot import snapshot

from robustirl.demonstrations import Demonstrations, estimate_occupancy, sample_demonstrations
from robustirl.demonstrations.alpha import estimate_alpha
from robustirl.demonstrations.concentration import l1_radius
from robustirl.irl import RobustIRL, fit, fit_many
from robustirl.mdp import MDP
from robustirl.rewards import LinearReward, TabularReward
from tests.reliability.cases import WALKS, WORLD, Case

RHO = [0.1, 0.9]
POLICY = [[0.5, 0.5], [1.0, 0.0]]
SMALL = Demonstrations.from_arrays([[0, 1]], [[1]], terminated=True)


def from_arrays(*arguments, **options):
    return Demonstrations.from_arrays(*arguments, **options)


CASES = [
    Case(
        "no episodes",
        lambda: from_arrays([]),
        snapshot("there are no episodes; give at least one, of at least one state."),
    ),
    Case(
        "an empty episode",
        lambda: from_arrays([[0], []]),
        snapshot("episode 1 is empty; an episode has at least its start state, so leave it out."),
    ),
    Case(
        "a negative state",
        lambda: from_arrays([[0, -1]]),
        snapshot(
            "the array of states of episode 0 holds -1 at step 1, but numbers from 0 to 9223372036854775807 are needed."
        ),
    ),
    Case(
        "a state beyond 64 bits",
        lambda: from_arrays([np.array([2**63], np.uint64)]),
        snapshot(
            "the array of states of episode 0 holds 9223372036854775808 at step 0, but numbers from 0 to "
            "9223372036854775807 are needed."
        ),
    ),
    Case(
        "states in floats",
        lambda: from_arrays([[0.0, 1.0]]),
        snapshot(
            "the array of states of episode 0 holds float64, but whole numbers are needed: states and actions are "
            "numbered from 0 (numbers that merely became floats go back with .astype(int))."
        ),
    ),
    Case(
        "a state that is none",
        lambda: from_arrays([[0.0, np.nan]]),
        snapshot("the array of states of episode 0 holds nan at step 1; whole numbers are needed."),
    ),
    Case(
        "states in a table",
        lambda: from_arrays([[[0, 1], [1, 2]]]),
        snapshot("the array of states of episode 0 has shape (2, 2), but a list of whole numbers, (n,), is needed."),
    ),
    Case(
        "states in words",
        lambda: from_arrays([["start", "goal"]]),
        snapshot(
            "the array of states of episode 0 holds <U5, but whole numbers are needed: states and actions are "
            "numbered from 0 (numbers that merely became floats go back with .astype(int))."
        ),
    ),
    Case(
        "as many actions as states",
        lambda: from_arrays([[0, 1]], [[0, 0]]),
        snapshot(
            "episode 0 has 2 states and 2 actions, but 2 states go with 1 actions; the state reached by the last "
            "action belongs to the episode."
        ),
    ),
    Case(
        "actions of fewer episodes",
        lambda: from_arrays([[0, 1], [1]], [[0]]),
        snapshot(
            "there are states of 2 episodes, but actions of 1; give one array of actions for each episode, or none "
            "at all."
        ),
    ),
    Case(
        "fewer ends than episodes",
        lambda: from_arrays([[0], [1], [0]], terminated=[True, False]),
        snapshot("`terminated` has shape (2,), but there are 3 episodes; give one answer for each, or a single one."),
    ),
    Case(
        "ends in numbers",
        lambda: from_arrays([[0]], terminated=np.array([1])),
        snapshot("`terminated` holds int64, but True and False are needed."),
    ),
    Case(
        "lengths that do not add up",
        lambda: Demonstrations(np.array([0, 1]), None, np.array([3]), np.array([True])),
        snapshot(
            "there are 2 states, but the episodes' lengths add up to 3; both must count every state, the last ones "
            "included."
        ),
    ),
    Case(
        "lengths whose sum overflows",
        lambda: Demonstrations(np.arange(4), None, np.array([2**63 - 1, 2**63 - 1, 6]), np.zeros(3, bool)),
        snapshot(
            "there are 4 states, but the episodes' lengths add up to 18446744073709551620; both must count every state, "
            "the last ones included."
        ),
    ),
    Case(
        "an episode beyond the last",
        lambda: WALKS.subset([5]),
        snapshot("episode 5 was asked for, but there are 2, numbered from 0."),
    ),
    Case("a choice of no episodes", lambda: WALKS[2:], snapshot("no episode of the 2 is left; choose at least one.")),
    Case(
        "a state that the world has not",
        lambda: WALKS.check_against(WORLD),
        snapshot(
            "episode 0 is in state 2 at step 2, but there are 2 states, numbered from 0; renumber the states or "
            "give the world they belong to."
        ),
    ),
    Case(
        "an action that the world has not",
        lambda: from_arrays([[0, 1]], [[7]]).check_against(WORLD),
        snapshot("episode 0 takes action 7 at step 0, but the world has 2 actions, numbered from 0."),
    ),
    Case(
        "an action that is not offered there",
        lambda: from_arrays([[1, 1]], [[1]]).check_against(WORLD),
        snapshot(
            "episode 0 takes action 1 in state 1 at step 0, where the world does not offer it; correct the "
            "recording, or use .without_actions() to go by states alone."
        ),
    ),
    Case(
        "an impossible move",
        lambda: from_arrays([[1, 0]]).check_possible(WORLD),
        snapshot(
            "episode 0 moves from state 1 to state 0 at step 0, which has probability 0 by any available action in "
            "the world given; correct the recording or give the world it was made in."
        ),
    ),
    Case(
        "an end that can be left",
        lambda: from_arrays([[0, 0]], terminated=True).check_possible(WORLD),
        snapshot(
            "episode 0 is marked as terminated in state 0, but that state can be left in the world given; mark the "
            "episode as truncated or give the world it was made in."
        ),
    ),
    Case(
        "a check against no world",
        lambda: WALKS.check_possible(),
        snapshot("no world was given to check the moves against; give at least one."),
    ),
    Case(
        "an occupancy over too few states",
        lambda: estimate_occupancy(WALKS, num_states=2, discount=0.9),
        snapshot(
            "episode 0 is in state 2 at step 2, but there are 2 states, numbered from 0; renumber the states or "
            "give the world they belong to."
        ),
    ),
    Case(
        "an occupancy at γ = 1",
        lambda: estimate_occupancy(WALKS, num_states=3, discount=1.0),
        snapshot("the discount γ is 1.0, but a number with 0 <= γ < 1 is needed."),
    ),
    Case(
        "an unknown tail",
        lambda: estimate_occupancy(WALKS, num_states=3, discount=0.9, tail="wag"),
        snapshot("the tail is 'wag', but one of chain, hold, renormalize is needed."),
    ),
    Case(
        "certainty from samples",
        lambda: estimate_occupancy(WALKS, num_states=3, discount=0.9, confidence=1.0),
        snapshot("the confidence is 1.0, but a number between 0 and 1 is needed, as 0.95."),
    ),
    Case(
        "a radius from no episodes",
        lambda: l1_radius(0, 3),
        snapshot("the number of episodes is 0, but a whole number of at least 1 is needed."),
    ),
    Case(
        "α with a confidence of two",
        lambda: estimate_alpha(WORLD, SMALL, confidence=2.0),
        snapshot("the confidence is 2.0, but a number between 0 and 1 is needed, as 0.95."),
    ),
    Case(
        "no episodes to sample",
        lambda: sample_demonstrations(WORLD, POLICY, episodes=0, horizon=5, key=jax.random.key(0)),
        snapshot("the number of episodes is 0, but a whole number of at least 1 is needed."),
    ),
    Case(
        "α = 0 for a fit",
        lambda: fit(WORLD, RHO, alpha=0.0),
        snapshot("alpha is 0.0, but a number with 0 < alpha <= 1 is needed."),
    ),
    Case(
        "an occupancy that does not sum to one",
        lambda: fit(WORLD, [0.1, 0.1]),
        snapshot("the occupancy sums to 0.2 instead of 1; divide it by its sum if it holds weights."),
    ),
    Case(
        "an occupancy of another world",
        lambda: fit(WORLD, [1.0]),
        snapshot("the occupancy has shape (1,), but (2,) (states) is needed; reshape it or build the world to match."),
    ),
    Case(
        "fewer than no steps",
        lambda: fit(WORLD, RHO, steps=-1),
        snapshot("steps is -1, but a whole number of at least 0 is needed."),
    ),
    Case(
        "a negative tolerance",
        lambda: fit(WORLD, RHO, tolerance=-1.0),
        snapshot("the tolerance is -1.0, but a finite number above 0 is needed."),
    ),
    Case(
        "a planner's tolerance out of reach",
        lambda: fit(WORLD, RHO, planner_tolerance=1e-20),
        snapshot("the tolerance 1e-20 is out of reach of float64 at discount 0.9; ask for at least 3.6e-14."),
    ),
    Case(
        "a reward model of another world",
        lambda: fit(WORLD, RHO, reward=TabularReward(3)),
        snapshot(
            "the reward model gives rewards of shape (3,), but the world has 2 states and 2 actions; build the model for this world."
        ),
    ),
    Case(
        "features of another world",
        lambda: fit(WORLD, RHO, reward=LinearReward(np.ones((3, 1)))),
        snapshot(
            "the reward model gives rewards of shape (3,), but the world has 2 states and 2 actions; build the model for this world."
        ),
    ),
    Case(
        "parameters of another model",
        lambda: fit(WORLD, RHO, initial_parameters=np.zeros(5)),
        snapshot(
            "the initial parameters have the shapes [(5,)], but the reward model's have [(2,)], arranged as in its "
            "initial_parameters(); give such parameters, for instance those of an earlier fit with this model."
        ),
    ),
    Case(
        "parameters that are not finite",
        lambda: fit(WORLD, RHO, initial_parameters=np.full(2, np.nan)),
        snapshot("array 0 of the initial parameters is not finite at entry 0: nan; replace it by a finite number."),
    ),
    Case(
        "no fits",
        lambda: fit_many([], [], []),
        snapshot(
            "0 worlds, 0 occupancies and 0 alphas were given, but one of each per fit is needed, and at least one."
        ),
    ),
    Case(
        "fewer alphas than worlds",
        lambda: fit_many([WORLD] * 2, [RHO] * 2, [1.0]),
        snapshot(
            "2 worlds, 2 occupancies and 1 alphas were given, but one of each per fit is needed, and at least one."
        ),
    ),
    Case(
        "worlds of two sizes in one batch",
        lambda: fit_many([WORLD, MDP([[[1.0]]], discount=0.9)], [RHO, [1.0]], [1.0, 1.0]),
        snapshot("the worlds of one batch differ in shape or kind; fit them in separate batches."),
    ),
    Case(
        "two reward models for three fits",
        lambda: fit_many([WORLD] * 3, [RHO] * 3, [1.0] * 3, rewards=[TabularReward(2)] * 2),
        snapshot("2 reward models were given for 3 fits; give one for all, or one for each."),
    ),
    Case(
        "an estimator asked too early",
        lambda: RobustIRL().predict([0]),
        snapshot("this RobustIRL has not learned anything yet; call fit first."),
    ),
    Case(
        "an unknown parameter",
        lambda: RobustIRL().set_params(beta=1.0),
        (f"there is no parameter 'beta'; choose from {', '.join(RobustIRL().get_params())}."),
    ),
    Case(
        "an estimator of demonstrations of another world",
        lambda: RobustIRL().fit(WORLD, WALKS),
        snapshot(
            "episode 0 is in state 2 at step 2, but there are 2 states, numbered from 0; renumber the states or "
            "give the world they belong to."
        ),
    ),
    Case(
        "saving what was not learned",
        lambda: RobustIRL().save("new.npz"),
        snapshot("this RobustIRL has not learned anything yet; call fit first."),
    ),
]
