r"""How often, and how soon, a policy arrives where the expert's episodes end.

A state is *final* if it is absorbing, or if all actions have the same outcomes there and these are final: a goal or a
hole after which an episode is over. The *ends* E of a world are the final states that are entered from others. Then

    A = Σ_{e in E} ρ_E(e) ρ(e) / Σ_{e in E} ρ_E(e)²

is 1 for the expert. It weighs the ends by how often the expert reaches them, and visits are discounted, so that a
policy that arrives later, or ends elsewhere, has a smaller A.
"""

import numpy as np
from jaxtyping import Bool, Float

from robustirl.mdp import MDP, absorbing_states

LONGEST = 1000  # Steps within which a policy has to arrive.
MOST_DENSE = 256  # States up to which the power of a full matrix is faster than a thousand steps.


def end_states(mdp: MDP) -> Bool[np.ndarray, " S"]:
    """Return which states are ends: final, and entered from states that are not.

    Example:
        >>> rows = np.zeros((4, 2, 4))
        >>> rows[0, 0, 1] = rows[0, 1, 2] = 1.0  # The actions of state 0 lead to 1 or 2,
        >>> rows[[1, 2, 3], :, 3] = 1.0  # after which it is over.
        >>> end_states(MDP(rows, discount=0.9)).tolist()
        [False, True, True, False]
    """
    states, actions, mask = mdp.num_states, mdp.num_actions, np.asarray(mdp.mask)
    rows = mdp.kernel.to_sparse().tocsr()
    places = np.arange(states) * actions
    reference = rows[places + mask.argmax(1)]
    same = np.ones(states, dtype=bool)
    for action in range(actions):
        apart = abs(rows[places + action] - reference).sum(1)
        same &= (np.asarray(apart).ravel() < 1e-9) | ~mask[:, action]
    final = absorbing_states(mdp)
    while True:
        elsewhere = np.asarray(reference @ ~final).ravel() > 1e-9
        more = final | (same & ~elsewhere)
        if (more == final).all():
            break
        final = more
    others = ((~final)[:, None] & mask).ravel().astype(float)
    return final & (np.asarray(others @ rows).ravel() > 0)


def arrivals(
    mdp: MDP, occupancies: Float[np.ndarray, "K S"], expert: Float[np.ndarray, " S"]
) -> Float[np.ndarray, " K"]:
    """Return A of every occupancy; ones if the expert reaches no end."""
    ends = end_states(mdp)
    scale = float(expert[ends] @ expert[ends])
    if scale == 0:
        return np.ones(len(occupancies))
    return occupancies[:, ends] @ expert[ends] / scale


def chances_of_arrival(
    mdp: MDP, policies: Float[np.ndarray, "K S A"], expert: Float[np.ndarray, " S"]
) -> Float[np.ndarray, " K"]:
    """Return the chance that each policy reaches an end within `LONGEST` steps.

    The chances are ones if the expert reaches none. Ends are weighed by how often the expert reaches them. Nothing is
    discounted: at a small discount a policy that never arrives from a few states looks as good as one that arrives
    late.

    Example:
        >>> rows = np.zeros((3, 2, 3))
        >>> rows[0, 0, 1] = rows[0, 1, 0] = rows[1:, :, 2] = 1.0  # State 1 is an end; the second action waits.
        >>> world = MDP(rows, discount=0.5, initial=[1.0, 0.0, 0.0])
        >>> policies = [[[p, 1 - p], [0.5, 0.5], [0.5, 0.5]] for p in (1.0, 0.5, 0.0)]
        >>> chances_of_arrival(world, np.array(policies), np.array([0.5, 0.25, 0.25])).tolist()
        [1.0, 1.0, 0.0]
    """
    from scipy import sparse  # Here, so that `import robustirl` stays light.

    ends, states = end_states(mdp), mdp.num_states
    weights = np.where(ends, expert, 0)
    if not weights.sum():
        return np.ones(len(policies))
    rows, initial = mdp.kernel.to_sparse().tocsr(), np.asarray(mdp.initial)
    found = []
    for policy in policies:
        # An end is where it is over, so that what follows it does not count.
        chosen = sparse.csr_array(np.where(ends[:, None], 0, policy))
        places = np.repeat(np.arange(states), np.diff(chosen.indptr)) * mdp.num_actions + chosen.indices
        acting = sparse.csr_array((chosen.data, places, chosen.indptr), shape=(states, states * mdp.num_actions))
        chain = acting @ rows + sparse.diags_array(ends.astype(float))
        if states <= MOST_DENSE:
            reached = initial @ np.linalg.matrix_power(chain.toarray(), LONGEST)
        else:
            step, reached = chain.T.tocsr(), initial
            for _ in range(LONGEST):
                reached = step @ reached
        found.append(float(reached @ weights / weights.sum()))
    return np.array(found)
