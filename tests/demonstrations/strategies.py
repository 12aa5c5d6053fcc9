"""Random demonstrations for Hypothesis."""

from hypothesis import strategies as st

from robustirl.demonstrations import Demonstrations
from tests.strategies import generators, undisturbed_randomness


@st.composite
def demonstrations(draw, num_states=6, num_actions=3, shortest=1, actions=None):
    """Episodes of `shortest` to seven states, with or without actions, terminated or not."""
    rng, episodes = draw(generators()), draw(st.integers(1, 5))
    lengths = rng.integers(shortest, 8, size=episodes)
    with_actions = draw(st.booleans()) if actions is None else actions
    with undisturbed_randomness():
        return Demonstrations.from_arrays(
            [rng.integers(num_states, size=n) for n in lengths],
            [rng.integers(num_actions, size=n - 1) for n in lengths] if with_actions else None,
            terminated=rng.random(episodes) < 0.5,
        )
