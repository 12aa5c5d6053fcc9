r"""How likely the expert's own moves are under a fit, states only.

A fit at α is also a model of what the expert does next: with probability α the player's move takes effect, otherwise a
disturbance,

    P(s'|s) = α Σ_a π_pl(a|s) T^L(s'|s,a) + (1-α) Q(s'|s),

where Q is in equal parts the opponent's move, a uniformly drawn available move of the learner, and any state. Pushes
that never happen count against a strong opponent, and moves that the learner cannot make count against a weak one. So
that such moves do not make the likelihood zero, α counts as at most 0.999 here.
"""

import numpy as np
from jaxtyping import Float, Int

from robustirl.demonstrations import Demonstrations
from robustirl.irl.mce.result import Fit
from robustirl.mdp import MDP, absorbing_states, uniform_policy

LARGEST_ALPHA = 0.999


def move_log_likelihoods(
    mdp: MDP, fit: Fit, demonstrations: Demonstrations
) -> tuple[Float[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """Return log P(s'|s) of every recorded move out of a leavable state, and its episode.

    Args:
        mdp: The learner's world.
        fit: What was learned in it.
        demonstrations: Episodes of the expert, best such as the fit has not seen.
    """
    moves = demonstrations.moves
    sources, targets = demonstrations.states[moves], demonstrations.states[moves + 1]
    leaves = ~absorbing_states(mdp)[sources]
    sources, targets, episodes = sources[leaves], targets[leaves], demonstrations.episodes[moves][leaves]
    if not sources.size:
        return np.zeros(0), episodes
    alpha = np.minimum(np.asarray(fit.alpha), LARGEST_ALPHA)
    player = np.asarray(fit.player)
    # The chance of a disturbance in every state.
    rest = ((1 - alpha) * player).sum(1)
    push = np.asarray(fit.opponent) / 3 + np.asarray(uniform_policy(mdp.mask)) / 3
    acting = alpha * player + rest[:, None] * push
    kernel = mdp.kernel.to_sparse()
    # Most moves occur many times, so each different one is looked up once.
    pairs, which = np.unique(sources * mdp.num_states + targets, return_inverse=True)
    starts, ends = np.divmod(pairs, mdp.num_states)
    chances = rest[starts] / 3 / mdp.num_states
    for action in range(mdp.num_actions):
        entries = kernel[starts * mdp.num_actions + action, ends]
        # Releases of SciPy differ in whether a choice of entries is sparse.
        entries = np.asarray(entries if isinstance(entries, np.ndarray) else entries.toarray()).ravel()
        chances += acting[starts, action] * entries
    return np.log(chances)[which], episodes
