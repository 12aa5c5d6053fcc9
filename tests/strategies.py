"""Random worlds, games, rewards and policies for Hypothesis.

Shapes come from a short list, because JAX compiles anew for each. Hypothesis chooses the structure (which
rows are certain, which actions are missing, which states absorb, the discount), a generator it seeds the numbers.
"""

import contextlib
import random

import hypothesis
import numpy as np
from hypothesis import strategies as st

from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Temperatures

SHAPES = ((5, 4),) if hypothesis.settings.get_current_profile_name() == "default" else ((2, 2), (5, 4))
if hypothesis.settings.get_current_profile_name() == "explore":
    SHAPES = ((1, 1), (2, 2), (5, 4), (12, 2))
DISCOUNTS = (0.0, 0.5, 0.9, 0.99, 0.999)
ALPHAS = (1.0, 0.9, 0.5, 0.05)
TEMPERATURES = (Temperatures(1.0, 0.0), Temperatures(0.0, 0.0), Temperatures(1.0, 0.5), Temperatures(0.3, 0.0))


@contextlib.contextmanager
def undisturbed_randomness():
    """The run-time type checker draws from `random`, which Hypothesis minds inside a strategy."""
    state = random.getstate()
    yield
    random.setstate(state)


def generators():
    """NumPy's random generators, seeded by Hypothesis."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def kernels(draw, shape):
    """`[S, A, S]` with full rows, certain rows and absorbing states, and a mask `[S, A]` of available actions."""
    states, actions = shape
    rng = draw(generators())
    kernel = rng.dirichlet(np.full(states, draw(st.sampled_from([0.3, 3.0]))), size=(states, actions))
    certain = rng.random((states, actions)) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    kernel[certain] = np.eye(states)[rng.integers(states, size=certain.sum())]
    absorbing = rng.random(states) < draw(st.sampled_from([0.0, 0.4]))
    kernel[absorbing] = np.eye(states)[absorbing][:, None]
    mask = rng.random((states, actions)) >= draw(st.sampled_from([0.0, 0.4]))
    mask[np.arange(states), rng.integers(actions, size=states)] = True
    return kernel, mask


@st.composite
def worlds(draw, shapes: tuple[tuple[int, int], ...] = SHAPES, discounts=DISCOUNTS):
    shape = draw(st.sampled_from(shapes))
    kernel, mask = draw(kernels(shape))
    if draw(st.booleans()):  # The world has no such action, rather than one that nobody may take.
        kernel[~mask] = 0
    initial = None
    if draw(st.booleans()):
        initial = draw(generators()).dirichlet(np.full(shape[0], 0.3))
    discount = draw(st.sampled_from(discounts))
    with undisturbed_randomness():
        return MDP(kernel, discount=discount, initial=initial, mask=mask)


@st.composite
def vectors(draw, size, scales=(1.0, 30.0)):
    """One number per state; whole numbers, and so ties, half of the time."""
    numbers = draw(generators()).normal(size=size) * draw(st.sampled_from(scales))
    return np.round(numbers) if draw(st.booleans()) else numbers


@st.composite
def policies(draw, mdp):
    """A policy on the available actions of `mdp`, certain or not."""
    weights = draw(generators()).exponential(size=mdp.mask.shape) * np.asarray(mdp.mask)
    if draw(st.booleans()):
        weights = weights == weights.max(-1, keepdims=True)
    return weights / weights.sum(-1, keepdims=True)


@st.composite
def tasks(draw, **options):
    """A world, a policy and a reward."""
    mdp = draw(worlds(**options))
    return mdp, draw(policies(mdp)), draw(vectors(mdp.num_states))


@st.composite
def games(draw, alphas=ALPHAS, **options):
    """A game and a reward."""
    mdp, alpha = draw(worlds(**options)), draw(st.sampled_from(alphas))
    with undisturbed_randomness():
        game = MarkovGame(mdp, alpha)
    return game, draw(vectors(mdp.num_states))


@st.composite
def moments(draw, **options):
    """A game, a reward and a value: all that a Bellman operator is applied to."""
    game, reward = draw(games(**options))
    return game, reward, draw(vectors(game.mdp.num_states))
