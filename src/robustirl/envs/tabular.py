r"""Environments given by a table of outcomes, and what noise makes of them.

At noise ε the world is T_ε = (1-ε) T + ε T̄ with the disturbance T̄ of a noise model. Two are known for any table:

`uniform-state`
    T̄ is uniform over all states.
`uniform-action`
    T̄(·|s,a) is that of an action drawn uniformly from those that exist in s.

A table may bring its own (slippery ice, wind, rain). Noise leaves some states alone: those that keep whatever enters
them, and others that the environment names.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from robustirl.envs.environment import Environment
from robustirl.envs.gridworld import frozen
from robustirl.envs.noise import UNIFORM_ACTION, UNIFORM_STATE
from robustirl.errors import InvalidInputError
from robustirl.mdp import (
    MDP,
    as_floats,
    banded_or_lists,
    compact_kernel,
    never_left,
    require_discount,
    require_finite,
)

DENSE_STATES = 1000  # Up to here an array `[S, A, S]` is small enough to be written down first.


class Outcomes(NamedTuple):
    """Where actions lead: successors n(s,a,k) with probabilities p(s,a,k), both `[S, A, K]`.

    Example:
        >>> coin = Outcomes(np.array([[[0, 1]], [[1, 1]]]), np.array([[[0.5, 0.5]], [[1.0, 0.0]]]))
        >>> coin.dense().tolist()
        [[[0.5, 0.5]], [[0.0, 1.0]]]
    """

    next_states: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def certain(cls, moves: np.ndarray) -> "Outcomes":
        """Return the outcomes of a world without chance, whose actions lead to `moves`, `[S, A]`."""
        return cls(moves[..., None], np.ones((*moves.shape, 1)))

    def after(self, order: np.ndarray) -> "Outcomes":
        """Return the outcomes with the actions in another order.

        Action a has those of `order[a]`, or of `order[s, a]`.
        """
        order = np.broadcast_to(order, self.next_states.shape[:2])
        states = np.arange(len(order))[:, None]
        return Outcomes(self.next_states[states, order], self.probabilities[states, order])

    def dense(self) -> np.ndarray:
        """Return the kernel as an array `[S, A, S]`, outcomes listed more than once added up."""
        size, actions, _ = self.next_states.shape
        rows = np.arange(size * actions).reshape(size, actions, 1)
        places = (rows * size + self.next_states).ravel()
        return np.bincount(places, self.probabilities.ravel(), size * actions * size).reshape(size, actions, size)


def blend(*parts: tuple[float, Outcomes]) -> Outcomes:
    """Return the mixture Σ w T of weighted outcomes.

    Example:
        >>> still, onward = (Outcomes.certain(np.array([[0], [1]])), Outcomes.certain(np.array([[1], [0]])))
        >>> blend((0.75, still), (0.25, onward)).dense()[0].tolist()
        [[0.75, 0.25]]
    """
    return Outcomes(
        np.concatenate([part.next_states for _, part in parts], -1),
        np.concatenate([weight * part.probabilities for weight, part in parts], -1),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class TabularEnvironment(Environment):
    """An environment made of a table.

    Args:
        name: What to call it.
        outcomes: Where actions lead without noise; an action whose probabilities are all zero does not exist.
        rewards: R(s), `[S]`, or R(s,a), `[S, A]`. It is the same at every noise: an `[S, A]` reward pays for the action
            chosen, whatever becomes of it.
        initial: P₀, `[S]`; uniform if omitted.
        discount: γ.
        disturbances: T̄ by the name of the noise model; the first is the environment's default.
        calm: `[S]`, states that noise leaves alone, besides those that keep whatever enters them.
        state_reward: R(s), `[S]`, that stands in for an `[S, A]` reward where only states can be rewarded, if there is
            one.
        shape: Rows and columns, if the first states are the cells of a grid, row by row.

    Example:
        >>> table = Outcomes.certain(np.array([[1, 0], [1, 1]]))
        >>> env = TabularEnvironment("doors", outcomes=table, rewards=np.array([[-1.0, -2.0], [0.0, 0.0]]))
        >>> env.noise_models, env.mdp(0.5, "uniform-action").kernel.row_sums().tolist()
        (('uniform-state', 'uniform-action'), [[1.0, 1.0], [1.0, 1.0]])
    """

    outcomes: Outcomes
    rewards: np.ndarray
    initial: np.ndarray | None = None
    discount: float = 0.99
    disturbances: Mapping[str, Outcomes] = dataclasses.field(default_factory=dict)
    calm: np.ndarray | None = None
    state_reward: np.ndarray | None = None
    shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        pairs = self.outcomes.next_states.shape[:2]
        rewards = as_floats("the reward", self.rewards)
        if rewards.shape not in (pairs[:1], pairs):
            raise InvalidInputError(
                f"the reward has shape {rewards.shape}, but {pairs[:1]} (states) or {pairs} (states, actions) is"
                " needed."
            )
        require_finite("the reward", rewards)
        require_discount(self.discount)
        object.__setattr__(self, "rewards", frozen(rewards))

    @property
    def reward(self) -> np.ndarray:
        return self.rewards

    def _in_words(self) -> list[str]:
        states, actions = self.outcomes.next_states.shape[:2]
        return [f"{states} states", f"{actions} actions", *super()._in_words()]

    @property
    def expert(self) -> str:
        # Rewards of tables are often 1 at most, where the soft expert at temperature 1 is far from optimal.
        return "optimal"

    @property
    def noise_models(self) -> tuple[str, ...]:
        return (*self.disturbances, UNIFORM_STATE, UNIFORM_ACTION)

    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        model = self.choose_noise_model(noise, noise_model)
        outcomes = self.outcomes if noise == 0 else self._disturbed(noise, model)
        size = len(outcomes.next_states)
        kernel = compact_kernel(outcomes.dense()) if size <= DENSE_STATES else banded_or_lists(*outcomes)
        return MDP(kernel, discount=self.discount, initial=self.initial)

    def _disturbed(self, noise: float, model: str) -> Outcomes:
        """(1-ε) T + ε T̄, where noise has a hold; actions that do not exist stay so."""
        disturbance = self.disturbances[model] if model in self.disturbances else _COMMON[model](self.outcomes)
        noisy = blend((1 - noise, self.outcomes), (noise, disturbance))
        undisturbed = blend((1.0, self.outcomes), (0.0, disturbance))
        exists = self.outcomes.probabilities.sum(-1) > 0
        reached = exists & ~self._at_rest()[:, None]
        return Outcomes(noisy.next_states, np.where(reached[..., None], noisy.probabilities, undisturbed.probabilities))

    def _at_rest(self) -> np.ndarray:
        """Return states that noise leaves alone, `[S]`."""
        absorbing = never_left(*self.outcomes)
        return absorbing if self.calm is None else absorbing | self.calm


def _any_state(outcomes: Outcomes) -> Outcomes:
    size, actions, _ = outcomes.next_states.shape
    if size > DENSE_STATES:
        raise InvalidInputError(
            f"the noise model {UNIFORM_STATE!r} joins each of {size} states to all others, but {DENSE_STATES} states"
            " are the most it is made for; choose another noise model."
        )
    return Outcomes(np.broadcast_to(np.arange(size), (size, actions, size)), np.full((size, actions, size), 1 / size))


def _any_action(outcomes: Outcomes) -> Outcomes:
    size, actions, _ = outcomes.next_states.shape
    number = (outcomes.probabilities.sum(-1) > 0).sum(-1)[:, None]
    places, weights = (array.reshape(size, 1, -1) for array in outcomes)
    weights = weights / np.maximum(number, 1)[..., None]
    return Outcomes(*(np.broadcast_to(array, (size, actions, array.shape[-1])) for array in (places, weights)))


_COMMON = {UNIFORM_STATE: _any_state, UNIFORM_ACTION: _any_action}
