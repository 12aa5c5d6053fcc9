"""Optimisers for the reward parameters. Any Optax optimiser is accepted; these are the ones the paper needs.

They are constants because a compiled fit is reused only for the very same optimiser object.
"""

import optax

ADAM = optax.adam(0.5, b1=0.9, b2=0.99, eps=1e-7)
"""The paper's Adam (appendix, hyperparameters for the GridWorld experiments)."""

LBFGS = optax.lbfgs(memory_size=20)
"""L-BFGS with a line search, for α = 1, where the dual is convex and smooth and it converges in few steps.

Below one the dual is neither, so that its line search may stall; the verdict will say so.
"""
