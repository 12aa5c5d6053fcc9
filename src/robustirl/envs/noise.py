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

import numpy as np

from robustirl._runtime import require_memory
from robustirl.mdp import AbstractKernel, DenseKernel, MixtureKernel, banded_or_lists

UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED = "uniform-state", "uniform-action", "published"
NOISE_MODELS = (UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED)
DENSE_GRID = 200  # States; up to here an array is faster than diagonals.


def noisy_kernel(
    moves: np.ndarray, absorbing: np.ndarray, noise: float, model: str, *, dense: bool | None = None
) -> AbstractKernel:
    """The kernel of a deterministic world under noise.

    Args:
        moves: `[S, A]`, the state each move leads to, the state itself where a move is blocked.
        absorbing: `[S]`, whether the state keeps whatever enters it.
        noise: ε.
        model: One of `NOISE_MODELS`.
        dense: Whether to make an array `[S, A, S]` of it, or diagonals or lists of successors; by size when left out.
    """
    _require_room(moves, _dense(moves, dense))
    shares = np.full(moves.shape, 1 / moves.shape[1])
    if model == PUBLISHED:
        shares = np.where(_repeated(moves), 0.0, shares)
    if model == UNIFORM_STATE:
        return _anywhere(moves, absorbing, noise, _dense(moves, dense))
    return _astray(moves, absorbing, noise, shares, _dense(moves, dense), leaky=model == PUBLISHED)


def published_evaluation_kernel(
    moves: np.ndarray, available: np.ndarray, absorbing: np.ndarray, noise: float, *, dense: bool | None = None
) -> AbstractKernel:
    """The kernel under which the published returns are measured: noise draws an available move."""
    shares = available / available.sum(1, keepdims=True)
    return _astray(moves, absorbing, noise, shares, _dense(moves, dense), leaky=False)


def _require_room(moves: np.ndarray, dense: bool) -> None:
    """Refuse a world that will not fit before any of it is made."""
    states, actions = moves.shape
    # While it is made, a kernel of diagonals takes some four times its (|A| + 1) |A| numbers a state.
    needed = 8.0 * states * actions * (states if dense else 4 * (actions + 1))
    require_memory(needed, f"a world of {states} states and {actions} actions", "use a smaller one")


def _dense(moves: np.ndarray, dense: bool | None) -> bool:
    return len(moves) <= DENSE_GRID if dense is None else dense


def _repeated(moves: np.ndarray) -> np.ndarray:
    """Which moves of a state lead where an earlier one leads already, `[S, A]`."""
    same = moves[:, :, None] == moves[:, None, :]
    return np.tril(same, -1).any(2)


def _anywhere(moves: np.ndarray, absorbing: np.ndarray, noise: float, dense: bool) -> AbstractKernel:
    """With probability ε any state."""
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
    """With probability ε another of the state's own moves, with these shares `[S, A]`."""
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
