"""Record demonstrations in Gymnasium environments with discrete spaces.

A space `Discrete(n, start)` numbers from `start`; states and actions here always number from 0. In an environment with
a table of its model, the recorded states are those of `envs.from_gymnasium`: where that world has one more state for
ended episodes (Taxi), an episode that terminated ends there.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.envs.gymnasium import RecordedStates, require_gymnasium
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import gymnasium


def rollout_gymnasium(
    env: "gymnasium.Env[Any, Any]",
    policy: ArrayLike | Callable[[int], int] | Any,
    *,
    episodes: int,
    horizon: int,
    seed: int,
) -> Demonstrations:
    """Record episodes of `policy` in a Gymnasium environment.

    Its observations and actions must be discrete.

    Args:
        env: The environment; it is reset with `seed` once and stays open.
        policy: π(a|s) as an array `[S, A]`, a function from state to action, or an agent of stable-baselines3. S is
            the number of observations, or of the states of `envs.from_gymnasium`'s world.
        episodes: The number of episodes.
        horizon: The most transitions of one episode; the environment's own limit may be lower.
        seed: For the environment, and for drawing actions.

    Example:
        >>> import gymnasium
        >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
        >>> right, down = 2, 1
        >>> path = {0: down, 4: down, 8: right, 9: right, 10: down, 14: right}
        >>> demos = rollout_gymnasium(lake, path.__getitem__, episodes=1, horizon=50, seed=0)
        >>> demos[0].states.tolist(), demos[0].terminated
        ([0, 4, 8, 9, 10, 14, 15], True)
    """
    for name in ("observation_space", "action_space", "reset", "step"):
        if not hasattr(env, name):
            raise InvalidInputError(
                f"a Gymnasium environment is needed, but {type(env).__name__} was given; make one with gymnasium.make."
            )
    num_states, first_state = discrete("observations", env.observation_space)
    num_actions, first_action = discrete("actions", env.action_space)
    count, horizon = checks.as_count("the number of episodes", episodes, 1), checks.as_count("the horizon", horizon)
    random = np.random.default_rng(checks.as_seed("the seed", seed))
    known = RecordedStates.of(env)
    act = _acting(policy, {num_states, known.num_states if known else num_states}, num_actions, random)

    states, actions, terminated = [], [], []
    for episode in range(count):
        observation, _ = env.reset(seed=seed if episode == 0 else None)
        visited, taken, ended = [int(observation) - first_state], [], False
        while len(taken) < horizon:
            action = act(visited[-1])
            observation, _, ended, cut, _ = env.step(action + first_action)
            taken.append(action)
            state = int(observation) - first_state
            visited.append(known.after(state, bool(ended)) if known else state)
            if ended or cut:
                break
        states.append(visited)
        actions.append(taken)
        terminated.append(bool(ended))
    return Demonstrations.from_arrays(states, actions, terminated=terminated)


def discrete(what: str, space: Any) -> tuple[int, int]:
    """Return how many values a discrete space has and the first of them.

    `what` names the space in error messages.
    """
    if not isinstance(space, spaces().Discrete):
        kind = type(space).__name__
        raise InvalidInputError(
            f"the {what} are of the kind {kind}, but single whole numbers (Discrete) are needed;"
            " continuous ones must be divided into cells first."
        )
    return int(space.n), int(space.start)


def spaces_of(env: Any) -> tuple[Any, Any]:
    """Return the observation and action spaces of an environment.

    It may also be given by an id or a spec.
    """
    gymnasium = require_gymnasium()
    if isinstance(env, gymnasium.Env):
        return env.observation_space, env.action_space
    made = gymnasium.make(env)
    made.close()
    return made.observation_space, made.action_space


def spaces() -> Any:
    """Return the module `gymnasium.spaces`."""
    return require_gymnasium().spaces


def _first_of(predict: Callable[..., Any]) -> Callable[[int], int]:
    """Return a function from state to action.

    `predict` returns an action, or an action and a state.
    """

    def act(state: int) -> int:
        found = predict(np.asarray(state))
        return np.asarray(found[0] if isinstance(found, tuple) else found).item()

    return act


def _acting(
    policy: ArrayLike | Callable[[int], int] | Any, sizes: set[int], num_actions: int, random: np.random.Generator
) -> Callable[[int], int]:
    if not callable(policy) and callable(predict := getattr(policy, "predict", None)):
        return _acting(_first_of(predict), sizes, num_actions, random)
    if callable(policy):

        def chosen(state: int) -> int:
            action = checks.as_count(f"the action that the policy takes in state {state}", policy(state))
            if action >= num_actions:
                raise InvalidInputError(
                    f"the policy takes action {action} in state {state}, but there are {num_actions}, numbered from 0."
                )
            return action

        return chosen
    # Either number of rows is as good: no action is taken in the state of ended episodes.
    if np.shape(policy) not in {(size, num_actions) for size in sizes}:  # pyright: ignore[reportArgumentType, reportCallIssue]
        checks.require_shape("the policy", policy, (max(sizes), num_actions), "states, actions")
    array = checks.as_floats("the policy", policy)
    checks.require_distributions("the policy", array)
    cumulative = np.cumsum(array, axis=-1)

    def drawn(state: int) -> int:
        # Of the running sums, the first that exceeds u times the total: never an action of probability 0.
        return int(np.searchsorted(cumulative[state], random.random() * cumulative[state, -1], side="right"))

    return drawn
