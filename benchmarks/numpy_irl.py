"""Fit the robust game in NumPy alone, as a student would write it: the yardstick of `strangers.py`.

Algorithms 1 and 2 of the paper with dense matrices: Newton's method for the soft game of two players (the opponent's
entropy is weighted as the player's), the occupancy by one linear solve, 200 steps of Adam.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def backup(reward: Array, following: Array, exists: Array, alpha: float) -> tuple[Array, Array, Array]:
    """Return the value of one backup and the two policies, from expected next values `[S, A]`."""
    q = reward[:, None] + following

    def soft(signed: Array) -> tuple[Array, Array]:
        signed = np.where(exists, signed, -np.inf)
        top = signed.max(1, keepdims=True)
        weights = np.exp(signed - top)
        total = weights.sum(1, keepdims=True)
        return (top + np.log(total))[:, 0], weights / total

    upper, player = soft(q)
    lower, opponent = soft(-q)
    return alpha * upper - (1 - alpha) * lower, player, opponent


class Game:
    """A world of arrays `[S, A, S]`, in which games are solved from the last solution."""

    def __init__(self, kernel: Array, start: Array, discount: float, alpha: float):
        self.kernel, self.start, self.discount, self.alpha = kernel, start, discount, alpha
        self.rows = np.ascontiguousarray(kernel.reshape(-1, len(start)))
        self.exists = kernel.sum(2) > 0

    def step(self, reward: Array, value: Array) -> tuple[Array, Array, Array]:
        """Return one backup of a value."""
        following = self.discount * (self.rows @ value).reshape(self.exists.shape)
        return backup(reward, following, self.exists, self.alpha)

    def chain(self, policy: Array) -> Array:
        """Return the matrix of a policy's moves."""
        return np.einsum("sa,sat->st", policy, self.kernel, optimize=True)

    def solve(self, reward: Array, value: Array, tolerance: float = 1e-9) -> tuple[Array, Array, Array]:
        """Return value, player and opponent by Newton's method, with sweeps where a step is too poor."""
        identity = np.eye(len(value))
        after, player, opponent = self.step(reward, value)
        for _ in range(100):
            residual = np.abs(after - value).max()
            if residual <= tolerance * max(1.0, np.abs(value).max()):
                break
            moves = self.chain(self.alpha * player + (1 - self.alpha) * opponent)
            trial = value + np.linalg.solve(identity - self.discount * moves, after - value)
            result = self.step(reward, trial)
            if not np.abs(result[0] - trial).max() <= residual / 2:
                trial, result = value, (after, player, opponent)
                for _ in range(60):
                    trial, result = result[0], self.step(reward, result[0])
            value, (after, player, opponent) = trial, result
        return value, player, opponent

    def occupancy(self, policy: Array) -> Array:
        """Return the normalized discounted occupancy of states."""
        matrix = np.eye(len(self.start)) - self.discount * self.chain(policy).T
        return (1 - self.discount) * np.linalg.solve(matrix, self.start)


def fit(game: Game, expert: Array, steps: int = 200, rate: float = 0.5) -> tuple[float, Array]:
    """Return the least gap ‖ρ_mix - ρ‖₁ of so many steps of Adam, and its player."""
    theta, first, second, value = (np.zeros(len(expert)) for _ in range(4))
    best, kept = np.inf, np.zeros(game.exists.shape)
    for step in range(1, steps + 1):
        value, player, opponent = game.solve(theta, value)
        gradient = game.occupancy(game.alpha * player + (1 - game.alpha) * opponent) - expert
        gap = float(np.abs(gradient).sum())
        if gap < best:
            best, kept = gap, player
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        scale = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        theta = theta - rate * first / (1 - 0.9**step) / scale
    return best, kept
