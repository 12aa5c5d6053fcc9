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
        expected = np.where(mask, discount * kernel @ value, np.nan)
        joint = reward[:, None, None] + alpha * expected[:, :, None] + (1 - alpha) * expected[:, None, :]
        worst = np.nanmin(joint, axis=2)
        best = np.nanmax(worst, axis=1, keepdims=True)
        weights = np.where(mask, np.exp(worst - best), 0.0)
        updated = (best + np.log(weights.sum(1, keepdims=True)))[:, 0]
        if np.abs(updated - value).max() <= 1e-12 * max(1.0, np.abs(updated).max()):
            break
        value = updated
    lowest = np.nanmin(expected, axis=1, keepdims=True)
    spread = np.nanmax(expected) - np.nanmin(expected)
    tied = mask & (np.nan_to_num(expected, nan=np.inf) <= lowest + 1e-10 * spread)
    return weights / weights.sum(1, keepdims=True), tied / tied.sum(1, keepdims=True), value
