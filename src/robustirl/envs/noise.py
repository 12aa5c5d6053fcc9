"""Three kernels that hide behind the paper's T = (1-ε) T_ref + ε T̄ with T̄ "uniform".

`uniform-state`
    T̄ is uniform over all states, as the text says; then d_dyn = 2 (1 - 1/|S|) |ε_L - ε_E|. The default.
`uniform-action`
    With probability ε a uniformly drawn move of all there are takes effect, a blocked move staying put: local noise.
`published`
    The only one that reproduces the numbers behind the paper's figures, kept for that alone. It is
    `uniform-action`, except that where several moves share an outcome, the outcome receives its share ε/|A|
    only once, so that rows of grid corners sum to 1 - ε/|A|: probability leaks. Plans and occupancies use
    that leaking kernel, but returns are measured under another: with probability ε a uniformly drawn
    *available* move.

States that end an episode stay absorbing under all of them.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from robustirl._check import require_callable, require_kind, require_memory
from robustirl.errors import InvalidInputError
from robustirl.mdp import AbstractKernel, DenseKernel, MixtureKernel, from_sparse

if TYPE_CHECKING:
    import scipy.sparse

UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED = "uniform-state", "uniform-action", "published"
NOISE_MODELS = (UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED)  # Those of the paper; `noise_model_names` has all of them.
MAX_DENSE_STATES = 200  # Up to here solvers invert matrices, for which an array is best.


@dataclasses.dataclass(frozen=True)
class Moves:
    """A deterministic world, before noise.

    Attributes:
        targets: `[S, A]`, the state each move leads to, the state itself where a move is blocked.
        available: `[S, A]`, which moves are not blocked.
        absorbing: `[S]`, whether the state keeps whatever enters it.
        dense: Whether to make an array `[S, A, S]`, or a sparse matrix.
    """

    targets: np.ndarray
    available: np.ndarray
    absorbing: np.ndarray
    dense: bool


NoiseModel = Callable[[Moves, float], AbstractKernel]
"""Makes the kernel of a deterministic world at noise ε."""

_models: dict[str, tuple[NoiseModel, NoiseModel]] = {}


def register_noise_model(name: str, kernel: NoiseModel, evaluation: NoiseModel | None = None) -> None:
    """Make a noise model known to all grids under a name.

    Args:
        name: What `GridWorld.mdp(noise, noise_model=name)` asks for.
        kernel: Makes the kernel in which policies are planned and demonstrations are made.
        evaluation: Makes the kernel in which returns are measured, if it differs.

    Example:
        >>> register_noise_model("frozen", lambda moves, noise: astray(moves, 0.0, moves.available / 4))
        >>> "frozen" in noise_model_names()
        True
        >>> unregister_noise_model("frozen")
    """
    require_kind("the name of a noise model", name, str, "a text")
    for function in (kernel, kernel if evaluation is None else evaluation):
        require_callable("the kernel of a noise model", function, "a function of moves and noise")
    if name in _models:
        raise InvalidInputError(f"a noise model named {name!r} is registered already; choose another name.")
    _models[name] = kernel, kernel if evaluation is None else evaluation


def unregister_noise_model(name: str) -> None:
    """Forget a noise model."""
    if _models.pop(name, None) is None:
        raise InvalidInputError(f"there is no noise model {name!r} to unregister.")


def noise_model_names() -> tuple[str, ...]:
    """Return the registered names, in order of registration; the first is the default of grids."""
    return tuple(_models)


def noisy_kernel(
    moves: np.ndarray,
    absorbing: np.ndarray,
    noise: float,
    model: str,
    *,
    available: np.ndarray | None = None,
    evaluation: bool = False,
    dense: bool | None = None,
) -> AbstractKernel:
    """Return the kernel of a deterministic world under noise.

    Args:
        moves: `[S, A]`, the state each move leads to, the state itself where a move is blocked.
        absorbing: `[S]`, whether the state keeps whatever enters it.
        noise: ε.
        model: The name of a registered noise model.
        available: `[S, A]`, which moves are not blocked; all of them, if omitted.
        evaluation: Return the kernel in which returns are measured.
        dense: Whether to make an array `[S, A, S]` of it, or a sparse matrix; by size, if omitted.
    """
    if model not in _models:
        raise InvalidInputError(f"there is no noise model {model!r}; choose one of {', '.join(_models)}.")
    states, actions = moves.shape
    full = states <= MAX_DENSE_STATES if dense is None else dense
    # While it is made, a sparse kernel takes some four times its (|A| + 1) |A| numbers a state.
    needed = 8.0 * states * actions * (states if full else 4 * (actions + 1))
    require_memory(needed, f"a world of {states} states and {actions} actions", "use a smaller one")
    available = np.ones(moves.shape, bool) if available is None else available
    return _models[model][evaluation](Moves(moves, available, absorbing, full), noise)


def sparse_rows(places: np.ndarray, chances: np.ndarray) -> "scipy.sparse.csr_array":
    """Return the matrix `[S·A, S]` of lists of successors and their probabilities, both `[S, A, K]`.

    Example:
        >>> sparse_rows(np.array([[[0, 1, 1]], [[1, 1, 1]]]), np.full((2, 1, 3), 1 / 4)).toarray().tolist()
        [[0.25, 0.5], [0.0, 0.75]]
    """
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    states, actions, length = places.shape
    rows = np.repeat(np.arange(states * actions), length)
    matrix = scipy.sparse.coo_array((chances.ravel(), (rows, places.ravel())), shape=(states * actions, states)).tocsr()
    matrix.eliminate_zeros()
    return matrix


def _uniform_state(moves: Moves, noise: float) -> AbstractKernel:
    """Lead anywhere with probability ε."""
    states = len(moves.targets)
    here = np.where(moves.absorbing[:, None], np.arange(states)[:, None], moves.targets)
    if not moves.dense:
        base: Any = from_sparse(sparse_rows(here[..., None], np.ones((*here.shape, 1))), num_actions=here.shape[1])
        weights = np.where(moves.absorbing, 0.0, noise)
        return base if noise == 0 else MixtureKernel(base, weights, np.full(states, 1 / states))
    identity = np.eye(states)
    kernel = (1 - noise) * identity[moves.targets] + noise * np.full((states, states), 1 / states)[:, None, :]
    kernel[moves.absorbing] = identity[moves.absorbing][:, None, :]
    return DenseKernel(kernel)


def astray(moves: Moves, noise: float, shares: np.ndarray, *, leaky: bool = False) -> AbstractKernel:
    """Return the kernel that takes, with probability ε, one of the state's own moves instead of the chosen one.

    The moves are drawn by `shares`, `[S, A]`. A leaky kernel is always an array.
    """
    targets, absorbing = moves.targets, moves.absorbing
    states, actions = targets.shape
    if moves.dense or leaky:
        identity = np.eye(states)
        disturbance = np.einsum("sa,sat->st", shares, identity[targets])
        kernel = (1 - noise) * identity[targets] + noise * disturbance[:, None, :]
        kernel[absorbing] = identity[absorbing][:, None, :]
        return DenseKernel(kernel, leaky=leaky)
    others = np.broadcast_to(targets[:, None, :], (states, actions, actions))
    places = np.concatenate([targets[..., None], others], -1)
    chances = np.concatenate(
        [np.full((states, actions, 1), 1 - noise), np.broadcast_to(noise * shares[:, None, :], others.shape)], -1
    )
    places[absorbing] = np.flatnonzero(absorbing)[:, None, None]
    chances[absorbing] = np.eye(actions + 1)[0]
    return from_sparse(sparse_rows(places, chances), num_actions=actions)


def _uniform_action(moves: Moves, noise: float) -> AbstractKernel:
    return astray(moves, noise, np.full(moves.targets.shape, 1 / moves.targets.shape[1]))


def _published(moves: Moves, noise: float) -> AbstractKernel:
    same = moves.targets[:, :, None] == moves.targets[:, None, :]
    repeated = np.tril(same, -1).any(2)  # Moves that lead where an earlier one of the state leads already.
    return astray(moves, noise, np.where(repeated, 0.0, 1 / moves.targets.shape[1]), leaky=True)


def _published_evaluation(moves: Moves, noise: float) -> AbstractKernel:
    return astray(moves, noise, moves.available / moves.available.sum(1, keepdims=True))


register_noise_model(UNIFORM_STATE, _uniform_state)
register_noise_model(UNIFORM_ACTION, _uniform_action)
register_noise_model(PUBLISHED, _published, _published_evaluation)
