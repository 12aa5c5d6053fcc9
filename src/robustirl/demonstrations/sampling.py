"""Sample demonstrations in a known world: episodes of a policy, drawn from its kernel.

All episodes move together, one step at a time; those that have ended drop out, so the work is proportional to the
number of transitions. A state that is never left, whatever is done, ends its episode as terminated; the horizon
truncates the rest.
"""

from typing import TYPE_CHECKING

import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from robustirl._check import as_count, require_memory
from robustirl.demonstrations.episodes import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, absorbing_states, as_policy, as_world
from robustirl.types import ArrayLike

if TYPE_CHECKING:
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
