"""Kernels out of SciPy's sparse matrices; `kernel.to_sparse()` is the way back."""

from typing import TYPE_CHECKING, Any

import numpy as np

from robustirl._runtime import require_memory
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.banded import BandedKernel, banded_or_lists
from robustirl.mdp.ragged import RaggedKernel, wasteful
from robustirl.mdp.successors import SuccessorKernel

if TYPE_CHECKING:
    import scipy.sparse

ENTRY_BYTES = 85  # A place of a list of successors, while it is made.
ROW_BYTES = 24  # A row, until it is known how many entries it has.


def from_sparse(
    matrix: "scipy.sparse.sparray | scipy.sparse.spmatrix", *, num_actions: int
) -> BandedKernel | SuccessorKernel | RaggedKernel:
    """Return the kernel of a sparse matrix `[S·A, S]` whose row s·|A| + a is T(·|s,a).

    It is stored as diagonals or as lists. Never turned dense: it takes as many places a pair as the longest row has
    entries, or where few rows are much longer than the others as many as there are entries (`RaggedKernel`).

    Example:
        >>> import scipy.sparse
        >>> swap = from_sparse(scipy.sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), num_actions=1)
        >>> swap.to_array().tolist()
        [[[0.0, 1.0]], [[1.0, 0.0]]]
    """
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    if not scipy.sparse.issparse(matrix):
        raise InvalidInputError(f"the matrix is a {type(matrix).__name__}, but one of scipy.sparse is needed.")
    shape: Any = matrix.shape  # pyright: ignore[reportAttributeAccessIssue]
    what, remedy = f"a sparse kernel of shape {shape}", "use fewer states or actions"
    require_memory(float(ROW_BYTES) * shape[0], what, remedy)
    rows = scipy.sparse.csr_array(matrix)
    if rows.data.dtype.kind not in "biuf":
        raise InvalidInputError(f"the matrix holds {rows.data.dtype}, but real numbers are needed.")
    num_actions = checks.as_count("num_actions", num_actions, 1)
    pairs, states = rows.shape  # pyright: ignore[reportGeneralTypeIssues]
    if states == 0:
        raise InvalidInputError(f"the matrix has shape {(pairs, states)}, but a world has at least one state.")
    if pairs != states * num_actions:
        raise InvalidInputError(
            f"the matrix has shape {(pairs, states)}, but with {num_actions} actions {states * num_actions} rows are"
            " needed, one for each state and action."
        )
    rows.sum_duplicates()
    bad = ~(np.isfinite(rows.data) & (rows.data >= 0))
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, entry, "right")) - 1
        index = row // num_actions, row % num_actions, int(rows.indices[entry])
        raise InvalidInputError(
            f"the probability of {checks.place(index)} is {float(rows.data[entry])!r},"
            " but a finite number of at least 0 is needed."
        )
    lengths = np.diff(rows.indptr)
    longest = max(int(lengths.max(initial=0)), 1)
    if wasteful(pairs, longest, rows.nnz):
        rows.eliminate_zeros()
        return RaggedKernel(rows, num_actions=num_actions)
    require_memory(float(ENTRY_BYTES) * pairs * longest, what, remedy)
    filled = np.arange(longest) < lengths[:, None]
    places, chances = np.zeros((pairs, longest), dtype=np.int64), np.zeros((pairs, longest))
    places[filled], chances[filled] = rows.indices, rows.data
    shape = (states, num_actions, longest)
    return banded_or_lists(places.reshape(shape), chances.reshape(shape))
