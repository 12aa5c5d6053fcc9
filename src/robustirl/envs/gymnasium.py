r"""Read worlds from Gymnasium: tables of toy text exactly, and vector environments that step themselves.

Toy-text environments of Gymnasium hold their model as `env.unwrapped.P[s][a]`, a list of outcomes (probability, next
state, reward, terminated). Here an episode that has ended is a state that keeps whatever enters it and pays nothing,
so the flag on a transition has to become a property of states. A state is made absorbing if every transition that can
enter it ends the episode (the holes and the goal of FrozenLake, the goal of CliffWalking). Where a state is entered
with the flag and without it (Taxi, whose states after a delivery are tabulated as if the ride went on), the transitions
that end the episode lead to one more state instead, numbered last (`end`). Either way the values of all states that are
not absorbing are those of the table.

The reward is R(s,a) = Σ p r, `[S, A]`, which has the values of the table exactly, at this table's dynamics
(`robustirl.envs.toy_text` has FrozenLake and CliffWalking with rewards of states).

A vector environment steps itself in Python, on the CPU. Nothing of it is traced, so any environment whose observations
and actions are numbers will do: observations are Boxes or Discrete (as one-hot vectors), flattened; actions are Boxes,
or Discrete: the action of the largest of n numbers. Importing this module needs no Gymnasium, calling it does.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from robustirl._check import as_count, one_line, require_callable
from robustirl.envs.tables import Outcomes, TabularEnvironment
from robustirl.errors import InvalidInputError
from robustirl.mdp.mdp import require_discount
from robustirl.types import HostStep

if TYPE_CHECKING:
    import gymnasium

Table = dict[tuple[int, int], list[tuple[float, int, float, bool]]]
ATTRIBUTES = ("P", "initial_state_distrib")


def require_gymnasium() -> Any:
    """Return the module `gymnasium`, or refuse with the command that installs it."""
    try:
        import gymnasium
    except ImportError:
        raise InvalidInputError(
            "this needs gymnasium, which is not installed; run `pip install 'robustirl[gymnasium]'`."
        ) from None
    return gymnasium


def from_gymnasium(
    env: "str | gymnasium.Env", *, name: str | None = None, discount: float = 0.99, **options: Any
) -> TabularEnvironment:
    """Read the world of a Gymnasium environment that has a table `P` of its model, exactly.

    Episodes that `demonstrations.rollout_gymnasium` records in the same environment are episodes of this world, once
    `Demonstrations.in_world` has led them to the end state.

    Args:
        env: An environment, or the id of one.
        name: The name of the environment; its id if omitted.
        discount: γ, which Gymnasium does not know.
        options: Go to `gymnasium.make` along with an id: `is_slippery`, `map_name`, `is_rainy` and so on.

    Example:
        >>> lake = from_gymnasium("FrozenLake-v1", is_slippery=False)
        >>> lake.mdp().num_states, lake.reward.shape, float(lake.reward[14, 2])  # Right, into the goal.
        (16, (16, 4), 1.0)
    """
    made = _open(env, options)
    try:
        model = made.unwrapped
        given = made.spec.id if made.spec is not None else type(model).__name__
        table, start = _read(model, given)
    finally:
        if isinstance(env, str):
            made.close()
    size, actions = len(start), 1 + max(action for _, action in table)
    ends = _ending_states(table, start)
    outcomes, rewards = _assemble(table, size, actions, ends)
    extra = len(outcomes.next_states) - size
    return TabularEnvironment(
        name or given,
        outcomes=outcomes,
        rewards=rewards,
        initial=np.append(start, np.zeros(extra)),
        discount=discount,
        last=size if extra else None,
    )


def _open(env: Any, options: dict[str, Any]) -> Any:
    gymnasium = require_gymnasium()
    if isinstance(env, gymnasium.Env):
        if options:
            raise InvalidInputError(
                f"the options {', '.join(options)} go with an environment's id, but an environment was given;"
                " make it with them."
            )
        return env
    if not isinstance(env, str):
        raise InvalidInputError(f"{env!r} was given, but a Gymnasium environment or the id of one is needed.")
    try:
        return gymnasium.make(env, **options)
    except (gymnasium.error.Error, TypeError, ValueError, KeyError) as error:
        raise InvalidInputError(f"Gymnasium cannot make {env!r} with options {options} ({one_line(error)}).") from None


def _read(model: Any, name: str) -> tuple[Table, np.ndarray]:
    """Return an environment's table with outcomes merged, and the distribution of its starts."""
    for attribute in ATTRIBUTES:
        if not hasattr(model, attribute):
            raise InvalidInputError(
                f"{name} has no attribute {attribute}, so its model cannot be read; environments with a table,"
                " such as FrozenLake-v1, CliffWalking-v1 and Taxi-v4, have one."
            )
    if getattr(model, "fickle_passenger", False):
        raise InvalidInputError(
            f"the passenger of {name} is fickle, which its table P does not say; set fickle_passenger=False."
        )
    return _read_table(model, name)


def _read_table(model: Any, name: str) -> tuple[Table, np.ndarray]:
    start = np.asarray(model.initial_state_distrib, dtype=float)
    table: Table = {}
    for state, actions in model.P.items():
        for action, outcomes in actions.items():
            merged: dict[tuple[int, float, bool], float] = {}
            for probability, successor, reward, ended in outcomes:
                key = (int(successor), float(reward), bool(ended))
                merged[key] = merged.get(key, 0.0) + float(probability)
            table[int(state), int(action)] = [
                (probability, *key) for key, probability in merged.items() if probability != 0
            ]
    states = {state for state, _ in table} | {outcome[1] for outcomes in table.values() for outcome in outcomes}
    if states != set(range(len(start))):
        raise InvalidInputError(
            f"the table P of {name} names {len(states)} states from {min(states)} to {max(states)}, but the states that"
            f" episodes may start in are numbered from 0 to {len(start) - 1}; they must be the same."
        )
    return table, start


def _ending_states(table: Table, start: np.ndarray) -> set[int]:
    """Return the states that are entered with the flag only, and so may be absorbing themselves.

    The transitions out of such a state are never made, so they do not count: the largest set is found by striking out.
    """
    ends = {outcome[1] for outcomes in table.values() for outcome in outcomes if outcome[3]}
    ends -= set(np.flatnonzero(start).tolist())
    while True:
        entered = {
            successor
            for (state, _), outcomes in table.items()
            if state not in ends
            for _, successor, _, ended in outcomes
            if not ended
        }
        if not ends & entered:
            return ends
        ends -= entered


def _needs_end(table: Table, ends: set[int]) -> bool:
    """Return whether a transition ends an episode in a state that is not absorbing itself."""
    return any(
        ended and successor not in ends
        for (state, _), outcomes in table.items()
        if state not in ends
        for _, successor, _, ended in outcomes
    )


def _assemble(table: Table, size: int, actions: int, ends: set[int]) -> tuple[Outcomes, np.ndarray]:
    """Return outcomes and R(s,a); ended episodes lead to absorbing states."""
    end = size  # The number of the extra state, should it be needed.
    total = size + _needs_end(table, ends)
    depth = max(map(len, table.values()))
    next_states = np.zeros((total, actions, depth), dtype=int) + np.arange(total)[:, None, None]
    probabilities, rewards = np.zeros((total, actions, depth)), np.zeros((total, actions))
    for (state, action), outcomes in table.items():
        if state in ends:
            continue
        for place, (probability, successor, reward, ended) in enumerate(outcomes):
            goal = end if ended and successor not in ends else successor
            next_states[state, action, place], probabilities[state, action, place] = goal, probability
            rewards[state, action] += probability * reward
    probabilities[[*ends, *range(size, total)], :, 0] = 1
    return Outcomes(next_states, probabilities), rewards


DEFAULT_HORIZON = 1000
"""The length of an episode where neither the caller nor the environment gives one."""
MOST_ENVIRONMENTS = 100_000
"""Environments of Gymnasium in one process; CartPole, one of the smallest, takes 5.9 kB."""


class VectorWorld:
    """A vector environment with what training needs; see `from_gymnasium_vector`."""

    def __init__(
        self,
        envs: Any,
        *,
        discount: float,
        features: Callable[[Float[np.ndarray, "N o"]], Float[np.ndarray, "N d"]] | None,
        horizon: int | None,
        seed: int,
    ):
        self.envs = envs
        self.discount: float = require_discount(discount)
        if features is not None:
            require_callable("features", features, "a function of observations")
        self._features = features
        self._seed: int | None = as_count("the seed", seed, 0, 2**32 - 1)
        self._mode = _autoreset_mode(envs)
        self._resets = _resets_by_mask(envs)
        self._choice, self._low, self._high = _actions_of(envs.single_action_space)
        self._flatten = _flattener(envs.single_observation_space)
        self.environments: int = int(envs.num_envs)
        self.horizon: int = _horizon_of(envs) if horizon is None else as_count("the horizon", horizon, 1)
        self.action_size: int = self._choice or len(self._low)
        self.bounds: tuple[np.ndarray, np.ndarray] | None = None if self._choice else (self._low, self._high)
        self._ages = np.zeros(self.environments, int)
        self._pending = np.zeros(self.environments, bool)
        self.width: int = self.reset().shape[1]

    def reset(self) -> Float[np.ndarray, "N d"]:
        """Begin all episodes, and return what is seen.

        The seed is used once, so that later episodes differ.
        """
        seen, _ = self.envs.reset(seed=self._seed)
        self._seed = None
        self._ages[:] = 0
        self._pending[:] = False
        return self._look(seen)

    def advance(self, actions: Float[np.ndarray, "N a"]) -> HostStep:
        """Take one step in every environment; an episode at the horizon is cut off."""
        counted = ~self._pending
        seen, paid, terminated, truncated, infos = self.envs.step(self._as_actions(np.asarray(actions)))
        terminated, truncated = np.asarray(terminated, bool) & counted, np.asarray(truncated, bool) & counted
        after = onward = self._look(seen)
        ended = terminated | truncated
        if self._mode == "SameStep" and ended.any():
            after = self._look(_final_observations(seen, infos, ended))
        self._ages = np.where(counted, self._ages + 1, 0)
        late = counted & ~ended & (self._ages >= self.horizon)
        over = ended | late
        self._pending = np.zeros_like(over)
        begin = late if self._mode == "SameStep" else over
        if begin.any() and self._resets:
            fresh, _ = self.envs.reset(options={"reset_mask": begin})
            onward = np.where(begin[:, None], self._look(fresh), onward)
        elif begin.any():
            if late.any():
                raise InvalidInputError(
                    f"an episode has not ended after {self.horizon} steps, and {type(self.envs).__name__} cannot begin"
                    " single environments anew; make it with vectorization_mode='sync', or with max_episode_steps."
                )
            self._pending = over  # The next step begins these anew.
        self._ages = np.where(over, 0, self._ages)
        return HostStep(after, np.asarray(paid, float) * counted, terminated, truncated | late, onward, counted)

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()

    def _look(self, seen: Any) -> Float[np.ndarray, "N d"]:
        flat = self._flatten(seen)
        return flat if self._features is None else np.asarray(self._features(flat), float)

    def _as_actions(self, actions: Float[np.ndarray, "N a"]) -> np.ndarray:
        space = self.envs.single_action_space
        if self._choice:
            return (actions.argmax(1) + int(getattr(space, "start", 0))).astype(space.dtype)
        return np.clip(actions, self._low, self._high).astype(space.dtype).reshape(-1, *space.shape)

    def __repr__(self) -> str:
        name = getattr(getattr(self.envs, "spec", None), "id", type(self.envs).__name__)
        kind = f"one of {self._choice} actions" if self._choice else f"{self.action_size} numbers an action"
        return f"VectorWorld({name}: {self.environments} environments, {self.width} numbers seen, {kind})"


def from_gymnasium_vector(
    envs: Any,
    *,
    environments: int = 16,
    discount: float = 0.99,
    features: Callable[[Float[np.ndarray, "N o"]], Float[np.ndarray, "N d"]] | None = None,
    horizon: int | None = None,
    seed: int = 0,
) -> VectorWorld:
    """Return a world of a Gymnasium vector environment.

    It is for `train_policy`, `record` and `RobustImitation`.

    Args:
        envs: A `gymnasium.vector.VectorEnv`, in any autoreset mode; or the name of an environment, which is then made
            with `gymnasium.make_vec`, one after the other in this process.
        environments: How many to make of a name.
        discount: γ.
        features: φ, of all observations at once, `[N, o]` to `[N, d]`; the observations themselves if omitted.
        horizon: After how many steps an episode is cut off; the environment's own limit if omitted, else 1000.
        seed: Of the environments.

    Example:
        >>> world = from_gymnasium_vector("CartPole-v1", environments=4)
        >>> world
        VectorWorld(CartPole-v1: 4 environments, 4 numbers seen, one of 2 actions)
        >>> step = world.advance(np.array([[0.0, 1.0]] * 4))
        >>> step.after.shape, step.paid.tolist()
        ((4, 4), [1.0, 1.0, 1.0, 1.0])
    """
    gymnasium = require_gymnasium()
    if isinstance(envs, str):
        count = as_count("environments", environments, 1, MOST_ENVIRONMENTS)
        try:
            envs = gymnasium.make_vec(envs, num_envs=count, vectorization_mode="sync")
        except gymnasium.error.Error as error:
            raise InvalidInputError(
                f"Gymnasium cannot make {envs!r} ({one_line(error)}); give a registered name."
            ) from None
    if not isinstance(envs, gymnasium.vector.VectorEnv):
        raise InvalidInputError(
            f"the environments are a {type(envs).__name__}, but a gymnasium.vector.VectorEnv or the name of an"
            " environment is needed; make one with gymnasium.make_vec."
        )
    return VectorWorld(envs, discount=discount, features=features, horizon=horizon, seed=seed)


def _actions_of(space: Any) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of choices of a Discrete space, else zero and the bounds of a Box."""
    kinds = require_gymnasium().spaces
    if isinstance(space, kinds.Discrete):
        return int(space.n), np.zeros(0), np.zeros(0)
    if not isinstance(space, kinds.Box) or space.dtype.kind != "f":
        raise InvalidInputError(
            f"the action space is {space}, but a Box of real numbers or a Discrete space is needed."
        )
    low, high = (np.asarray(bound, float).ravel() for bound in (space.low, space.high))
    return 0, low, high


def _flattener(space: Any) -> Callable[[Any], Float[np.ndarray, "N o"]]:
    kinds = require_gymnasium().spaces
    if isinstance(space, kinds.Discrete):
        return lambda seen: np.eye(int(space.n))[np.asarray(seen) - int(space.start)]
    if not isinstance(space, kinds.Box):
        raise InvalidInputError(
            f"the observation space is {space}, but a Box or a Discrete space is needed; wrap the environments in"
            " gymnasium.wrappers.vector.FlattenObservation."
        )
    return lambda seen: np.array(seen, float).reshape(len(seen), -1)


def _autoreset_mode(envs: Any) -> str:
    mode = getattr(envs, "metadata", {}).get("autoreset_mode", "NextStep")
    return str(getattr(mode, "value", mode))


def _resets_by_mask(envs: Any) -> bool:
    """Return whether single environments can be reset.

    They can in Gymnasium's own two vector environments, and where there is no autoreset.
    """
    vector = require_gymnasium().vector
    return (
        isinstance(envs.unwrapped, vector.SyncVectorEnv | vector.AsyncVectorEnv) or _autoreset_mode(envs) == "Disabled"
    )


def _horizon_of(envs: Any) -> int:
    spec = getattr(envs, "spec", None)
    return int(getattr(spec, "max_episode_steps", None) or DEFAULT_HORIZON)


def _final_observations(seen: Any, infos: dict[str, Any], ended: np.ndarray) -> np.ndarray:
    """Return what was seen before environments began anew within the step."""
    final = np.array(seen)
    for index in np.flatnonzero(ended):
        final[index] = infos["final_obs"][index]
    return final
