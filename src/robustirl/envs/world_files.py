"""Read a world of one's own from a file, so that the command line can learn in it: an .npz of plain arrays.

    kernel     `[S, A, S]`, T(s'|s,a); a row of zeros says that there is no such action
    initial    `[S]`, P₀; uniform if omitted
    discount   γ, one number; 0.99 if omitted
    reward     `[S]` or `[S, A]`, the true one, where it is known: experts need it, learners do not
    shape      rows and columns, where the first states are the cells of a grid; only pictures use it
    features   `[S, d]`, φ(s), or `[S, A, d]`, φ(s,a): what a linear reward or a network is made of
    feature_names   `[d]`, words, which summaries show
    state_names, action_names   `[S]`, `[A]`, words; tables of demonstrations may use them instead of numbers

`numpy.savez("world.npz", kernel=kernel, discount=0.9)` writes one. Reading it runs no code. A file that
`scipy.sparse.save_npz` wrote is a world, too: a matrix `[S·A, S]` whose row s·|A| + a is T(·|s,a), with the discount
0.99, the uniform start and no reward.
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from robustirl._runtime import as_path, one_line, read_arrays, read_regular, require_memory, short_repr, sum_tolerance
from robustirl.envs.tabular import Outcomes, TabularEnvironment
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_floats, from_sparse, require_finite

SUFFIX = ".npz"
WORDS = ("state_names", "action_names", "feature_names")
ARRAYS = ("kernel", "mask", "initial", "discount", "reward", "shape", "features", *WORDS)
SPARSE = {"data", "indices", "indptr", "shape", "format"}  # What `scipy.sparse.save_npz` writes of a matrix by rows.
DISCOUNT = 0.99
ROW_BYTES = 24  # A row or column of a sparse matrix, however empty.


@dataclasses.dataclass(frozen=True, eq=False)
class WorldFromFile(TabularEnvironment):
    """Hold a world that was read from a file.

    If its reward is unknown, only learners can use it.
    """

    reward_known: bool = True
    names: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    reward_features: np.ndarray | None = None

    @property
    def features(self) -> np.ndarray | None:
        return self.reward_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self.names.get("feature_names")

    @property
    def state_names(self) -> tuple[str, ...] | None:
        return self.names.get("state_names")

    @property
    def action_names(self) -> tuple[str, ...] | None:
        return self.names.get("action_names")

    @property
    def reward(self) -> np.ndarray:
        if not self.reward_known:
            raise InvalidInputError(
                f"{self.name} holds no array 'reward', so that there is no expert to ask; add the true reward, [S] or"
                " [S, A]."
            )
        return self.rewards


def from_file(path: str | os.PathLike[str], *, discount: float | None = None) -> WorldFromFile:
    """Read the world of a file.

    Args:
        path: The file, an .npz with the arrays `kernel` and, if you like, `mask` (which
            actions there are, `[S, A]`), `initial`, `discount`, `reward`, `shape`, `features`, `feature_names`,
            `state_names`, `action_names`.
        discount: γ, where it is to be another than the file's.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/coin.npz", kernel=[[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9, initial=[1.0, 0.0])
        ...     world = from_file(f"{folder}/coin.npz").mdp()
        >>> world.num_states, float(world.discount)
        (2, 0.9)
    """
    arrays = _read(as_path(path))
    if "kernel" not in arrays:
        return _from_sparse(path, arrays, DISCOUNT if discount is None else discount)
    # Truth values and short types grow to double precision, with copies while rows are checked and normalized.
    needed = 3 * np.dtype(np.float64).itemsize * arrays["kernel"].size
    require_memory(needed, f"the array 'kernel' of {path}", "use a machine with more, or a smaller world")
    kernel = as_floats(f"the array 'kernel' of {path}", arrays["kernel"])
    if kernel.ndim != 3 or kernel.shape[0] != kernel.shape[2] or not kernel.size:
        raise InvalidInputError(
            f"the array 'kernel' of {path} has shape {kernel.shape}, but [S, A, S] is needed: states, actions, states."
        )
    size = len(kernel)
    if "mask" in arrays:
        available = _mask(path, arrays["mask"], kernel.shape[:2])
        kernel = np.where(available[..., None], kernel, 0.0)  # A row of zeros says that there is no such action.
    reward = arrays.get("reward")
    features = _features(path, arrays["features"], kernel.shape[:2]) if "features" in arrays else None
    counts = [("state_names", size), ("action_names", kernel.shape[1])]
    if features is not None:
        counts.append(("feature_names", features.shape[-1]))
    elif "feature_names" in arrays:
        raise InvalidInputError(f"{path} holds 'feature_names' but no array 'features'; add it, [S, d] or [S, A, d].")
    parts = {
        "rewards": np.zeros(size) if reward is None else _checked(path, "reward", reward, ((size,), kernel.shape[:2])),
        "initial": _checked(path, "initial", arrays["initial"], ((size,),)) if "initial" in arrays else None,
        "discount": _discount(path, arrays) if discount is None else discount,
        "shape": _shape(path, arrays["shape"], size) if "shape" in arrays else None,
        "names": {name: _names(path, name, arrays[name], count) for name, count in counts if name in arrays},
        "reward_features": features,
    }
    outcomes = Outcomes(np.broadcast_to(np.arange(size), kernel.shape), _in_full(kernel))
    try:
        world = WorldFromFile(str(path), outcomes=outcomes, **parts, reward_known=reward is not None)
        world.mdp()  # What is wrong with its rows, its start or its discount comes out here.
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    return world


def _from_sparse(path: str | os.PathLike[str], arrays: dict[str, np.ndarray], discount: float) -> WorldFromFile:
    """Return the world of a matrix that `scipy.sparse.save_npz` wrote."""
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    form = arrays["format"]
    if form.size != 1 or form.dtype.kind not in "SU" or arrays["shape"].shape != (2,):
        raise InvalidInputError(
            f"{path} is damaged: its arrays 'format' and 'shape' are {short_repr(form.tolist())} and"
            f" {short_repr(arrays['shape'].tolist())}, but a word and two lengths are needed."
        )
    for part, kinds, what in (("data", "biuf", "real"), *((n, "iu", "whole") for n in ("shape", "indices", "indptr"))):
        if arrays[part].dtype.kind not in kinds:
            raise InvalidInputError(
                f"{path}: the array {part!r} of its sparse matrix holds {arrays[part].dtype}, but {what} numbers are"
                " needed."
            )
    word = form.item()
    name = word.decode("ascii", "replace") if isinstance(word, bytes) else str(word)
    if name not in ("csr", "csc"):
        raise InvalidInputError(
            f"{path} holds a sparse matrix in the format {short_repr(name)}, but csr or csc is needed; save"
            " matrix.tocsr()."
        )
    needed = float(ROW_BYTES) * (float(arrays["shape"][0]) + float(arrays["shape"][1]))
    require_memory(
        needed, f"the sparse matrix of {path}, of shape {tuple(arrays['shape'].tolist())},", "save a smaller world"
    )
    try:
        made = scipy.sparse.csr_array if name == "csr" else scipy.sparse.csc_array
        matrix = made(tuple(arrays[part] for part in ("data", "indices", "indptr")), shape=tuple(arrays["shape"]))
        matrix.check_format(full_check=True)
        rows = scipy.sparse.csr_array(matrix)
    except (ValueError, TypeError, IndexError) as error:
        raise InvalidInputError(f"{path} is damaged: its arrays are no sparse matrix ({one_line(error)}).") from None
    pairs, size = (int(length) for length in arrays["shape"])
    if not size or pairs % size or not pairs:
        raise InvalidInputError(
            f"the sparse matrix of {path} has shape ({pairs}, {size}), but a multiple of its columns is needed as rows:"
            " one for each state and action."
        )
    try:
        lists = from_sparse(rows, num_actions=pairs // size).successor_lists()
        if lists is None:
            raise InvalidInputError(
                "some rows of the matrix have many times as many successors as the others, which a world from a file"
                " cannot store; build it by MDP(matrix, num_actions=...)."
            )
        outcomes = Outcomes(np.asarray(lists.next_states), np.asarray(lists.probabilities))
        world = WorldFromFile(
            str(path), outcomes=outcomes, rewards=np.zeros(size), discount=discount, reward_known=False
        )
        world.mdp()
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    return world


def _in_full(kernel: np.ndarray) -> np.ndarray:
    """Return a kernel in double precision.

    Rows that sum to one as exactly as a shorter type can are made to do so in full.
    """
    if kernel.dtype == np.float64:
        return kernel
    exact = kernel.astype(np.float64)
    sums = exact.sum(-1, keepdims=True)
    near = np.abs(sums - 1) <= sum_tolerance(kernel.dtype)
    return exact / np.where(near, sums, 1)


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        arrays = read_arrays(read_regular(path))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); give the path of a file.") from None
    except ValueError as error:
        raise InvalidInputError(f"{path} is damaged or not an .npz file of plain arrays ({error}).") from None
    if set(arrays) >= SPARSE:
        return {name: array for name, array in arrays.items() if name in SPARSE}
    if "kernel" not in arrays:
        raise InvalidInputError(f"{path} has no array 'kernel', [S, A, S], which is the world; save one.")
    for name in arrays:
        if name not in ARRAYS:
            raise InvalidInputError(
                f"{path} holds an array {short_repr(name)}, which means nothing here; {', '.join(ARRAYS)} do."
            )
    return arrays


def _checked(
    path: str | os.PathLike[str], name: str, array: np.ndarray, shapes: tuple[tuple[int, ...], ...]
) -> np.ndarray:
    values = as_floats(f"the array {name!r} of {path}", array)
    if values.shape not in shapes:
        needed = " or ".join(map(str, shapes))
        raise InvalidInputError(f"the array {name!r} of {path} has shape {values.shape}, but {needed} is needed.")
    return values


def _mask(path: str | os.PathLike[str], array: np.ndarray, pairs: tuple[int, ...]) -> np.ndarray:
    """Return which actions there are; programs also write 1 and 0."""
    values = _checked(path, "mask", array, (pairs,))
    wrong = ~np.isin(values, (0, 1))
    if wrong.any():
        state, action = (int(i) for i in np.argwhere(wrong)[0])
        raise InvalidInputError(
            f"the array 'mask' of {path} is {float(values[state, action])!r} at state {state}, action {action}, but"
            " True and False, or 1 and 0, are needed."
        )
    return values == 1


def _features(path: str | os.PathLike[str], array: np.ndarray, pairs: tuple[int, ...]) -> np.ndarray:
    values = as_floats(f"the array 'features' of {path}", array)
    if values.ndim not in (2, 3) or values.shape[:-1] not in (pairs[:1], pairs) or not values.size:
        raise InvalidInputError(
            f"the array 'features' of {path} has shape {values.shape}, but {(*pairs[:1], 'd')} or {(*pairs, 'd')} is"
            " needed: d features for every state, or for every state and action."
        )
    require_finite(f"the array 'features' of {path}", values)
    return values


def _discount(path: str | os.PathLike[str], arrays: dict[str, np.ndarray]) -> float:
    return float(_checked(path, "discount", arrays["discount"], ((),))) if "discount" in arrays else DISCOUNT


def _names(path: str | os.PathLike[str], name: str, array: np.ndarray, count: int) -> tuple[str, ...]:
    words = tuple(array.tolist()) if array.dtype.kind == "U" and array.ndim == 1 else ()
    if len(words) != count or len(set(words)) != count:
        raise InvalidInputError(
            f"the array {name!r} of {path} is {short_repr(array.tolist())}, but {count} different words are needed."
        )
    return words


def _shape(path: str | os.PathLike[str], array: np.ndarray, size: int) -> tuple[int, int]:
    if array.shape != (2,) or array.dtype.kind not in "iu" or array.min() < 1 or int(array[0]) * int(array[1]) > size:
        raise InvalidInputError(
            f"the array 'shape' of {path} is {short_repr(array.tolist())}, but rows and columns of a grid of at most"
            f" {size} cells are needed."
        )
    return int(array[0]), int(array[1])
