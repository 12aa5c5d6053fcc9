r"""Environments given by a table of outcomes, what noise makes of them, and worlds of one's own in a file.

At noise ε the world is T_ε = (1-ε) T + ε T̄ with the disturbance T̄ of a noise model. Two are known for any table:

`uniform-state`
    T̄ is uniform over all states.
`uniform-action`
    T̄(·|s,a) is that of an action drawn uniformly from those that exist in s.

A table may bring its own (slippery ice, wind, rain). Noise leaves some states alone: those that keep whatever enters
them, and others that the environment names.

`from_file` reads a world from an .npz of plain arrays, so that the command line can learn in it:

    kernel     `[S, A, S]`, T(s'|s,a); a row of zeros says that there is no such action
    mask       `[S, A]`, which actions there are; those with a row in the kernel if omitted
    initial    `[S]`, P₀; uniform if omitted
    discount   γ, one number; 0.99 if omitted
    reward     `[S]` or `[S, A]`, the true one, where it is known: experts need it, learners do not
    shape      rows and columns, where the first states are the cells of a grid; only pictures use it
    features   `[S, d]`, φ(s), or `[S, A, d]`, φ(s,a): what a linear reward or a network is made of
    classes    `[S]`, words: which states are alike
    feature_names, state_names, action_names   `[d]`, `[S]`, `[A]`, different words

`numpy.savez("world.npz", kernel=kernel, discount=0.9)` writes one. Reading it runs no code. A file that
`scipy.sparse.save_npz` wrote is a world, too: a matrix `[S·A, S]` whose row s·|A| + a is T(·|s,a).
"""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from robustirl._check import as_floats, one_line, require_finite, require_memory, short_repr, sum_tolerance
from robustirl._files import as_path, read_arrays, read_regular
from robustirl.envs.noise import UNIFORM_ACTION, UNIFORM_STATE
from robustirl.envs.registry import Environment, frozen, grid_positions
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.builders import from_successors
from robustirl.mdp.mdp import require_discount

MAX_DENSE_STATES = 1000  # Up to here an array `[S, A, S]` is small enough to be written down first.


class Outcomes(NamedTuple):
    """Where actions lead: successors n(s,a,k) with probabilities p(s,a,k), both `[S, A, K]`.

    Example:
        >>> coin = Outcomes(np.array([[[0, 1]], [[1, 1]]]), np.array([[[0.5, 0.5]], [[1.0, 0.0]]]))
        >>> coin.dense().tolist()
        [[[0.5, 0.5]], [[0.0, 1.0]]]
    """

    next_states: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def certain(cls, moves: np.ndarray) -> "Outcomes":
        """Return the outcomes of a world without chance, whose actions lead to `moves`, `[S, A]`."""
        return cls(moves[..., None], np.ones((*moves.shape, 1)))

    def after(self, order: np.ndarray) -> "Outcomes":
        """Return the outcomes with the actions in another order: those of `order[a]`, or of `order[s, a]`."""
        order = np.broadcast_to(order, self.next_states.shape[:2])
        states = np.arange(len(order))[:, None]
        return Outcomes(self.next_states[states, order], self.probabilities[states, order])

    def dense(self) -> np.ndarray:
        """Return the kernel as an array `[S, A, S]`, outcomes listed more than once added up."""
        size, actions, _ = self.next_states.shape
        rows = np.arange(size * actions).reshape(size, actions, 1)
        places = (rows * size + self.next_states).ravel()
        return np.bincount(places, self.probabilities.ravel(), size * actions * size).reshape(size, actions, size)

    def never_left(self) -> Bool[np.ndarray, " S"]:
        """Return which states have no successor of positive probability but themselves."""
        here = np.arange(len(self.next_states))[:, None, None]
        return ~((self.probabilities > 0) & (self.next_states != here)).any((1, 2))


def blend(*parts: tuple[float, Outcomes]) -> Outcomes:
    """Return the mixture Σ w T of weighted outcomes.

    Example:
        >>> still, onward = (Outcomes.certain(np.array([[0], [1]])), Outcomes.certain(np.array([[1], [0]])))
        >>> blend((0.75, still), (0.25, onward)).dense()[0].tolist()
        [[0.75, 0.25]]
    """
    return Outcomes(
        np.concatenate([part.next_states for _, part in parts], -1),
        np.concatenate([weight * part.probabilities for weight, part in parts], -1),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class TabularEnvironment(Environment):
    """An environment made of a table.

    Args:
        name: What to call it.
        outcomes: Where actions lead without noise; an action whose probabilities are all zero does not exist.
        rewards: R(s), `[S]`, or R(s,a), `[S, A]`; None if it is not known. It is the same at every noise: an `[S, A]`
            reward pays for the action chosen, whatever becomes of it.
        initial: P₀, `[S]`; uniform if omitted.
        discount: γ.
        disturbances: T̄ by the name of the noise model; the first is the environment's default.
        calm: `[S]`, states that noise leaves alone, besides those that keep whatever enters them.
        grid: Rows and columns, if the first states are the cells of a grid, row by row.
        last: The state that ended episodes stay in (`end`), if there is one for nothing else.
        words: Names by what they name: `classes`, `feature_names`, `state_names`, `action_names`.
        phi: Reward features, `[S, d]` or `[S, A, d]`.

    Example:
        >>> table = Outcomes.certain(np.array([[1, 0], [1, 1]]))
        >>> env = TabularEnvironment("doors", outcomes=table, rewards=np.array([[-1.0, -2.0], [0.0, 0.0]]))
        >>> env.noise_models, env.mdp(0.5, "uniform-action").kernel.row_sums().tolist()
        (('uniform-state', 'uniform-action'), [[1.0, 1.0], [1.0, 1.0]])
    """

    outcomes: Outcomes
    rewards: np.ndarray | None
    initial: np.ndarray | None = None
    discount: float = 0.99
    disturbances: Mapping[str, Outcomes] = dataclasses.field(default_factory=dict)
    calm: np.ndarray | None = None
    grid: tuple[int, int] | None = None
    last: int | None = None
    words: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    phi: np.ndarray | None = None

    def __post_init__(self) -> None:
        require_discount(self.discount)
        if self.rewards is None:
            return
        pairs = self.outcomes.next_states.shape[:2]
        rewards = as_floats("the reward", self.rewards)
        if rewards.shape not in (pairs[:1], pairs):
            raise InvalidInputError(
                f"the reward has shape {rewards.shape}, but {pairs[:1]} (states) or {pairs} (states, actions) is"
                " needed."
            )
        require_finite("the reward", rewards)
        object.__setattr__(self, "rewards", frozen(rewards))

    @property
    def reward(self) -> np.ndarray:
        if self.rewards is None:
            raise InvalidInputError(
                f"the true reward of {self.name} is not known, so that there is no expert to plan for; learn one from"
                " what was recorded, or give the reward."
            )
        return self.rewards

    @property
    def features(self) -> np.ndarray | None:
        return self.phi

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self.words.get("feature_names")

    @property
    def classes(self) -> tuple[str, ...] | None:
        return self.words.get("classes")

    @property
    def positions(self) -> Float[np.ndarray, "S 2"] | None:
        return None if self.shape is None else grid_positions(self.shape, len(self.outcomes.next_states))

    @property
    def state_names(self) -> tuple[str, ...] | None:
        return self.words.get("state_names")

    @property
    def action_names(self) -> tuple[str, ...] | None:
        return self.words.get("action_names")

    @property
    def shape(self) -> tuple[int, int] | None:
        return self.grid

    @property
    def end(self) -> int | None:
        return self.last

    def _in_words(self) -> list[str]:
        states, actions = self.outcomes.next_states.shape[:2]
        return [f"{states} states", f"{actions} actions", *super()._in_words()]

    @property
    def expert(self) -> str:
        # Rewards of tables are often 1 at most, where the soft expert at temperature 1 is far from optimal.
        return "optimal"

    @property
    def noise_models(self) -> tuple[str, ...]:
        return (*self.disturbances, UNIFORM_STATE, UNIFORM_ACTION)

    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        model = self.choose_noise_model(noise, noise_model)
        outcomes = self.outcomes if noise == 0 else self._disturbed(noise, model)
        return MDP(from_successors(*outcomes), discount=self.discount, initial=self.initial, **self._labels)

    def _disturbed(self, noise: float, model: str) -> Outcomes:
        """(1-ε) T + ε T̄, where noise has a hold; actions that do not exist stay so."""
        disturbance = self.disturbances[model] if model in self.disturbances else _COMMON[model](self.outcomes)
        noisy = blend((1 - noise, self.outcomes), (noise, disturbance))
        undisturbed = blend((1.0, self.outcomes), (0.0, disturbance))
        exists = self.outcomes.probabilities.sum(-1) > 0
        at_rest = self.outcomes.never_left()
        reached = exists & ~(at_rest if self.calm is None else at_rest | self.calm)[:, None]
        return Outcomes(noisy.next_states, np.where(reached[..., None], noisy.probabilities, undisturbed.probabilities))


def _any_state(outcomes: Outcomes) -> Outcomes:
    size, actions, _ = outcomes.next_states.shape
    if size > MAX_DENSE_STATES:
        raise InvalidInputError(
            f"the noise model {UNIFORM_STATE!r} joins each of {size} states to all others, but {MAX_DENSE_STATES}"
            " states are the most it is made for; choose another noise model."
        )
    return Outcomes(np.broadcast_to(np.arange(size), (size, actions, size)), np.full((size, actions, size), 1 / size))


def _any_action(outcomes: Outcomes) -> Outcomes:
    size, actions, _ = outcomes.next_states.shape
    number = (outcomes.probabilities.sum(-1) > 0).sum(-1)[:, None]
    places, weights = (array.reshape(size, 1, -1) for array in outcomes)
    weights = weights / np.maximum(number, 1)[..., None]
    return Outcomes(*(np.broadcast_to(array, (size, actions, array.shape[-1])) for array in (places, weights)))


_COMMON = {UNIFORM_STATE: _any_state, UNIFORM_ACTION: _any_action}

SUFFIX = ".npz"
WORDS = ("classes", "feature_names", "state_names", "action_names")
ARRAYS = ("kernel", "mask", "initial", "discount", "reward", "shape", "features", *WORDS)
SPARSE = {"data", "indices", "indptr", "shape", "format"}  # What `scipy.sparse.save_npz` writes of a matrix by rows.


def from_file(path: str | os.PathLike[str], *, discount: float | None = None) -> TabularEnvironment:
    """Return the environment of a file, an .npz with the arrays that this module lists.

    Args:
        path: The file.
        discount: γ, where it is to be another than the file's.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/coin.npz", kernel=[[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9, initial=[1.0, 0.0])
        ...     world = from_file(f"{folder}/coin.npz").mdp()
        >>> world.num_states, float(world.discount)
        (2, 0.9)
    """
    place = as_path(path)
    try:
        arrays = read_arrays(read_regular(place))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); give the path of a file.") from None
    except ValueError as error:
        raise InvalidInputError(f"{path} is damaged or not an .npz file of plain arrays ({error}).") from None
    try:
        parts = _sparse_parts(arrays) if set(arrays) >= SPARSE else _parts(arrays)
        env = TabularEnvironment(str(path), **(parts if discount is None else {**parts, "discount": discount}))
        env.mdp()  # What is wrong with its rows, its start or its discount comes out here.
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    return env


def _parts(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    for name in arrays:
        if name not in ARRAYS:
            raise InvalidInputError(f"the array {short_repr(name)} means nothing here; {', '.join(ARRAYS)} do.")
    if "kernel" not in arrays:
        raise InvalidInputError("there is no array 'kernel', [S, A, S], which is the world; save one.")
    # Truth values and short types grow to double precision, with copies while rows are checked and normalized.
    require_memory(24.0 * arrays["kernel"].size, "the array 'kernel'", "use a machine with more, or a smaller world")
    kernel = as_floats("the array 'kernel'", arrays["kernel"])
    if kernel.ndim != 3 or kernel.shape[0] != kernel.shape[2] or not kernel.size:
        raise InvalidInputError(f"the array 'kernel' has shape {kernel.shape}, but [S, A, S] is needed.")
    if kernel.dtype != np.float64:  # Rows that sum to one as exactly as a shorter type can do so in full.
        exact, least = kernel.astype(np.float64), sum_tolerance(kernel.dtype)
        sums = exact.sum(-1, keepdims=True)
        kernel = exact / np.where(np.abs(sums - 1) <= least, sums, 1)
    pairs = kernel.shape[:2]
    if "mask" in arrays:
        mask = _shaped(arrays, "mask", pairs)
        if not np.isin(mask, (0, 1)).all():
            raise InvalidInputError("the array 'mask' holds other numbers than 1 and 0 (True and False).")
        kernel = np.where(mask[..., None] == 1, kernel, 0.0)
    features = _shaped(arrays, "features", (*pairs[:1], -1), (*pairs, -1)) if "features" in arrays else None
    if features is None and "feature_names" in arrays:
        raise InvalidInputError("there are 'feature_names' but no array 'features'; add it, [S, d] or [S, A, d].")
    shape = arrays.get("shape")
    if shape is not None and (
        shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 1 or shape.prod() > pairs[0]
    ):
        raise InvalidInputError(
            f"the array 'shape' is {short_repr(shape.tolist())}, but rows and columns of a grid of at most {pairs[0]}"
            " cells are needed."
        )
    counts = {"classes": pairs[0], "state_names": pairs[0], "action_names": pairs[1]}
    counts["feature_names"] = 0 if features is None else features.shape[-1]
    return {
        "outcomes": Outcomes(np.broadcast_to(np.arange(pairs[0]), kernel.shape), kernel),
        "rewards": _shaped(arrays, "reward", pairs[:1], pairs) if "reward" in arrays else None,
        "initial": _shaped(arrays, "initial", pairs[:1]) if "initial" in arrays else None,
        "discount": float(_shaped(arrays, "discount", ())) if "discount" in arrays else 0.99,
        "grid": None if shape is None else (int(shape[0]), int(shape[1])),
        "phi": features,
        "words": {name: _words(name, arrays[name], counts[name]) for name in WORDS if name in arrays},
    }


def _shaped(arrays: dict[str, np.ndarray], name: str, *shapes: tuple[int, ...]) -> np.ndarray:
    """Return an array as numbers if it has one of the shapes, where -1 is any length above zero."""
    values = as_floats(f"the array {name!r}", arrays[name])
    fits = [
        len(s) == values.ndim and all(n in (w, n * (w < 0)) for n, w in zip(values.shape, s, strict=False))
        for s in shapes
    ]
    if not any(fits) or not values.size:
        needed = " or ".join(str(shape).replace("-1", "'d'") for shape in shapes)
        raise InvalidInputError(f"the array {name!r} has shape {values.shape}, but {needed} is needed.")
    if shapes != ((),):  # The discount, which has a sentence of its own.
        require_finite(f"the array {name!r}", values)
    return values


def _words(name: str, array: np.ndarray, count: int) -> tuple[str, ...]:
    words = tuple(array.tolist()) if array.dtype.kind == "U" and array.ndim == 1 else ()
    if len(words) != count or (name != "classes" and len(set(words)) != count):
        raise InvalidInputError(
            f"the array {name!r} is {short_repr(array.tolist())}, but {count}"
            f" {'words' if name == 'classes' else 'different words'} are needed."
        )
    return words


def _sparse_parts(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the world of a matrix that `scipy.sparse.save_npz` wrote, as lists of successors."""
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    form = arrays["format"].item() if arrays["format"].size == 1 else None
    name = form.decode("ascii", "replace") if isinstance(form, bytes) else str(form)
    if name not in ("csr", "csc"):
        raise InvalidInputError(
            f"the sparse matrix has the format {short_repr(name)}, but csr or csc is needed; save matrix.tocsr()."
        )
    lengths = arrays["shape"]
    try:
        pairs, size = (int(length) for length in lengths)
        require_memory(
            24.0 * (float(pairs) + size), f"a sparse matrix of shape ({pairs}, {size})", "save a smaller one"
        )
        made = scipy.sparse.csr_array if name == "csr" else scipy.sparse.csc_array
        matrix = made((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(pairs, size))
        matrix.check_format(full_check=True)
        rows = scipy.sparse.csr_array(matrix)
        rows.sum_duplicates()
    except (ValueError, TypeError, IndexError) as error:
        raise InvalidInputError(f"its arrays are no sparse matrix ({one_line(error)}).") from None
    if not size or pairs % size or not pairs:
        raise InvalidInputError(
            f"the sparse matrix has shape ({pairs}, {size}), but a multiple of its columns is needed as rows: one for"
            " each state and action."
        )
    counts = np.diff(rows.indptr)
    longest = max(int(counts.max()), 1)
    require_memory(32.0 * pairs * longest, "the lists of successors", "build the world by MDP(matrix, num_actions=...)")
    place = np.repeat(np.arange(pairs), counts), np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], counts)
    places, chances = np.zeros((pairs, longest), np.int64), np.zeros((pairs, longest))
    places[place], chances[place] = rows.indices, as_floats("the array 'data'", rows.data)
    shape = (size, pairs // size, longest)
    return {"outcomes": Outcomes(places.reshape(shape), chances.reshape(shape)), "rewards": None}
