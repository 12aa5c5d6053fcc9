"""Demonstrations from Gymnasium environments with discrete spaces.

The one file of this package that imports gymnasium, and only when it is called.
A space `Discrete(n, start)` numbers from `start`; states and actions here always number from 0.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import gymnasium


def rollout_gymnasium(
    env: "gymnasium.Env[Any, Any]",
    policy: ArrayLike | Callable[[int], int],
    *,
    episodes: int,
    horizon: int,
    seed: int,
) -> Demonstrations:
    """Episodes of `policy` in a Gymnasium environment with discrete observations and actions.

    Args:
        env: The environment; it is reset with `seed` once and stays open.
        policy: π(a|s) as an array `[S, A]`, or a function from state to action.
        episodes: How many.
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
    random = np.random.default_rng(checks.as_count("the seed", seed))
    act = _acting(policy, num_states, num_actions, random)

    states, actions, terminated = [], [], []
    for episode in range(count):
        observation, _ = env.reset(seed=seed if episode == 0 else None)
        visited, taken, ended = [int(observation) - first_state], [], False
        while len(taken) < horizon:
            action = act(visited[-1])
            observation, _, ended, cut, _ = env.step(action + first_action)
            taken.append(action)
            visited.append(int(observation) - first_state)
            if ended or cut:
                break
        states.append(visited)
        actions.append(taken)
        terminated.append(bool(ended))
    return Demonstrations.from_arrays(states, actions, terminated=terminated)


def discrete(what: str, space: Any) -> tuple[int, int]:
    """How many values a discrete space has and the first of them; `what` names it in the refusal of any other."""
    if not isinstance(space, spaces().Discrete):
        kind = type(space).__name__
        raise InvalidInputError(
            f"the {what} are of the kind {kind}, but single whole numbers (Discrete) are needed;"
            " continuous ones must be divided into cells first."
        )
    return int(space.n), int(space.start)


def spaces_of(env: Any) -> tuple[Any, Any]:
    """The observation and action spaces of an environment, or of one that an id or a spec describes."""
    import gymnasium

    if isinstance(env, gymnasium.Env):
        return env.observation_space, env.action_space
    made = gymnasium.make(env)
    made.close()
    return made.observation_space, made.action_space


def spaces() -> Any:
    """The module `gymnasium.spaces`."""
    try:
        import gymnasium.spaces
    except ImportError:
        raise InvalidInputError(
            "this needs gymnasium, which is not installed; run `pip install 'robustirl[gymnasium]'`."
        ) from None
    return gymnasium.spaces


def _acting(
    policy: ArrayLike | Callable[[int], int], num_states: int, num_actions: int, random: np.random.Generator
) -> Callable[[int], int]:
    if callable(policy):

        def chosen(state: int) -> int:
            action = checks.as_count(f"the action that the policy takes in state {state}", policy(state))
            if action >= num_actions:
                raise InvalidInputError(
                    f"the policy takes action {action} in state {state}, but there are {num_actions}, numbered from 0."
                )
            return action

        return chosen
    checks.require_shape("the policy", policy, (num_states, num_actions), "states, actions")
    array = checks.as_floats("the policy", policy)
    checks.require_distributions("the policy", array)
    cumulative = np.cumsum(array, axis=-1)

    def drawn(state: int) -> int:
        # Of the running sums, the first that exceeds u times the total: never an action of probability 0.
        return int(np.searchsorted(cumulative[state], random.random() * cumulative[state, -1], side="right"))

    return drawn
