"""What a world with named physics is: equations of motion, and values for their parameters.

`Equations` is the interface of Gymnasium's `FuncEnv` with a dictionary of numbers as parameters. To add a world, write
one file in this package that ends with `register(MyEquations())`.
"""

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._runtime import BoundedJit, in_working_precision, single_precision
from robustirl.envs.gymnasium.functional import FunctionalWorld
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_floats, require_callable, require_discount, require_kind
from robustirl.types import ArrayLike, Tree

Parameters = Mapping[str, Any]
Segments = list[np.ndarray]


class Box(NamedTuple):
    """The lowest and the highest action."""

    low: np.ndarray
    high: np.ndarray


class Equations(abc.ABC):
    """Equations of motion, as pure functions of a state, an action and named parameters.

    Attributes:
        name: What `make` calls the world.
        defaults: The parameters and their usual values.
        signed: The parameters that may be zero or negative, such as friction or gravity.
        horizon: The usual number of steps of an episode.
        action_space: The bounds of an action.
    """

    name: str
    defaults: Mapping[str, float]
    signed: ClassVar[frozenset[str]] = frozenset({"friction", "damping", "gravity"})
    horizon: int
    action_space: Box = Box(np.array([-1.0]), np.array([1.0]))

    def get_default_params(self) -> dict[str, Any]:
        """Return the usual values of all parameters."""
        return dict(self.defaults)

    def check(self, parameters: Parameters) -> dict[str, Any]:
        """Return all parameters, with those given in place of the usual ones.

        Refuse what no world can have.
        """
        for name, value in parameters.items():
            if name not in self.defaults:
                raise InvalidInputError(
                    f"{self.name} has no parameter {name!r}; choose among {', '.join(self.defaults)}."
                )
            if isinstance(value, bool | np.bool_):
                raise InvalidInputError(f"{name} of {self.name} is {value!r}, but a number is needed.")
            numbers = as_floats(f"{name} of {self.name}", value)
            if not bool(np.isfinite(numbers).all()):
                raise InvalidInputError(f"{name} of {self.name} is {value!r}, but a finite number is needed.")
            if name not in self.signed and not bool((np.asarray(numbers) > 0).all()):
                raise InvalidInputError(f"{name} of {self.name} is {value!r}, but a number above 0 is needed.")
        return {**self.defaults, **parameters}

    @abc.abstractmethod
    def initial(self, rng: PRNGKeyArray, params: Parameters) -> Float[Array, " n"]:
        """Draw a first state."""

    @abc.abstractmethod
    def transition(
        self, state: Float[Array, " n"], action: Float[Array, " a"], rng: object, params: Parameters
    ) -> Float[Array, " n"]:
        """Return the state after one step."""

    def observation(self, state: Float[Array, " n"], rng: object, params: Parameters) -> Float[Array, " d"]:
        """Return what is seen of a state: all of it, unless a world says otherwise."""
        del rng, params
        return state

    @abc.abstractmethod
    def reward(
        self,
        state: Float[Array, " n"],
        action: Float[Array, " a"],
        next_state: Float[Array, " n"],
        rng: object,
        params: Parameters,
    ) -> Float[Array, ""]:
        """Return what a step pays; no learner sees it."""

    def terminal(self, state: Float[Array, " n"], rng: object, params: Parameters) -> Bool[Array, ""]:
        """Return whether an episode ends here: never, unless a world says otherwise."""
        del rng, params
        return jnp.zeros(state.shape[:-1], bool)

    def skeleton(self, state: np.ndarray, params: Parameters) -> Segments:
        """Return the bodies as lines to draw, each `[points, 2]`.

        By default there are none.
        """
        del state, params
        return []


class PhysicsWorld(FunctionalWorld):
    """Equations at one setting of their parameters, as a world with a reward.

    Example:
        >>> world = make("cart-pole", mass=0.2)
        >>> float(world.parameters["mass"]), world.action_size, world.horizon
        (0.2, 1, 500)
        >>> float(world.changed(length=0.6).parameters["length"])
        0.6
    """

    def __init__(
        self,
        env: Equations,
        params: Tree = None,
        *,
        features: Callable[[Float[Array, " o"]], Float[Array, " d"]] | None = None,
        discount: float | Float[Array, ""] = 0.99,
    ):
        super().__init__(env, params, features=features, discount=discount)

    @property
    def equations(self) -> Equations:
        """The equations of motion."""
        return self.env

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return dict(self.params)  # pyright: ignore[reportArgumentType]

    @property
    def horizon(self) -> int:
        """The usual number of steps of an episode."""
        return self.env.horizon

    def changed(self, **parameters: ArrayLike) -> "PhysicsWorld":
        """Return the same world with other values of some parameters."""
        new = self.env.check({**self.parameters, **parameters})
        return PhysicsWorld(self.env, new, features=self.look, discount=self.discount)

    def __repr__(self) -> str:
        # What follows from the numbers, such as the arrays of a MuJoCo model, is not shown.
        numbers = {name: value for name, value in self.parameters.items() if not isinstance(value, dict)}
        values = ", ".join(f"{name}={np.asarray(value).round(6).tolist()}" for name, value in numbers.items())
        return f"PhysicsWorld({self.env.name}: {values})"


_registry: dict[str, Equations] = {}


def register(equations: Equations) -> None:
    """Register equations under their name."""
    if equations.name in _registry:
        raise InvalidInputError(f"there is a world {equations.name!r} already; choose another name.")
    _registry[equations.name] = equations


def names() -> tuple[str, ...]:
    """Return the names that `make` knows.

    Example:
        >>> "cart-pole-swing-up" in names()
        True
    """
    return tuple(sorted(_registry))


def make(
    name: str,
    *,
    discount: float = 0.99,
    features: Callable[[Float[Array, " o"]], Float[Array, " d"]] | None = None,
    **parameters: ArrayLike,
) -> PhysicsWorld:
    """Return the world of that name, with some of its parameters changed.

    Args:
        name: One of `names()`.
        discount: γ.
        features: φ of an observation, for algorithms whose reward is linear; the observation itself if None.
        parameters: Values by name; a parameter has its usual value if omitted.

    Example:
        >>> make("pendulum", mass=1.5)
        PhysicsWorld(pendulum: gravity=10.0, length=1.0, mass=1.5)
    """
    require_kind("the name of a world", name, str, "a text")
    if name not in _registry:
        raise InvalidInputError(f"there is no world {name!r} with named physics; choose one of {', '.join(names())}.")
    equations = _registry[name]
    if features is not None:
        require_callable("features", features, "a function of an observation")
    checked = require_discount(discount)
    return PhysicsWorld(equations, equations.check(parameters), features=features, discount=checked)


def require_difference(first: PhysicsWorld, second: PhysicsWorld, *, steps: int = 20) -> None:
    """Refuse two worlds that were asked to differ and move alike.

    Both start in the same states and take the same actions. A parameter that an engine does not read (or reads only
    while it compiles a model) would otherwise make a study of nothing.

    Example:
        >>> require_difference(make("pendulum"), make("pendulum", mass=2.0))
        >>> require_difference(make("pendulum"), make("pendulum"))
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the two worlds move alike (pendulum, same states after 20 steps of the same
        actions); give them parameters that differ and that their equations use.
    """
    if first.env is not second.env:
        return
    with single_precision():
        key = jax.random.key(0)
        low, high = first.bounds
        actions = jax.random.uniform(key, (steps, first.action_size), minval=low, maxval=high, dtype=float)
        ends = [_run(in_working_precision(world), actions, key) for world in (first, second)]
    if np.allclose(*(np.asarray(end) for end in ends), rtol=1e-6, atol=1e-9):
        raise InvalidInputError(
            f"the two worlds move alike ({first.env.name}, same states after {steps} steps of the same actions);"
            " give them parameters that differ and that their equations use."
        )


def _end_of(world: PhysicsWorld, actions: Float[Array, "T a"], key: PRNGKeyArray) -> Float[Array, "E n"]:
    """Return where some episodes are after these actions."""

    def one(key: PRNGKeyArray) -> Float[Array, " n"]:
        step = lambda state, action: (world.step(state, action, jnp.zeros(1, dtype=float)), None)  # noqa: E731
        return jax.lax.scan(step, world.initial(key=key), actions)[0][:-1]

    return jax.vmap(one)(jax.random.split(key, 4))


_run = BoundedJit(_end_of)


def runge_kutta(derivative: Callable[[Array], Array], state: Array, step: float) -> Array:
    """Return the state after one step of the classical Runge-Kutta method.

    Example:
        >>> round(float(runge_kutta(lambda x: -x, jnp.array([1.0]), 0.1)[0]), 4)  # exp(-0.1) = 0.90484...
        0.9048
    """
    first = derivative(state)
    second = derivative(state + step / 2 * first)
    third = derivative(state + step / 2 * second)
    fourth = derivative(state + step * third)
    return state + step / 6 * (first + 2 * second + 2 * third + fourth)
