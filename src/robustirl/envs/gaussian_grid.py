r"""GaussianGrid: the paper's continuous world, as pure functions (Section 6 and its appendix).

A point s = (x, y) moves in [-1, 1]² from (-1, 1) to the corner x >= 0.95, y <= -0.95, where an episode ends. The
straight way leads through a pit at the origin:

    R(s) = -(x-1)² - (y+1)² - 80 exp(-8 ‖s‖²) + 10 · 1{goal}.

An action a in [-0.5, 0.5]² moves the point by a/10. With probability ε it is not heard, and the point moves by 1/10
towards the origin instead. The text prints [0, 1]² and the start (0, 1); with these the goal could not be reached.

A step is a function of the state, the action and three uniform draws, nothing else: the same draws give the same path.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._check import as_number_between, concrete
from robustirl._jax import DeviceModule, as_float
from robustirl.envs.noise import UNIFORM_ACTION
from robustirl.errors import InvalidInputError
from robustirl.mdp.mdp import as_discount
from robustirl.types import ArrayLike

TOWARDS_ORIGIN = "towards-origin"
AWAY_FROM_ORIGIN = "away-from-origin"
GAUSSIAN_NOISE_MODELS = (TOWARDS_ORIGIN, AWAY_FROM_ORIGIN, UNIFORM_ACTION)

PUBLISHED_SCALES = (1.0, 1.0, 1.0, 1.0, 8.0, 10.0, 1.0)
"""Scales of the features with which the published policies were trained: 8 for the pit, 10 for the goal."""

TRUE_WEIGHTS = (-1.0, -1.0, 2.0, -2.0, -80.0, 10.0, -2.0)
START = (-1.0, 1.0)
GOAL = 0.95
LARGEST_ACTION = 0.5
DEFAULT_DISCOUNT = 0.99


class GaussianGrid(DeviceModule):
    """The continuous world at one level of noise. Worlds of different noise stack into batches.

    Args:
        noise: ε, the probability that an action is not heard.
        noise_model: What happens then: `towards-origin`, as in the paper; `away-from-origin`, as far the other way; or
            `uniform-action`, the effect of an action drawn uniformly.
        scales: `[7]`, factors on the features φ(s) = (x², y², x, y, exp(-8‖s‖²), 1{goal}, 1). As printed by default;
            `PUBLISHED_SCALES` are those of the published policies.
        discount: γ, on which the paper is silent.

    Example:
        >>> world = GaussianGrid(noise=0.1)
        >>> here = world.step(jnp.array([-1.0, 1.0]), jnp.array([0.5, -2.0]), jnp.array([0.7, 0.0, 0.0]))
        >>> np.asarray(here, float).round(6).tolist(), world.terminal(here).item()
        ([-0.95, 0.95], False)
        >>> pushed = world.step(jnp.array([0.0, 0.5]), jnp.array([0.5, 0.0]), jnp.array([0.05, 0.0, 0.0]))
        >>> np.asarray(pushed, float).round(6).tolist(), round(world.reward(pushed).item(), 2)
        ([0.0, 0.4], -25.2)
    """

    noise: Float[Array, ""]
    scales: Float[Array, " d"]
    discount: Float[Array, ""]
    noise_model: str = eqx.field(static=True)

    def __init__(
        self,
        noise: float | Float[Array, ""] = 0.0,
        *,
        noise_model: str = TOWARDS_ORIGIN,
        scales: ArrayLike = (1.0,) * 7,
        discount: float | Float[Array, ""] = DEFAULT_DISCOUNT,
    ):
        if noise_model not in GAUSSIAN_NOISE_MODELS:
            raise InvalidInputError(
                f"GaussianGrid has no noise model {noise_model!r}; choose one of {', '.join(GAUSSIAN_NOISE_MODELS)}."
            )
        if concrete(noise, scales):
            _check(noise, scales)
        self.noise, self.scales, self.discount = as_float(noise), as_float(scales), as_discount(discount, or_one=True)
        self.noise_model = noise_model

    @property
    def action_size(self) -> int:
        """Numbers in an action."""
        return 2

    @property
    def draw_size(self) -> int:
        """Return how many uniform numbers decide a step.

        One decides whether the action is executed, and two what happens if it is not.
        """
        return 3

    @property
    def bounds(self) -> tuple[Float[Array, "2"], Float[Array, "2"]]:
        """Return the lowest and highest action; what lies outside is clipped."""
        high = jnp.full(2, LARGEST_ACTION, dtype=float)
        return -high, high

    @property
    def true_weights(self) -> Float[Array, " d"]:
        """Return the θ with R(s) = ⟨θ, φ(s)⟩, known to the expert alone."""
        return jnp.asarray(TRUE_WEIGHTS, dtype=float) / self.scales

    def initial(self, *, key: PRNGKeyArray) -> Float[Array, "2"]:
        """Return the start, always the upper left corner."""
        del key
        return jnp.asarray(START, dtype=float)

    def step(self, state: Float[Array, "2"], action: Float[Array, "2"], draws: Float[Array, "3"]) -> Float[Array, "2"]:
        """Return the next state, given three uniform draws."""
        heard = jnp.clip(action, *self.bounds) / 10
        if self.noise_model in (TOWARDS_ORIGIN, AWAY_FROM_ORIGIN):
            squared = state @ state
            # At the origin there is no direction, so the point stays; the inner `where` keeps gradients finite.
            outwards = state / (10 * jnp.sqrt(jnp.where(squared > 0, squared, 1)))
            strayed = -outwards if self.noise_model == TOWARDS_ORIGIN else outwards
        else:
            strayed = LARGEST_ACTION * (2 * draws[1:] - 1) / 10
        return jnp.clip(state + jnp.where(draws[0] < self.noise, strayed, heard), -1, 1)

    def terminal(self, state: Float[Array, "2"]) -> Bool[Array, ""]:
        """Return whether the state lies in the goal region."""
        # The slack forgives the rounding of twenty moves of 0.05.
        return (state[0] >= GOAL - 1e-6) & (state[1] <= -GOAL + 1e-6)

    def features(self, state: Float[Array, "2"]) -> Float[Array, " d"]:
        """φ(s), scaled."""
        x, y = state
        pit = jnp.exp(-8 * (state @ state))
        goal = self.terminal(state).astype(state.dtype)
        return self.scales * jnp.stack([x * x, y * y, x, y, pit, goal, jnp.ones_like(x)])

    def reward(self, state: Float[Array, "2"]) -> Float[Array, ""]:
        """Return the true reward R(s). It does not depend on the scales of the features."""
        return self.true_weights @ self.features(state)


def _check(noise: object, scales: object) -> None:
    as_number_between("the noise", noise, 0, 1)
    array = np.asarray(scales)
    if array.shape != (7,) or array.dtype.kind not in "fiu" or not (np.isfinite(array) & (array > 0)).all():
        raise InvalidInputError(
            f"the feature scales are {scales!r}, but seven finite numbers above 0 are needed, one a feature."
        )
