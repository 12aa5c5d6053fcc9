"""What the loops of all solvers carry from step to step."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl.types import Tree


class Iterate(eqx.Module):
    """A value and its backup.

    Attributes:
        value: `[S]`, V.
        backup: `[S]`, B(V).
        attained: What attains the backup and the next step needs: policies, or the chain of their mixture.
        residual: ‖B(V) - V‖∞.
        steps: How many steps led here.
    """

    value: Float[Array, " S"]
    backup: Float[Array, " S"]
    attained: Tree
    residual: Float[Array, ""]
    steps: Int[Array, ""]

    @property
    def fault(self) -> Float[Array, " S"]:
        """B(V) - V."""
        return self.backup - self.value

    def counted_as(self, steps: Int[Array, ""]) -> "Iterate":
        """Return the same iterate with another number of steps."""
        return eqx.tree_at(lambda it: it.steps, self, steps)


def iterate(value: Float[Array, " S"], backup: Float[Array, " S"], attained: Tree, steps: Int[Array, ""]) -> Iterate:
    """Return the iterate of a value and its backup, with its residual."""
    return Iterate(value, backup, attained, jnp.max(jnp.abs(backup - value)), steps)


def choose(condition: Bool[Array, ""], yes: Tree, no: Tree) -> Tree:
    """Return one of two trees of the same structure."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


class Progress(eqx.Module):
    """The best iterate so far, for methods whose residuals may rise before they fall.

    Attributes:
        best: `[S]`, the value of the last milestone.
        milestone: The residual to halve.
        waiting: How many steps have not halved it.
    """

    best: Float[Array, " S"]
    milestone: Float[Array, ""]
    waiting: Int[Array, ""]

    @classmethod
    def begin(cls, first: Iterate) -> "Progress":
        """Return the progress of a first iterate."""
        return cls(first.value, first.residual, jnp.asarray(0))

    def after(self, now: Iterate) -> "Progress":
        """Return the progress after one more iterate."""
        halved = now.residual <= self.milestone / 2
        return Progress(
            jnp.where(halved, now.value, self.best),
            jnp.where(halved, now.residual, self.milestone),
            jnp.where(halved, 0, self.waiting + 1),
        )

    def better_of(self, now: Iterate) -> Float[Array, " S"]:
        """Return the value of the milestone, or the present one if its residual is as small."""
        return jnp.where(now.residual <= self.milestone, now.value, self.best)
