r"""Read the tables of Gymnasium's environments as worlds.

Toy-text environments of Gymnasium hold their model as `env.unwrapped.P[s][a]`, a list of outcomes (probability, next
state, reward, terminated). Here an episode that has ended is a state that keeps whatever enters it and pays nothing,
so the flag on a transition has to become a property of states. A state is made absorbing if every transition that can
enter it ends the episode (the holes and the goal of FrozenLake, the goal of CliffWalking). Where a state is entered
with the flag and without it (Taxi, whose states after a delivery are tabulated as if the ride went on), the transitions
that end the episode lead to one more state instead, numbered last. Either way the values of all states that are not
absorbing are those of the table.

The reward is R(s,a) = Σ p r, `[S, A]`, which has the values of the table exactly, at this table's dynamics. Inverse
reinforcement learning looks for rewards of states alone, so `state_reward` gives one of those that is as good, where
there is one. If r depends on the state entered only, r = d(s'), then

    R(s) = d(s) / γ,    and (1-γ) d(s) / γ, at every step, in an absorbing state,

makes the value of every policy V(s) + d(s) / γ: another origin for each state, and so the same preference among
policies, in whatever way the world moves. FrozenLake has such a reward; CliffWalking, where a fall and a step back both
enter the start, and Taxi, which punishes idle actions, have none (`robustirl.envs.toy_text` rearranges the former).
"""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from robustirl.envs.gymnasium._guard import require_gymnasium
from robustirl.envs.tabular import Outcomes, TabularEnvironment
from robustirl.errors import InvalidInputError
from robustirl.mdp import never_left

if TYPE_CHECKING:
    import gymnasium

Table = dict[tuple[int, int], list[tuple[float, int, float, bool]]]
ATTRIBUTES = ("P", "initial_state_distrib")


@dataclasses.dataclass(frozen=True)
class RecordedStates:
    """Say which state of `from_gymnasium`'s world an episode has reached.

    Attributes:
        num_states: |S| of that world: the environment's, and one more if the end of an episode needs its own state.
        ends: The states that are absorbing themselves.
        end: The extra state, or None if there is none.
    """

    num_states: int
    ends: frozenset[int]
    end: int | None

    @classmethod
    def of(cls, env: Any) -> "RecordedStates | None":
        """Return the states of an environment with a table, or None if it has none.

        Example:
            >>> import gymnasium
            >>> RecordedStates.of(gymnasium.make("Taxi-v4")).end, RecordedStates.of(gymnasium.make("FrozenLake-v1")).end
            (500, None)
            >>> RecordedStates.of(gymnasium.make("Blackjack-v1")) is None
            True
        """
        model = env.unwrapped
        if not all(hasattr(model, attribute) for attribute in ATTRIBUTES):
            return None
        try:
            table, start = _read_table(model, type(model).__name__)
        except InvalidInputError:
            return None  # `from_gymnasium` refuses it, so there is no world for the episodes to agree with.
        ends = _ending_states(table, start)
        extra = _needs_end(table, ends)
        return cls(len(start) + extra, frozenset(ends), len(start) if extra else None)

    def after(self, state: int, terminated: bool) -> int:
        """Return the state of the world that a step into `state` has led to."""
        return self.end if terminated and self.end is not None and state not in self.ends else state


def from_gymnasium(
    env: "str | gymnasium.Env", *, name: str | None = None, discount: float = 0.99, **options: Any
) -> TabularEnvironment:
    """Read the world of a Gymnasium environment that has a table `P` of its model, exactly.

    Episodes that `demonstrations.rollout_gymnasium` records in the same environment are episodes of this world.

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
    outcomes, rewards, landing = _assemble(table, size, actions, ends)
    extra = len(outcomes.next_states) - size
    return TabularEnvironment(
        name or given,
        outcomes=outcomes,
        rewards=rewards,
        initial=np.append(start, np.zeros(extra)),
        discount=discount,
        state_reward=_state_reward(rewards, landing, outcomes, discount),
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
        reason = " ".join(str(error).split()).rstrip(".")
        raise InvalidInputError(f"Gymnasium cannot make {env!r} with options {options} ({reason}).") from None


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


def _assemble(
    table: Table, size: int, actions: int, ends: set[int]
) -> tuple[Outcomes, np.ndarray, dict[int, set[float]]]:
    """Return outcomes, R(s,a) and the rewards met on entering each state.

    Ended episodes lead to absorbing states.
    """
    end = size  # The number of the extra state, should it be needed.
    total = size + _needs_end(table, ends)
    depth = max(map(len, table.values()))
    next_states = np.zeros((total, actions, depth), dtype=int) + np.arange(total)[:, None, None]
    probabilities, rewards = np.zeros((total, actions, depth)), np.zeros((total, actions))
    landing: dict[int, set[float]] = {}
    for (state, action), outcomes in table.items():
        if state in ends:
            continue
        for place, (probability, successor, reward, ended) in enumerate(outcomes):
            goal = end if ended and successor not in ends else successor
            next_states[state, action, place], probabilities[state, action, place] = goal, probability
            rewards[state, action] += probability * reward
            landing.setdefault(goal, set()).add(reward)
    probabilities[[*ends, *range(size, total)], :, 0] = 1
    return Outcomes(next_states, probabilities), rewards, landing


def _state_reward(
    rewards: np.ndarray, landing: dict[int, set[float]], outcomes: Outcomes, discount: float
) -> np.ndarray | None:
    """Return a reward of states that is as good as R(s,a) by the module's formula, or None."""
    if np.all(rewards == rewards[:, :1]):
        return rewards[:, 0]
    if not 0 < discount < 1 or any(len(met) > 1 for met in landing.values()):
        return None
    size = len(rewards)
    entry = np.array([next(iter(landing.get(state, {0.0}))) for state in range(size)])
    return np.where(never_left(*outcomes), 1 - discount, 1.0) * entry / discount
