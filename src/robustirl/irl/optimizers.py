"""Optimizers for the reward parameters: the default, the paper's, and L-BFGS. Any Optax optimizer is accepted.

Saved models name them.
"""

import optax

from robustirl.irl.mce.descent import newton_path
from robustirl.irl.mce.scoring import SCORING as SCORING
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
"""Newton steps along a path of ever weaker regularization: the default for tabular and linear rewards at α = 1."""

SETTLING_ADAM = optax.adam(optax.cosine_decay_schedule(0.5, 200, alpha=0.02), b1=0.9, b2=0.999)
"""Adam whose rate decays from 0.5 to 0.01 over 200 steps: the default for tabular and linear rewards below α = 1.

There the dual is not convex, and what fits best in the last digits of the gap is not what acts best. Over 60 cells of
six worlds (`benchmarks/settling.py`) the best iterate of this Adam left a median regret of 0.24 of the optimal return
at a mean gap of 0.0246; `NEWTON` left 0.42 at 0.0264, and the paper's Adam, best iterate kept, 0.26 at 0.0241.
"""


_adams: dict[float, optax.GradientTransformation] = {}


def adam(rate: float) -> optax.GradientTransformation:
    """Return Adam with this learning rate; unlike one of Optax, it is saved along with a model.

    Example:
        >>> adam(0.5) is adam(0.5)
        True
    """
    return _adams.setdefault(float(rate), optax.adam(float(rate)))


def rate_of_adam(optimizer: object) -> float | None:
    """Return the rate of an optimizer that `adam` made, or None for any other."""
    return next((rate for rate, known in _adams.items() if known is optimizer), None)


def paper_optimizer(reward: AbstractReward) -> optax.GradientTransformation:
    """Return the paper's optimizer for a reward model: `DEEP_ADAM` for networks, else `ADAM`.

    Example:
        >>> from robustirl.rewards import TabularReward
        >>> paper_optimizer(TabularReward(3)) is ADAM
        True
    """
    return DEEP_ADAM if isinstance(reward, NetworkReward) else ADAM
