"""Kernels with a short form of their own for sweeps, which answer everything else through lists of successors."""

import abc
from typing import TYPE_CHECKING

from jaxtyping import Array, Float

from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.successors import SuccessorKernel

if TYPE_CHECKING:
    import scipy.sparse


class ListedKernel(AbstractKernel):
    """A kernel that can be written as lists of successors.

    Subclasses override what has a faster form in them.
    """

    @abc.abstractmethod
    def to_lists(self) -> SuccessorKernel:
        """Return the same kernel as lists of successors."""

    def successor_lists(self) -> SuccessorKernel:
        return self.to_lists()

    def policy_matrix(self, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
        return self.to_lists().policy_matrix(policy)

    def row_distances(self, other: AbstractKernel) -> Float[Array, "S A"]:
        # The lists of a mixture are those of its base alone, so that other kernels are asked as they are.
        return self.to_lists().row_distances(other.to_lists() if isinstance(other, ListedKernel) else other)

    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> SuccessorKernel:
        """Return lists: the state of lowest value may be any state."""
        return self.to_lists().worst_case(value, radius)

    def to_sparse(self) -> "scipy.sparse.csr_array":
        return self.to_lists().to_sparse()

    def to_array(self) -> Float[Array, "S A S"]:
        return self.to_lists().to_array()
