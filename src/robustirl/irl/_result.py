"""What every fit returns: policies, parameters, a history and a verdict; and the check that raises on a bad one.

`Fit` and `RelativeEntropyFit` are the two kinds. Each says in its own words what went wrong; when to raise is decided
here, once for both.
"""

import abc
import enum
from typing import TYPE_CHECKING, Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from robustirl._runtime import RenamedMembers, ScopedModule
from robustirl.errors import ConvergenceError
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    from typing import Self


class Status(enum.StrEnum, metaclass=RenamedMembers):
    """How a fit ended. Values are written into files, so they stay when members are renamed."""

    CONVERGED = "converged"
    """The gap is within the tolerance asked for."""
    SETTLED = "settled"
    """No further step lowers the gap, or none can be computed reliably: the expert may not be matched more closely."""
    MAX_STEPS = "budget"
    """All steps were taken; the gap is what the history says."""
    STOPPED = "stopped"
    """A callback or an interrupt ended the fit early, at the step it had reached."""
    FAILED = "failed"
    """A step could not be computed reliably, so the fit ended at the last one that could."""

    @classmethod
    def of(cls, *, valid: ArrayLike, converged: ArrayLike, stopped: ArrayLike, settled: ArrayLike = False) -> "Status":
        """Return the status for these answers."""
        if not valid:
            return cls.FAILED
        if converged:
            return cls.CONVERGED
        if stopped:
            return cls.STOPPED
        return cls.SETTLED if settled else cls.MAX_STEPS


class AbstractVerdict(ScopedModule):
    """How a fit ended: the part that all kinds of fits share."""

    converged: eqx.AbstractVar[Bool[Array, "*batch"]]
    valid: eqx.AbstractVar[Bool[Array, "*batch"]]
    stopped: eqx.AbstractVar[Bool[Array, "*batch"]]

    @property
    def status(self) -> Status:
        """The verdict in one word."""
        return Status.of(valid=self.valid, converged=self.converged, stopped=self.stopped)

    @abc.abstractmethod
    def history_length(self) -> int:
        """Return the number of entries that the history of this fit has."""


class AbstractFit(ScopedModule):
    """The outcome of inverse reinforcement learning: the part that all kinds of fits share."""

    alpha: eqx.AbstractVar[Float[Array, "*batch"] | Float[Array, "*batch S A"]]
    history: eqx.AbstractVar[Any]
    verdict: eqx.AbstractVar[Any]

    def trimmed(self) -> "Self":
        """Return the fit with its history cut to the steps taken; loops reserve room for more."""
        length = self.verdict.history_length()
        return eqx.tree_at(lambda fit: fit.history, self, jax.tree.map(lambda log: _first(log, length), self.history))

    @abc.abstractmethod
    def explain_failure(self, which: str) -> str:
        """Return a sentence about a fit that ended in a step that could not be computed reliably."""

    @abc.abstractmethod
    def explain_gap(self, tolerance: float, which: str) -> str:
        """Return a sentence about a fit that took all steps and missed its tolerance."""


def _first(log: Any, length: int) -> Any:
    """Return the first entries, taken on the host.

    On the device every length would be a program.
    """
    entries = np.asarray(log)[:length]
    return jax.device_put(entries) if isinstance(log, jax.Array) else entries


AnyFit = TypeVar("AnyFit", bound=AbstractFit)


def require_success(fit: AnyFit, tolerance: float | None, which: str = "") -> AnyFit:
    """Return `fit`, or raise if it failed or missed a tolerance that was given.

    A fit misses it if it settled or took all its steps without reaching it. A fit stopped by a callback does not raise.
    `which` names the fit within a batch.
    """
    verdict = fit.verdict
    if verdict.status == Status.FAILED:
        raise ConvergenceError(fit.explain_failure(which))
    if tolerance is not None and verdict.status in (Status.MAX_STEPS, Status.SETTLED):
        raise ConvergenceError(fit.explain_gap(tolerance, which))
    return fit
