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
