"""Act with what was learned: draw actions, and answer as policies of stable-baselines3 do."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from robustirl.mdp import as_seed


def as_generator(seed: object) -> np.random.Generator:
    """Return a generator of NumPy as it is, or a new one from a seed; refuse what is neither.

    Example:
        >>> as_generator(-1)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the seed is -1, but a whole number of at least 0 is needed.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(None if seed is None else as_seed("the seed", seed))


def draw_actions(chances: Float[np.ndarray, "*n A"], seed: int | np.random.Generator | None) -> Any:
    """Return an action for each row of probabilities, or for a single row.

    Example:
        >>> draw_actions(np.array([[0.0, 1.0], [1.0, 0.0]]), seed=0).tolist()
        [1, 0]
    """
    generator = as_generator(seed)
    rows = np.atleast_2d(chances)
    ends = np.cumsum(rows, axis=-1)
    drawn = (generator.random((len(rows), 1)) * ends[:, -1:] >= ends).sum(-1)
    drawn = np.minimum(drawn, rows.shape[-1] - 1)  # A product that rounds up to the last sum.
    return int(drawn[0]) if np.ndim(chances) == 1 else drawn


class ActingPolicy:
    """A policy with the `predict` of stable-baselines3.

    Its form is `(observation, state, ...) -> (action, state)`.

    Args:
        best: The best action in each of several observations, or in one.
        drawn: An action drawn in each of them.

    Example:
        >>> policy = ActingPolicy(lambda states: np.asarray(states) % 2, lambda states, seed: np.asarray(states) * 0)
        >>> action, state = policy.predict(np.array([3]), deterministic=True)
        >>> action.tolist(), state
        ([1], None)
    """

    def __init__(self, best: Callable[[Any], Any], drawn: Callable[[Any, Any], Any], seed: int | None = None):
        self._best, self._drawn = best, drawn
        self._generator = as_generator(seed)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Int[np.ndarray, " n"] | None = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """Return the action for an observation, or for each of several, and the state unchanged.

        There is no memory.

        Args:
            observation: A state, or an array of them.
            state: Returned as it is.
            episode_start: Not used.
            deterministic: Return the most likely action instead of drawing one.
        """
        del episode_start
        action = self._best(observation) if deterministic else self._drawn(observation, self._generator)
        return np.asarray(action), state
