"""Small worlds whose answers are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl.control.policies import GaussianPolicy
from robustirl.types import HostStep


def fast_key(seed: int) -> PRNGKeyArray:
    """A key whose generator compiles in a fraction of the default one's time."""
    return jax.random.key(seed, impl="rbg")


class Line(eqx.Module):
    """A line of cells: a positive action leads right, any other left, and both ends end the episode.

    The policy N(μ_s, σ²) goes right with probability Φ(μ_s/σ), so all expectations are sums over a finite chain.
    An endless line never moves nor ends; a broken one has no numbers in its last cell but one.
    """

    rewards: Float[Array, " cells"]
    discount: Float[Array, ""]
    slip: Float[Array, ""]
    endless: Bool[Array, ""]  # Arrays, so that all lines of one length share their compiled programs.
    broken: Bool[Array, ""]

    def __init__(self, rewards, discount=0.9, slip=0.1, *, endless=False, broken=False):
        self.endless, self.broken = jnp.asarray(endless), jnp.asarray(broken)
        self.rewards = jnp.asarray(rewards, dtype=float)
        self.discount, self.slip = jnp.asarray(discount, dtype=float), jnp.asarray(slip, dtype=float)

    action_size = 1
    draw_size = 1

    @property
    def bounds(self):
        return -jnp.ones(1), jnp.ones(1)

    @property
    def cells(self) -> int:
        return self.rewards.shape[-1]

    def initial(self, *, key: PRNGKeyArray) -> Float[Array, "1"]:
        return jnp.array([float(self.cells // 2)])

    def step(self, state, action, draws):
        move = jnp.where(action[0] > 0, 1.0, -1.0)
        return state + jnp.where(self.endless, 0.0, jnp.where(draws[0] < self.slip, -move, move))

    def terminal(self, state) -> Bool[Array, ""]:
        return ~self.endless & ((state[0] <= 0) | (state[0] >= self.cells - 1))

    def _fault(self, state):
        return jnp.where(self.broken & (state[0] >= self.cells - 2), jnp.nan, 0.0)

    def features(self, state):
        return jax.nn.one_hot(state[0].astype(int), self.cells, dtype=float) + self._fault(state)

    def reward(self, state):
        return self.rewards[state[0].astype(int)] + self._fault(state)


def line_return(world: Line, right: Float[Array, " cells"], horizon: int) -> Float[Array, ""]:
    """E[Σ_t γ^t R(s_{t+1})] over `horizon` steps, exactly, for the chance `right` of an action to the right."""
    up = right * (1 - world.slip) + (1 - right) * world.slip
    inner = jnp.arange(1, world.cells - 1)
    chain = jnp.zeros((world.cells, world.cells)).at[inner, inner + 1].set(up[inner])
    chain = chain.at[inner, inner - 1].set(1 - up[inner])
    here = jnp.zeros(world.cells).at[world.cells // 2].set(1.0)
    total = 0.0
    for step in range(horizon):
        here = here @ chain
        total = total + world.discount**step * here @ world.rewards
    return jnp.asarray(total)


STILL = GaussianPolicy((jnp.array([[0.5], [0.0]]),), (), jnp.zeros(1))
"""A policy for `Scripted`, whose mean action is half of the number of the environment."""


class Scripted:
    """Three environments that step themselves: g goes on, e ends by itself, c is cut off, - begins anew.

    Observations are (number of the environment, steps so far); a step pays its number, counted from 1.
    """

    environments, horizon, width, action_size, discount = 3, 4, 2, 1, 0.9

    def __init__(self, *script):
        self.script, self.step, self.resets, self.moved = script or ("-ggc", "ge-g", "gggg"), 0, 0, []

    def _seen(self, step):
        return np.stack([np.arange(3.0), np.full(3, step)], -1)

    def reset(self):
        self.step, self.resets = 0, self.resets + 1
        return self._seen(0)

    def advance(self, actions):
        self.moved.append(np.asarray(actions)[:, 0].tolist())
        marks = np.array([line[self.step % len(line)] for line in self.script])
        self.step += 1
        seen, paid = self._seen(self.step), np.full(3, float(self.step))
        return HostStep(seen, paid, marks == "e", marks == "c", seen, marks != "-")
