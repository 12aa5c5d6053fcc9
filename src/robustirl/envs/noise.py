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

from collections.abc import Callable

import numpy as np

from robustirl.mdp import DenseKernel

UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED = "uniform-state", "uniform-action", "published"
NOISE_MODELS = (UNIFORM_STATE, UNIFORM_ACTION, PUBLISHED)


def noisy_kernel(moves: np.ndarray, absorbing: np.ndarray, noise: float, model: str) -> DenseKernel:
    """The kernel of a deterministic world under noise.

    Args:
        moves: `[S, A]`, the state each move leads to, the state itself where a move is blocked.
        absorbing: `[S]`, whether the state keeps whatever enters it.
        noise: ε.
        model: One of `NOISE_MODELS`.
    """
    return _blend(moves, absorbing, noise, _DISTURBANCES[model](moves), leaky=model == PUBLISHED)


def published_evaluation_kernel(
    moves: np.ndarray, available: np.ndarray, absorbing: np.ndarray, noise: float
) -> DenseKernel:
    """The kernel under which the published returns are measured: noise draws an available move."""
    return _blend(moves, absorbing, noise, _available_move(moves, available), leaky=False)


def _blend(
    moves: np.ndarray, absorbing: np.ndarray, noise: float, disturbance: np.ndarray, *, leaky: bool
) -> DenseKernel:
    identity = np.eye(len(moves))
    kernel = (1 - noise) * identity[moves] + noise * disturbance[:, None, :]
    kernel[absorbing] = identity[absorbing][:, None, :]
    return DenseKernel(kernel, leaky=leaky)


def _any_state(moves: np.ndarray) -> np.ndarray:
    states = len(moves)
    return np.full((states, states), 1 / states)


def _any_move(moves: np.ndarray) -> np.ndarray:
    return np.eye(len(moves))[moves].mean(1)


def _any_outcome_once(moves: np.ndarray) -> np.ndarray:
    return np.eye(len(moves))[moves].max(1) / moves.shape[1]


def _available_move(moves: np.ndarray, available: np.ndarray) -> np.ndarray:
    weights = available / available.sum(1, keepdims=True)
    return np.einsum("sa,sat->st", weights, np.eye(len(moves))[moves])


_DISTURBANCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    UNIFORM_STATE: _any_state,
    UNIFORM_ACTION: _any_move,
    PUBLISHED: _any_outcome_once,
}
