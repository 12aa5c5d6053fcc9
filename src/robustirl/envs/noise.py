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

import numpy as np

from robustirl._runtime import require_memory
from robustirl.errors import InvalidInputError
from robustirl.mdp import AbstractKernel, DenseKernel, MixtureKernel, banded_or_lists, require_callable, require_kind

UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED = "uniform-state", "uniform-action", "published"
NOISE_MODELS = (UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED)  # Those of the paper; `noise_model_names` has all of them.
DENSE_GRID = 200  # States; up to here an array is faster than diagonals.


@dataclasses.dataclass(frozen=True)
class Moves:
    """A deterministic world, before noise.

    Attributes:
        targets: `[S, A]`, the state each move leads to, the state itself where a move is blocked.
        available: `[S, A]`, which moves are not blocked.
        absorbing: `[S]`, whether the state keeps whatever enters it.
        dense: Whether to make an array `[S, A, S]`, or diagonals or lists of successors.
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
        >>> register_noise_model("frozen", lambda moves, noise: _astray(
        ...     moves.targets, moves.absorbing, 0.0, moves.available / 4, moves.dense, leaky=False))
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
        dense: Whether to make an array `[S, A, S]` of it, or diagonals or lists of successors; by size, if omitted.
    """
    if model not in _models:
        raise InvalidInputError(f"there is no noise model {model!r}; choose one of {', '.join(_models)}.")
    _require_room(moves, _dense(moves, dense))
    available = np.ones(moves.shape, bool) if available is None else available
    return _models[model][evaluation](Moves(moves, available, absorbing, _dense(moves, dense)), noise)


def _require_room(moves: np.ndarray, dense: bool) -> None:
    """Refuse a world that will not fit before any of it is made."""
    states, actions = moves.shape
    # While it is made, a kernel of diagonals takes some four times its (|A| + 1) |A| numbers a state.
    needed = 8.0 * states * actions * (states if dense else 4 * (actions + 1))
    require_memory(needed, f"a world of {states} states and {actions} actions", "use a smaller one")


def _dense(moves: np.ndarray, dense: bool | None) -> bool:
    return len(moves) <= DENSE_GRID if dense is None else dense


def _repeated(moves: np.ndarray) -> np.ndarray:
    """Return which moves of a state lead where an earlier one leads already, `[S, A]`."""
    same = moves[:, :, None] == moves[:, None, :]
    return np.tril(same, -1).any(2)


def _anywhere(moves: np.ndarray, absorbing: np.ndarray, noise: float, dense: bool) -> AbstractKernel:
    """Return the kernel that leads anywhere with probability ε."""
    states = len(moves)
    weights = np.where(absorbing, 0.0, noise)
    here = np.where(absorbing[:, None], np.arange(states)[:, None], moves)
    if not dense:
        base = banded_or_lists(here[..., None], np.ones((*moves.shape, 1)))
        return base if noise == 0 else MixtureKernel(base, weights, np.full(states, 1 / states))
    identity = np.eye(states)
    kernel = (1 - noise) * identity[moves] + noise * np.full((states, states), 1 / states)[:, None, :]
    kernel[absorbing] = identity[absorbing][:, None, :]
    return DenseKernel(kernel)


def _astray(
    moves: np.ndarray, absorbing: np.ndarray, noise: float, shares: np.ndarray, dense: bool, *, leaky: bool
) -> AbstractKernel:
    """Return the kernel that draws, with probability ε, one of the state's own moves.

    The moves are drawn by `shares`, `[S, A]`.
    """
    states, actions = moves.shape
    if dense:
        identity = np.eye(states)
        disturbance = np.einsum("sa,sat->st", shares, identity[moves])
        kernel = (1 - noise) * identity[moves] + noise * disturbance[:, None, :]
        kernel[absorbing] = identity[absorbing][:, None, :]
        return DenseKernel(kernel, leaky=leaky)
    targets = np.concatenate([moves[..., None], np.broadcast_to(moves[:, None, :], (states, actions, actions))], -1)
    usual = np.full((states, actions, 1), 1 - noise)
    weights = np.concatenate([usual, np.broadcast_to(noise * shares[:, None, :], (states, actions, actions))], -1)
    targets[absorbing] = np.flatnonzero(absorbing)[:, None, None]
    weights[absorbing] = np.eye(actions + 1)[0]
    return banded_or_lists(targets, weights, leaky=leaky)


def _uniform_state(moves: Moves, noise: float) -> AbstractKernel:
    return _anywhere(moves.targets, moves.absorbing, noise, moves.dense)


def _uniform_action(moves: Moves, noise: float) -> AbstractKernel:
    shares = np.full(moves.targets.shape, 1 / moves.targets.shape[1])
    return _astray(moves.targets, moves.absorbing, noise, shares, moves.dense, leaky=False)


def _published(moves: Moves, noise: float) -> AbstractKernel:
    shares = np.where(_repeated(moves.targets), 0.0, 1 / moves.targets.shape[1])
    return _astray(moves.targets, moves.absorbing, noise, shares, moves.dense, leaky=True)


def _published_evaluation(moves: Moves, noise: float) -> AbstractKernel:
    shares = moves.available / moves.available.sum(1, keepdims=True)
    return _astray(moves.targets, moves.absorbing, noise, shares, moves.dense, leaky=False)


register_noise_model(UNIFORM_STATE, _uniform_state)
register_noise_model(UNIFORM_ACTION, _uniform_action)
register_noise_model(PUBLISHED, _published, _published_evaluation)
