r"""Gymnasium's functional environments as sampled worlds: anyone's `FuncEnv`, such as `gymnasium.envs.phys2d`'s.

A `FuncEnv` is a set of pure functions of a state, an action, a random key and parameters (lengths, masses). That is
all a `World` needs, except that its rewards are those of transitions: so the state carries what the last step paid,
and R(s) reads it there. Parameters are arrays: worlds of different mass stack into one batch.

An environment is recognized by what it can do, so Gymnasium is not imported here.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._runtime import DeviceModule, as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_discount
from robustirl.types import AnyArray, FloatTree, Tree

FUNCTIONS = ("initial", "transition", "observation", "reward", "terminal")


class FunctionalWorld(DeviceModule):
    """A functional environment at one setting of its parameters, as a world with a reward.

    Args:
        env: The environment: `initial`, `transition`, `observation`, `reward` and `terminal` as in `FuncEnv`,
            and an `action_space` that is a Box with one axis. Worlds of one batch share it.
        params: Its parameters, a tree of numbers; by default those of `env.get_default_params()`.
        features: φ of an observation; the observation itself by default.
        discount: γ, up to 1: episodes are cut off at a horizon.

    Example:
        >>> from robustirl.envs.pendulum import PendulumEquations, PendulumParameters
        >>> world = FunctionalWorld(PendulumEquations(), PendulumParameters(length=0.8))
        >>> state = world.step(jnp.array([jnp.pi, 0.0, 0.0]), jnp.array([2.0]), jnp.zeros(1))
        >>> [round(x, 1) for x in state.tolist()], world.action_size, world.features(state).shape
        ([3.2, 0.5, -9.9], 1, (3,))
    """

    params: FloatTree
    discount: Float[Array, ""]
    env: Any = eqx.field(static=True)
    look: Callable[[Float[Array, " o"]], Float[Array, " d"]] | None = eqx.field(static=True)

    def __init__(
        self,
        env: Any,
        params: Tree = None,
        *,
        features: Callable[[Float[Array, " o"]], Float[Array, " d"]] | None = None,
        discount: float | Float[Array, ""] = 0.99,
    ):
        for name in FUNCTIONS:
            if not callable(getattr(env, name, None)):
                raise InvalidInputError(
                    f"the environment is a {type(env).__name__}, which lacks `{name}`; give a functional environment,"
                    " such as gymnasium.envs.phys2d.PendulumFunctional()."
                )
        low = getattr(getattr(env, "action_space", None), "low", None)
        if low is None or np.ndim(low) != 1:
            raise InvalidInputError(
                f"the action space of {type(env).__name__} is {getattr(env, 'action_space', None)}, but a Box of real"
                " numbers with one axis is needed."
            )
        self.env, self.look = env, features
        self.params = jax.tree.map(as_float, env.get_default_params() if params is None else params)
        self.discount = as_discount(discount, or_one=True)

    @property
    def action_size(self) -> int:
        """Numbers in an action."""
        return int(np.size(self.env.action_space.low))

    @property
    def draw_size(self) -> int:
        """Return one number, which becomes the key of a step."""
        return 1

    @property
    def bounds(self) -> tuple[Float[Array, " a"], Float[Array, " a"]]:
        """Return the lowest and the highest action."""
        return as_float(np.asarray(self.env.action_space.low)), as_float(np.asarray(self.env.action_space.high))

    def initial(self, *, key: PRNGKeyArray) -> Float[Array, " n"]:
        """Return a first state of the environment, and nothing paid yet."""
        return self._with_pay(self.env.initial(key, self.params), jnp.zeros((), dtype=float))

    def step(
        self, state: Float[AnyArray, " n"], action: Float[AnyArray, " a"], draws: Float[AnyArray, " k"]
    ) -> Float[Array, " n"]:
        """Return the next state and what it paid; actions out of bounds are clipped."""
        key = jax.random.key((draws[0] * 2.0**32).astype(jnp.uint32))
        here, action = jnp.asarray(state)[:-1], jnp.clip(action, *self.bounds)
        after = self.env.transition(here, action, key, self.params)
        return self._with_pay(after, self.env.reward(here, action, after, key, self.params))

    def terminal(self, state: Float[AnyArray, " n"]) -> Bool[Array, ""]:
        """Return whether an episode ends in this state."""
        return jnp.asarray(self.env.terminal(jnp.asarray(state)[:-1], None, self.params), dtype=bool)

    def features(self, state: Float[AnyArray, " n"]) -> Float[Array, " d"]:
        """φ of what the environment shows of the state."""
        shown = jnp.asarray(self.env.observation(jnp.asarray(state)[:-1], None, self.params), dtype=float)
        return shown if self.look is None else self.look(shown)

    def reward(self, state: Float[AnyArray, " n"]) -> Float[Array, ""]:
        """Return what the step into this state paid."""
        return jnp.asarray(state)[-1]

    def _with_pay(self, state: Array, pay: Array) -> Float[Array, " n"]:
        return jnp.concatenate([jnp.asarray(state, dtype=float), jnp.asarray(pay, dtype=float)[None]])
