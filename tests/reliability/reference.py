"""The two-player game solved in extended precision, by code that shares nothing with the library's.

NumPy's longdouble has 64 bits of mantissa on x86. The answer is certified by its residual: the Bellman operator is a
γ-contraction, so ‖V - V*‖∞ <= ‖B(V) - V‖∞ / (1-γ), however V was found.
"""

from typing import NamedTuple

import numpy as np

REAL = np.longdouble


class Reference(NamedTuple):
    """A certified solution: value and policies, and how far the value can be from the true one."""

    value: np.ndarray
    player: np.ndarray
    opponent: np.ndarray
    bound: float


def solve_game(kernel, reward, *, discount, alpha=1.0, temperatures=(1.0, 0.0), mask=None, steps=200) -> Reference:
    """V = R + α max^τ e + (1-α) min^β e with e = γ T V, by policy evaluation and a damped fallback."""
    kernel, reward = np.asarray(kernel, REAL), np.asarray(reward, REAL)
    available = kernel.sum(-1) > 0 if mask is None else np.asarray(mask)
    gamma, alpha = REAL(discount), REAL(alpha)

    def backup(value):
        q = gamma * (kernel @ value)
        best, player = soft_maximum(alpha * q, available, temperatures[0])
        worst, opponent = soft_maximum(-q, available, temperatures[1])
        return reward + best - (1 - alpha) * worst, player, opponent

    value = np.zeros(len(reward), REAL)
    best, stalled = None, 0
    for _ in range(steps):
        after, player, opponent = backup(value)
        residual = np.abs(after - value).max()
        if best is None or residual < best[0]:
            best, stalled = (residual, value, player, opponent), 0
        elif (stalled := stalled + 1) == 3:
            break
        chain = ((alpha * player + (1 - alpha) * opponent)[..., None] * kernel).sum(1)
        step = eliminate(np.eye(len(reward), dtype=REAL) - gamma * chain, after - value)
        trial = value + step
        # A Newton step that makes matters worse is replaced by backups, which never do.
        if np.abs(backup(trial)[0] - trial).max() >= residual:
            trial = after
            for _ in range(50):
                trial = backup(trial)[0]
        value = trial
    assert best is not None
    residual, value, player, opponent = best
    return Reference(value, player, opponent, float(residual / (1 - gamma)))


def soft_maximum(q, available, temperature):
    """max^τ over the available actions and its maximizer; ties within 1e-13 of the largest number share evenly."""
    q = np.where(available, q, -np.inf)
    best = q.max(-1)
    if temperature == 0:
        margin = REAL(1e-13) * np.abs(q[available]).max()
        weights = (q >= best[:, None] - margin) & available
        return best, weights / weights.sum(-1, keepdims=True).astype(REAL)
    weights = np.exp((q - best[:, None]) / REAL(temperature))
    return best + REAL(temperature) * np.log(weights.sum(-1)), weights / weights.sum(-1, keepdims=True)


def occupancy(kernel, policy, *, discount, initial):
    """ρ = (1-γ) (I - γ P_πᵀ)⁻¹ P₀."""
    kernel, policy = np.asarray(kernel, REAL), np.asarray(policy, REAL)
    chain = (policy[..., None] * kernel).sum(1)
    matrix = np.eye(len(chain), dtype=REAL) - REAL(discount) * chain.T
    return eliminate(matrix, (1 - REAL(discount)) * np.asarray(initial, REAL))


def eliminate(matrix, right):
    """Gaussian elimination with partial pivoting and one refinement; LAPACK knows no longdouble."""
    return (once := _eliminate(matrix, right)) + _eliminate(matrix, right - matrix @ once)


def _eliminate(matrix, right):
    rows = np.concatenate([matrix, right[:, None]], 1).astype(REAL)
    size = len(rows)
    for i in range(size):
        pivot = i + int(np.argmax(np.abs(rows[i:, i])))
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i] = rows[i] / rows[i, i]
        for j in range(size):
            if j != i:
                rows[j] = rows[j] - rows[j, i] * rows[i]
    return rows[:, -1]
