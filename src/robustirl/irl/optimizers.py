"""Optimizers for the reward parameters: the default, the paper's, and L-BFGS. Any Optax optimizer is accepted.

Saved models name them.
"""

import optax

from robustirl.irl.mce.descent import newton_path
from robustirl.rewards import AbstractReward, NetworkReward

ADAM = optax.adam(0.5, b1=0.9, b2=0.99, eps=1e-7)
"""The paper's Adam (appendix, hyperparameters for the GridWorld experiments)."""

DEEP_ADAM = optax.chain(optax.add_decayed_weights(0.01), optax.adam(1e-3, b1=0.9, b2=0.999, eps=1e-8))
"""The paper's Adam for reward networks, with its L2 decay of 0.01 (appendix, ObjectWorld hyperparameters)."""

LBFGS = optax.lbfgs(memory_size=20)
"""L-BFGS with a line search, for α = 1 and an expert who can be matched.

If no policy matches the expert, the dual has no minimum, and L-BFGS follows it towards infinite rewards; below α = 1
its line search may stall. `NEWTON` has neither problem.
"""

NEWTON = newton_path()
"""Newton steps along a path of ever weaker regularization: the default for tabular and linear rewards, at every α."""


def paper_optimizer(reward: AbstractReward) -> optax.GradientTransformation:
    """Return the paper's optimizer for a reward model: `DEEP_ADAM` for networks, `ADAM` for the others.

    Example:
        >>> from robustirl.rewards import TabularReward
        >>> paper_optimizer(TabularReward(3)) is ADAM
        True
    """
    return DEEP_ADAM if isinstance(reward, NetworkReward) else ADAM
