"""What an estimator does with what it has learned: act, and be scored on further episodes of the expert."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from jaxtyping import Float, Int

from robustirl._runtime import short_traceback, warn_renamed
from robustirl.demonstrations import Demonstrations, OccupancyEstimate
from robustirl.demonstrations.episodes import Episode, as_whole_numbers
from robustirl.errors import InvalidInputError
from robustirl.irl._learned import Learned
from robustirl.irl.acting import ActingPolicy, draw_actions
from robustirl.irl.inputs import from_episodes
from robustirl.irl.likelihood import move_log_likelihoods
from robustirl.mdp import MDP, checks
from robustirl.types import ArrayLike


class Predictions(Learned):
    """The part of `RobustIRL` that acts and is scored."""

    @short_traceback
    def predict_proba(self, states: ArrayLike) -> Float[np.ndarray, "*n A"]:
        """Return π_pl(·|s) for each of the states, or for one state."""
        policy = np.asarray(self._fitted().player)
        given: Any = states
        if isinstance(given, Demonstrations | Episode):
            raise InvalidInputError(
                f"the states are of the type {type(given).__name__}, but an array of states is needed; give its"
                " attribute .states."
            )
        single = checks.shape_of("the array of states", given) == ()
        asked = as_whole_numbers("the array of states", np.asarray(given)[None] if single else given)
        if asked.size and asked.max() >= len(policy):
            raise InvalidInputError(
                f"state {int(asked.max())} was asked about, but there are {len(policy)} states, numbered from 0."
            )
        return policy[asked[0]] if single else policy[asked]

    @overload
    def predict(self, states: int | np.integer) -> int: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def predict(self, states: ArrayLike) -> Int[np.ndarray, " n"]: ...

    def predict(self, states: ArrayLike) -> Int[np.ndarray, " n"] | int:
        """Return the most likely action in each of the states, or in one.

        Of equally likely actions the first is returned.
        """
        actions = np.argmax(self.predict_proba(states), axis=-1)
        return int(actions) if np.ndim(actions) == 0 else actions

    @short_traceback
    def sample(self, states: ArrayLike, *, seed: int | np.random.Generator | None = None) -> Any:
        """Return an action drawn from π_pl in each of the states, or in one.

        Args:
            states: A state, or an array of them.
            seed: A seed, or a generator of NumPy.

        Example:
            >>> from robustirl.envs import ThreeState
            >>> from robustirl.irl import RobustIRL
            >>> model = RobustIRL(1.0).fit(ThreeState().mdp(), [0.1, 0.8, 0.1])
            >>> model.sample([0, 0, 0, 0], seed=1).tolist(), model.sample(0, seed=1)
            ([0, 1, 0, 1], 0)
        """
        return draw_actions(self.predict_proba(states), seed)

    def as_sb3(self, *, seed: int | None = None) -> ActingPolicy:
        """Return the player with the `predict` of stable-baselines3, which returns action and state.

        Its tools then take it, such as `evaluate_policy(model.as_sb3(), env)`.
        """
        self._fitted()
        return ActingPolicy(self.predict, lambda states, generator: self.sample(states, seed=generator), seed)

    @short_traceback
    def score(
        self,
        mdp: MDP | Sequence[MDP] | Demonstrations | OccupancyEstimate | ArrayLike,
        demonstrations: Demonstrations | Sequence[Episode] | None = None,
    ) -> float:
        """Return the mean log-probability of the expert's moves under what was learned.

        Higher is better. The model is the mixture: with probability α the player's move, otherwise a disturbance (see
        `robustirl.irl.likelihood`). Only states are used. Score episodes that `fit` has not seen: then scores of
        different α can be compared, by hand or with scikit-learn:

            GridSearchCV(RobustIRL(), {"alpha": [1, 0.95, 0.9]}).fit([world] * len(demonstrations), demonstrations)

        Args:
            mdp: The learner's world, or the same world once for each episode. If omitted, the world of `fit` is used,
                and the demonstrations are the only argument.
            demonstrations: Episodes of the expert.
        """
        found = self._fitted()
        if demonstrations is None:
            given, world = mdp, vars(self).get("world_")
        else:
            given, world = demonstrations, one_world(mdp)
        if not isinstance(given, Demonstrations | list | tuple) or (given and not isinstance(given[0], Episode)):
            return self._occupancy_score(given)
        if world is None:
            raise InvalidInputError(
                "this estimator was read from a file, which holds no world; call score(world, demonstrations)."
            )
        walks = from_episodes(given)
        if (found.player.shape) != (world.num_states, world.num_actions):
            raise InvalidInputError(
                f"the world has {world.num_states} states and {world.num_actions} actions, but the fit has"
                f" {found.player.shape[0]} and {found.player.shape[1]}; give the world it was made in."
            )
        walks.check_against(world)
        chances, _ = move_log_likelihoods(world, found, walks)
        if not chances.size:
            raise InvalidInputError(
                "the demonstrations hold no move out of a state that can be left, so there is nothing to score;"
                " give longer episodes."
            )
        return float(chances.mean())

    def _occupancy_score(self, given: Any) -> float:
        """Return minus the distance of an occupancy, as version 0.1 did.

        It cannot compare different α.
        """
        warn_renamed("RobustIRL.score(occupancy)")
        found = self._fitted()
        held_out: Any = given.occupancy if isinstance(given, OccupancyEstimate) else given
        checks.require_shape("the occupancy", held_out, (found.player.shape[0],), "states")
        return -float(np.abs(np.asarray(found.occupancy) - np.asarray(held_out)).sum())


def one_world(mdp: Any) -> MDP:
    """Return a world as it is, or the one that a sequence repeats."""
    if isinstance(mdp, list | tuple):
        if not mdp or any(other is not mdp[0] for other in mdp):
            raise InvalidInputError(
                f"{len(mdp)} worlds were given that are not one and the same; give the learner's world, alone or"
                " repeated for each episode."
            )
        return mdp[0]
    return mdp
