r"""Worlds with physics that can be changed: equations of motion whose parameters have names.

`make("cart-pole", mass=2.0)` is a world for `robustirl.control`, relative-entropy IRL and robust imitation. Parameters
are arrays, so worlds that differ in them stack into one batch. The equations are plain JAX and agree step by step with
Gymnasium's worlds of the same name (`robustirl.envs.bodies`); `mujoco_world` takes any MuJoCo model, where MuJoCo is
installed. To add a world, derive a class from `Equations` and call `register(MyEquations())`.

A step pays for a transition, while the reward of a world is R(s). So the state of a `PhysicsWorld` carries what the
last step paid, and R(s) reads it there.
"""

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._check import as_floats, require_callable, require_kind
from robustirl._jax import DeviceModule, as_float, in_working_precision, jit, single_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp.mdp import as_discount, require_discount
from robustirl.types import AnyArray, ArrayLike, FloatTree

Parameters = Mapping[str, Any]


class Equations(abc.ABC):
    """Equations of motion, as pure functions of a state, an action and named parameters.

    Attributes:
        name: What `make` calls the world.
        defaults: The parameters and their usual values.
        signed: The parameters that may be zero or negative, such as friction or gravity.
        horizon: The usual number of steps of an episode.
        bounds: The lowest and the highest action.
    """

    name: str
    defaults: Mapping[str, float]
    signed: ClassVar[frozenset[str]] = frozenset({"friction", "damping", "gravity"})
    horizon: int
    bounds: tuple[np.ndarray, np.ndarray] = (np.array([-1.0]), np.array([1.0]))

    def check(self, parameters: Parameters) -> dict[str, Any]:
        """Return all parameters, those given in place of the usual ones; refuse what no world can have."""
        for name, value in parameters.items():
            if name not in self.defaults:
                raise InvalidInputError(
                    f"{self.name} has no parameter {name!r}; choose among {', '.join(self.defaults)}."
                )
            numbers = as_floats(f"{name} of {self.name}", value)
            if not bool(np.isfinite(numbers).all()):
                raise InvalidInputError(f"{name} of {self.name} is {value!r}, but a finite number is needed.")
            if name not in self.signed and not bool((np.asarray(numbers) > 0).all()):
                raise InvalidInputError(f"{name} of {self.name} is {value!r}, but a number above 0 is needed.")
        return {**self.defaults, **parameters}

    @abc.abstractmethod
    def initial(self, key: PRNGKeyArray, params: Parameters) -> Float[Array, " n"]:
        """Draw a first state."""

    @abc.abstractmethod
    def transition(self, state: Float[Array, " n"], action: Float[Array, " a"], params: Parameters) -> Array:
        """Return the state after one step."""

    @abc.abstractmethod
    def reward(self, state: Array, action: Array, after: Array, params: Parameters) -> Float[Array, ""]:
        """Return what a step pays; no learner sees it."""

    def observation(self, state: Float[Array, " n"], params: Parameters) -> Float[Array, " d"]:
        """Return what is seen of a state: all of it, unless a world says otherwise."""
        del params
        return state

    def terminal(self, state: Float[Array, " n"], params: Parameters) -> Bool[Array, ""]:
        """Return whether an episode ends here: never, unless a world says otherwise."""
        del params
        return jnp.zeros(state.shape[:-1], bool)


class PhysicsWorld(DeviceModule):
    """Equations at one setting of their parameters, as a world with a reward.

    Args:
        equations: The equations of motion. Worlds of one batch share them.
        params: Values of all parameters; the usual ones if omitted.
        features: φ of an observation; the observation itself by default.
        discount: γ, up to 1: episodes are cut off at a horizon.

    Example:
        >>> world = make("cart-pole", mass=0.2)
        >>> float(world.parameters["mass"]), world.action_size, world.horizon
        (0.2, 1, 500)
        >>> float(world.changed(length=0.6).parameters["length"])
        0.6
    """

    params: FloatTree
    discount: Float[Array, ""]
    equations: Any = eqx.field(static=True)
    look: Callable[[Float[Array, " o"]], Float[Array, " d"]] | None = eqx.field(static=True)

    def __init__(
        self,
        equations: Equations,
        params: Parameters | None = None,
        *,
        features: Callable[[Float[Array, " o"]], Float[Array, " d"]] | None = None,
        discount: float | Float[Array, ""] = 0.99,
    ):
        require_kind("the equations", equations, Equations, "equations of motion (envs.physics.Equations)")
        self.equations, self.look = equations, features
        self.params = jax.tree.map(as_float, dict(equations.check({}) if params is None else params))
        self.discount = as_discount(discount, or_one=True)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return dict(self.params)  # pyright: ignore[reportArgumentType]

    @property
    def horizon(self) -> int:
        """The usual number of steps of an episode."""
        return self.equations.horizon

    @property
    def action_size(self) -> int:
        """Numbers in an action."""
        return int(np.size(self.equations.bounds[0]))

    @property
    def draw_size(self) -> int:
        """Return one: a step is certain, but rollouts need an axis of draws."""
        return 1

    @property
    def bounds(self) -> tuple[Float[Array, " a"], Float[Array, " a"]]:
        """Return the lowest and the highest action; what lies outside is clipped."""
        low, high = self.equations.bounds
        return as_float(low), as_float(high)

    def changed(self, **parameters: ArrayLike) -> "PhysicsWorld":
        """Return the same world with other values of some parameters."""
        checked = self.equations.check({**self.parameters, **parameters})
        return PhysicsWorld(self.equations, checked, features=self.look, discount=self.discount)

    def initial(self, *, key: PRNGKeyArray) -> Float[Array, " n"]:
        """Return a first state, in which nothing has been paid yet."""
        return _with_pay(self.equations.initial(key, self.params), jnp.zeros((), dtype=float))

    def step(
        self, state: Float[AnyArray, " n"], action: Float[AnyArray, " a"], draws: Float[AnyArray, " k"]
    ) -> Float[Array, " n"]:
        """Return the next state and what the step paid."""
        del draws
        here, action = jnp.asarray(state)[:-1], jnp.clip(action, *self.bounds)
        after = self.equations.transition(here, action, self.params)
        return _with_pay(after, self.equations.reward(here, action, after, self.params))

    def terminal(self, state: Float[AnyArray, " n"]) -> Bool[Array, ""]:
        """Return whether an episode ends in this state."""
        return jnp.asarray(self.equations.terminal(jnp.asarray(state)[:-1], self.params), dtype=bool)

    def features(self, state: Float[AnyArray, " n"]) -> Float[Array, " d"]:
        """φ of what is seen of the state."""
        seen = jnp.asarray(self.equations.observation(jnp.asarray(state)[:-1], self.params), dtype=float)
        return seen if self.look is None else self.look(seen)

    def reward(self, state: Float[AnyArray, " n"]) -> Float[Array, ""]:
        """Return what the step into this state paid."""
        return jnp.asarray(state)[-1]

    def __repr__(self) -> str:
        # What follows from the numbers, such as the arrays of a MuJoCo model, is not shown.
        numbers = {name: value for name, value in self.parameters.items() if not isinstance(value, dict)}
        values = ", ".join(f"{name}={np.asarray(value).round(6).tolist()}" for name, value in numbers.items())
        return f"PhysicsWorld({self.equations.name}: {values})"


def _with_pay(state: Array, pay: Array) -> Float[Array, " n"]:
    return jnp.concatenate([jnp.asarray(state, dtype=float), jnp.asarray(pay, dtype=float)[None]])


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


def require_difference(first: PhysicsWorld, second: PhysicsWorld, *, steps: int = 50) -> None:
    """Refuse two worlds that were asked to differ and move alike, and name what has no effect.

    Both start in the same states and take the same random actions. An engine may not read a parameter, or read it only
    while it compiles a model; a study of two such worlds would be a study of nothing. If the worlds differ in several
    parameters, each of them is tried alone.

    Example:
        >>> require_difference(make("pendulum"), make("pendulum", mass=2.0))
        >>> require_difference(make("cart-pole"), make("cart-pole"))
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: cart-pole and cart-pole move alike (same states after 50 random actions from
        the same states), and no parameter differs; give them parameters that differ.
    """
    with single_precision():
        starts, ends = _ends(first, first, steps)
        if starts.shape[-1] != _ends(second, second, 0)[0].shape[-1] or first.action_size != second.action_size:
            return
        differing = _differing(first, second)
        words = "and no parameter differs; give them parameters that differ."
        if _alike(ends, _ends(first, second, steps)[1]):
            if differing:
                words = f"although they differ in {', '.join(differing)}; change what the equations use."
        elif first.equations is second.equations and len(differing) > 1:
            given = second.parameters
            idle = [n for n in differing if _alike(ends, _ends(first, first.changed(**{n: given[n]}), steps)[1])]
            if not idle:
                return
            words = f"where they differ in {', '.join(idle)} alone; leave that out, or change what the equations use."
        else:
            return
    raise InvalidInputError(
        f"{first.equations.name} and {second.equations.name} move alike (same states after {steps} random actions from"
        f" the same states), {words}"
    )


def _differing(first: PhysicsWorld, second: PhysicsWorld) -> list[str]:
    """Return the parameters in which two worlds differ; of models with equal factors, the arrays that differ."""
    here, there = first.parameters, second.parameters
    model, other = (here.get("model") or {}), (there.get("model") or {})
    changed = lambda a, b, names: [n for n in names if not np.array_equal(np.asarray(a[n]), np.asarray(b.get(n)))]  # noqa: E731
    factors = changed(here, there, [name for name in here if name != "model"])
    return factors or changed(model, other, list(model))


def _alike(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(np.allclose(first, second, rtol=1e-6, atol=1e-9, equal_nan=True))


def _ends(origin: PhysicsWorld, world: PhysicsWorld, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some first states of one world, and where the other one leads from them."""
    key = jax.random.key(0)
    low, high = (jnp.clip(bound, -1e3, 1e3) for bound in world.bounds)
    actions = jax.random.uniform(key, (steps, world.action_size), minval=low, maxval=high, dtype=float)
    starts = jax.vmap(lambda one: origin.initial(key=one))(jax.random.split(key, 4))
    return np.asarray(starts), np.asarray(_run(in_working_precision(world), starts, actions))


def _run_all(world: PhysicsWorld, starts: Float[Array, "E n"], actions: Float[Array, "T a"]) -> Float[Array, "E n"]:
    step = lambda state, action: (world.step(state, action, jnp.zeros(1, dtype=float)), None)  # noqa: E731
    return jax.vmap(lambda start: jax.lax.scan(step, start, actions)[0][:-1])(starts)


_run = jit(_run_all)


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


def mujoco_world(*given: Any, **options: Any) -> PhysicsWorld:
    """Return a world of MuJoCo; see `robustirl.envs.mujoco.mujoco_world`."""
    from robustirl.envs import mujoco  # Here, because that module derives its equations from these.

    return mujoco.mujoco_world(*given, **options)
