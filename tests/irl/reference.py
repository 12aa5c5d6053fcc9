"""Robust MCE IRL as plainly as the paper writes it, in NumPy: no warm starts, no reuse, no shared code.

Value iteration on the joint Q-function (Algorithm 2) to 1e-12, a direct solve for the occupancy, Adam by hand.
"""

import numpy as np


def reference_fit(kernel, mask, initial, discount, expert, alpha, steps=200, rate=0.5, b1=0.9, b2=0.99, eps=1e-7):
    states = len(initial)
    reward, first, second = np.zeros(states), np.zeros(states), np.zeros(states)
    value = np.zeros(states)
    for step in range(1, steps + 1):
        player, opponent, value = reference_game(kernel, mask, discount, reward, alpha, value)
        chain = np.einsum("sa,sat->st", alpha * player + (1 - alpha) * opponent, kernel)
        occupancy = (1 - discount) * np.linalg.solve(np.eye(states) - discount * chain.T, initial)
        gradient = occupancy - expert
        first = b1 * first + (1 - b1) * gradient
        second = b2 * second + (1 - b2) * gradient**2
        reward = reward - rate * (first / (1 - b1**step)) / (np.sqrt(second / (1 - b2**step)) + eps)
    return reference_game(kernel, mask, discount, reward, alpha, value)[0], reward


def reference_game(kernel, mask, discount, reward, alpha, value):
    """Value iteration (started from the last value to save time), then the two policies of Algorithm 2."""
    while True:
        expected = discount * kernel @ value
        joint = reward[:, None, None] + alpha * expected[:, :, None] + (1 - alpha) * expected[:, None, :]
        worst = np.where(mask[:, None, :], joint, np.inf).min(2)
        best = np.where(mask, worst, -np.inf).max(1, keepdims=True)
        weights = np.where(mask, np.exp(np.where(mask, worst - best, 0.0)), 0.0)
        updated = (best + np.log(weights.sum(1, keepdims=True)))[:, 0]
        if np.abs(updated - value).max() <= 1e-12 * max(1.0, np.abs(updated).max()):
            break
        value = updated
    reachable = np.where(mask, expected, np.inf)
    tied = mask & (reachable <= reachable.min(1, keepdims=True) + 1e-10 * np.abs(expected[mask]).max())
    return weights / weights.sum(1, keepdims=True), tied / tied.sum(1, keepdims=True), value
