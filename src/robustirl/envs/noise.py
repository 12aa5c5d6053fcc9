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

from robustirl._check import require_callable, require_kind, require_memory
from robustirl.errors import InvalidInputError
from robustirl.mdp.builders import from_successors
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.mixtures import MixtureKernel

UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED = "uniform-state", "uniform-action", "published"
NOISE_MODELS = (UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED)  # Those of the paper; `noise_model_names` has all of them.
LIST_NUMBERS = 16  # That a move takes while lists are made of all of them.
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
        dense: Whether to make an array `[S, A, S]` of it, or lists of successors; by size, if omitted.
    """
    if model not in _models:
        raise InvalidInputError(f"there is no noise model {model!r}; choose one of {', '.join(_models)}.")
    states, actions = moves.shape
    full = states <= MAX_DENSE_STATES if dense is None else dense
    needed = 8.0 * states * actions * (states if full else LIST_NUMBERS)
    require_memory(needed, f"a world of {states} states and {actions} actions", "use a smaller one")
    available = np.ones(moves.shape, bool) if available is None else available
    return _models[model][evaluation](Moves(moves, available, absorbing, full), noise)


def _undisturbed(moves: Moves) -> AbstractKernel:
    """Return the kernel without noise, as lists."""
    here = np.where(moves.absorbing[:, None], np.arange(len(moves.targets))[:, None], moves.targets)
    return from_successors(here[..., None], np.ones((*here.shape, 1)))


def _uniform_state(moves: Moves, noise: float) -> AbstractKernel:
    """Lead anywhere with probability ε."""
    states = len(moves.targets)
    if not moves.dense:
        weights = np.where(moves.absorbing, 0.0, noise)
        base = _undisturbed(moves)
        return base if noise == 0 else MixtureKernel(base, weights, np.full(states, 1 / states))
    identity = np.eye(states)
    kernel = (1 - noise) * identity[moves.targets] + noise * np.full((states, states), 1 / states)[:, None, :]
    kernel[moves.absorbing] = identity[moves.absorbing][:, None, :]
    return DenseKernel(kernel)


def astray(moves: Moves, noise: float, shares: np.ndarray, *, leaky: bool = False) -> AbstractKernel:
    """Return the kernel that takes, with probability ε, one of the state's own moves instead of the chosen one.

    The moves are drawn by `shares`, `[S, A]`.
    """
    targets, absorbing = moves.targets, moves.absorbing
    if not moves.dense:
        base, weights = _undisturbed(moves), np.where(absorbing, 0.0, noise)
        return MixtureKernel(base, weights, shares=shares, leaky=leaky) if noise or leaky else base
    identity = np.eye(len(targets))
    disturbance = np.einsum("sa,sat->st", shares, identity[targets])
    kernel = (1 - noise) * identity[targets] + noise * disturbance[:, None, :]
    kernel[absorbing] = identity[absorbing][:, None, :]
    return DenseKernel(kernel, leaky=leaky)


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
