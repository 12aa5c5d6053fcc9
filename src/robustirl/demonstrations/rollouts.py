"""Make demonstrations by running a policy: in a known world, or in a Gymnasium environment with discrete spaces.

**In a world** all episodes move together, one step at a time; those that have ended drop out, so the work is
proportional to the number of transitions. A state that is never left, whatever is done, ends its episode as terminated;
the horizon truncates the rest.

**In Gymnasium** a space `Discrete(n, start)` numbers from `start`; states and actions here always number from 0. An
episode that terminated in a state that its world can leave is led to the world's end state where it meets the world
(`Demonstrations.in_world`).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from robustirl._check import as_count, as_floats, as_seed, require_distributions, require_memory, require_shape
from robustirl.demonstrations.episodes import Demonstrations
from robustirl.envs.gymnasium import require_gymnasium
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.mdp import absorbing_states, as_world
from robustirl.mdp.policy import as_policy
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import gymnasium
    import scipy.sparse

STATE_BYTES = 90  # A state of an episode, with its action, while episodes are put together.


def sample_demonstrations(
    mdp: MDP, policy: ArrayLike, *, episodes: int, horizon: int, key: PRNGKeyArray, with_actions: bool = True
) -> Demonstrations:
    """Sample episodes of `policy` in `mdp`, from its initial distribution.

    Args:
        mdp: The world of the demonstrator, M^E.
        policy: π(a|s), `[S, A]`.
        episodes: The number of episodes.
        horizon: The most transitions of one episode; 0 draws start states alone.
        key: Where the randomness comes from. The same key gives the same episodes, in either precision.
        with_actions: Record the actions too.

    Example:
        >>> walk = MDP([[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]], discount=0.9, initial=[1.0, 0.0, 0.0])
        >>> demos = sample_demonstrations(walk, [[1.0]] * 3, episodes=2, horizon=10, key=jax.random.key(0))
        >>> demos[0].states.tolist(), demos[0].terminated
        ([0, 1, 2], True)
    """
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    if as_world(mdp).kernel.leaky:
        raise InvalidInputError(
            "a leaky world cannot be sampled, because its rows sum to less than 1;"
            " use the environment's evaluation_mdp instead."
        )
    count, horizon = as_count("the number of episodes", episodes, 1), as_count("the horizon", horizon)
    acting = _Rows(scipy.sparse.csr_array(np.asarray(as_policy(policy, mdp), dtype=np.float64)))
    kernel = mdp.kernel.to_sparse()
    moving, over = _Rows(kernel), absorbing_states(mdp)
    starting = _Rows(scipy.sparse.csr_array(np.asarray(mdp.initial, dtype=np.float64)[None]))
    random = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel())
    if not over.any():  # Elsewhere episodes may end early, and how many states there will be is only seen on the way.
        what = f"{count} episodes with a horizon of {horizon}"
        require_memory(STATE_BYTES * count * (horizon + 1.0), what, "sample fewer or shorter ones")

    going = np.arange(count)
    states = starting.draw(np.zeros(count, dtype=np.int64), random)
    visited, visitors, taken, takers = [states], [going], [], []
    for _ in range(horizon):
        still = ~over[states]
        going, states = going[still], states[still]
        if not going.size:
            break
        actions = acting.draw(states, random)
        states = moving.draw(states * mdp.num_actions + actions, random)
        visited.append(states)
        visitors.append(going)
        taken.append(actions)
        takers.append(going)

    states, order = np.concatenate(visited), np.argsort(np.concatenate(visitors), kind="stable")
    states, lengths = states[order], np.bincount(np.concatenate(visitors), minlength=count)
    actions = None
    if with_actions:
        actions = np.concatenate([*taken, np.zeros(0, dtype=np.int64)])
        actions = actions[np.argsort(np.concatenate([*takers, np.zeros(0, dtype=np.int64)]), kind="stable")]
    return Demonstrations(states, actions, lengths, over[states[np.cumsum(lengths) - 1]])


class _Rows:
    """Draws from the rows of a sparse matrix of probabilities, by inverting cumulative sums.

    One running sum over all entries serves every row: a draw is a bisection in it. Its rounding moves a
    probability by less than 1e-8 for a hundred million rows, and an entry of probability zero is not stored.
    """

    def __init__(self, matrix: "scipy.sparse.csr_array"):
        self.columns = matrix.indices
        self.begin, self.end = matrix.indptr[:-1], matrix.indptr[1:]
        self.running = np.concatenate([[0.0], np.cumsum(matrix.data, dtype=np.float64)])

    def draw(self, rows: Int[np.ndarray, " n"], random: np.random.Generator) -> Int[np.ndarray, " n"]:
        begin, end = self.begin[rows], self.end[rows]
        low, high = self.running[begin], self.running[end]
        target: Float[np.ndarray, " n"] = low + random.random(rows.size) * (high - low)
        entry = np.searchsorted(self.running, target, side="right") - 1
        return self.columns[np.clip(entry, begin, end - 1)].astype(np.int64)


def rollout_gymnasium(
    env: "gymnasium.Env[Any, Any]",
    policy: ArrayLike | Callable[[int], int] | Any,
    *,
    episodes: int,
    horizon: int,
    seed: int,
) -> Demonstrations:
    """Record episodes of `policy` in a Gymnasium environment, whose observations and actions must be discrete.

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
    count, horizon = as_count("the number of episodes", episodes, 1), as_count("the horizon", horizon)
    act = _acting(policy, num_states, num_actions, np.random.default_rng(as_seed("the seed", seed)))
    states, actions, terminated = [], [], []
    for episode in range(count):
        observation, _ = env.reset(seed=seed if episode == 0 else None)
        visited, taken, ended = [int(observation) - first_state], [], False
        while len(taken) < horizon:
            taken.append(act(visited[-1]))
            observation, _, ended, cut, _ = env.step(taken[-1] + first_action)
            visited.append(int(observation) - first_state)
            if ended or cut:
                break
        states.append(visited)
        actions.append(taken)
        terminated.append(bool(ended))
    return Demonstrations.from_arrays(states, actions, terminated=terminated)


def discrete(what: str, space: Any) -> tuple[int, int]:
    """Return how many values a discrete space has and the first of them; `what` names the space in messages."""
    if not isinstance(space, spaces().Discrete):
        raise InvalidInputError(
            f"the {what} are of the kind {type(space).__name__}, but single whole numbers (Discrete) are needed;"
            " continuous ones must be divided into cells first."
        )
    return int(space.n), int(space.start)


def spaces() -> Any:
    """Return the module `gymnasium.spaces`."""
    return require_gymnasium().spaces


def _acting(policy: Any, num_states: int, num_actions: int, random: np.random.Generator) -> Callable[[int], int]:
    """Return a function from state to action."""
    predict: Any = policy if callable(policy) else getattr(policy, "predict", None)
    if callable(predict):

        def chosen(state: int) -> int:
            answer: Any = predict(state if callable(policy) else np.asarray(state))
            answer = answer[0] if isinstance(answer, tuple) else answer  # Agents return an action and a state.
            action = np.asarray(answer).item() if np.ndim(answer) == 0 else answer
            action = as_count(f"the action that the policy takes in state {state}", action)
            if action >= num_actions:
                raise InvalidInputError(
                    f"the policy takes action {action} in state {state}, but there are {num_actions}, numbered from 0."
                )
            return action

        return chosen
    given: Any = policy
    if np.shape(given) != (num_states + 1, num_actions):  # A world of `from_gymnasium` may have an end state more.
        require_shape("the policy", policy, (num_states, num_actions), "states, actions")
    array = as_floats("the policy", policy)
    require_distributions("the policy", array)
    cumulative = np.cumsum(array, axis=-1)

    def drawn(state: int) -> int:
        # Of the running sums, the first that exceeds u times the total: never an action of probability 0.
        return int(np.searchsorted(cumulative[state], random.random() * cumulative[state, -1], side="right"))

    return drawn
