r"""Where the next plan of a large world starts: extrapolated from the last steps.

Optimizers move the reward in much the same direction from step to step, and value and occupancy follow it almost
linearly. The change of the reward is therefore written as a combination of its last changes, by least squares,

    R_{k+1} - R_k ≈ Σ_i c_i (R_{k-i} - R_{k-i-1}),

and value and occupancy are predicted by the same combination of theirs. That takes a few inner products, and leaves a
tenth to a hundredth of the error of starting from the last step. Small worlds have an inverse for that purpose.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from robustirl._runtime import epsilon
from robustirl.irl.mce import accuracy
from robustirl.irl.mce.objective import Neighbor
from robustirl.irl.mce.problem import OCCUPANCY, Problem

DIFFERENCES = 2  # Of past steps. More of them fit noise: what rough plans leave of their errors.


class Trail(eqx.Module):
    """What the last steps found, as the last one and the differences before it, newest first.

    Attributes:
        reward: R of the last step.
        value: `[S]`, its V.
        occupancy: `[S]`, its ρ.
        rewards: `[M, ...]`, the last changes of R; zero where there were none.
        values: `[M, S]`, those of V.
        occupancies: `[M, S]`, those of ρ.
    """

    reward: Float[Array, "..."]
    value: Float[Array, " S"]
    occupancy: Float[Array, " S"]
    rewards: Float[Array, "M ..."]
    values: Float[Array, "M S"]
    occupancies: Float[Array, "M S"]

    def after(self, reward: Float[Array, "..."], found: Neighbor, first: Bool[Array, ""]) -> "Trail":
        """Return the trail after one more step.

        The first step is a difference to nothing, and leaves none.
        """

        def pushed(differences: Array, new: Array, old: Array) -> Array:
            newest = jnp.where(first, jnp.zeros((), new.dtype), new - old)
            return jnp.concatenate([newest[None], differences[:-1]])

        return Trail(
            reward,
            found.value,
            found.occupancy,
            pushed(self.rewards, reward, self.reward),
            pushed(self.values, found.value, self.value),
            pushed(self.occupancies, found.occupancy, self.occupancy),
        )

    def predict(self, following: Float[Array, "..."]) -> tuple[Float[Array, " S"], Float[Array, " S"]]:
        """Return value and occupancy at the reward of the next step, extrapolated."""
        rows = self.rewards.reshape(len(self.rewards), -1)
        gram = rows @ rows.T
        # Where the last changes are parallel, or not there at all, their shares are made small rather than undefined.
        least = epsilon(rows) ** 0.75 * jnp.trace(gram) + jnp.finfo(rows.dtype).tiny
        shares = jnp.linalg.solve(gram + least * jnp.eye(len(rows)), rows @ (following - self.reward).ravel())
        return self.value + shares @ self.values, self.occupancy + shares @ self.occupancies


def first_trail(problem: Problem, reward: Float[Array, "..."]) -> Trail | None:
    """Return the trail before the first step; None where plans are not predicted by it."""
    mdp = problem.game.mdp
    if (
        mdp.num_states <= accuracy.LEAST_STATES
        or problem.objective_name != OCCUPANCY
        or problem.uncertainty is not None
    ):
        return None
    blank = jnp.zeros_like(mdp.initial)
    none = jnp.zeros((DIFFERENCES, mdp.num_states), blank.dtype)
    changes = jnp.zeros((DIFFERENCES, *reward.shape), reward.dtype)
    return Trail(jnp.zeros_like(reward), blank, blank, changes, none, none)
