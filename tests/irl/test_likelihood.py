"""Likelihoods of recorded moves, and the choice of α by them, beside values computed by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.demonstrations import Choices, Demonstrations
from robustirl.irl import alpha_profile
from robustirl.irl.likelihood import move_log_likelihoods
from robustirl.mdp import MDP

KERNEL = np.zeros((3, 2, 3))
KERNEL[0] = [[0.0, 0.9, 0.1], [1.0, 0.0, 0.0]]
KERNEL[1, 0] = [0.0, 0.2, 0.8]
KERNEL[2, :, 2] = 1.0
MASK = np.array([[True, True], [True, False], [True, True]])
WORLD = MDP(KERNEL, discount=0.9, mask=MASK)
PLAYER, OPPONENT = np.array([[0.7, 0.3], [1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
UNIFORM = np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]])
WALKS = Demonstrations.from_arrays([[0, 1, 2, 2], [0, 0, 2], [1, 0]], terminated=False)


@pytest.mark.parametrize("alpha", [0.6, 1.0, np.array([[0.5, 0.9], [0.8, 1.0], [1.0, 1.0]])])
def test_a_move_is_the_players_or_a_disturbance(alpha):
    found, episodes = move_log_likelihoods(WORLD, SimpleNamespace(alpha=alpha, player=PLAYER, opponent=OPPONENT), WALKS)
    largest = np.minimum(alpha, 0.999)
    rest = ((1 - np.broadcast_to(largest, (3, 2))) * PLAYER).sum(-1)
    # A third of the rest is the opponent's, a third a random action, and a third leads anywhere.
    acting = largest * PLAYER + rest[:, None] * (OPPONENT + UNIFORM) / 3
    chances = np.einsum("sa,sat->st", acting, KERNEL) + rest[:, None] / 9
    moves = [(0, 1), (1, 2), (0, 0), (0, 2), (1, 0)]  # The end is never left.
    np.testing.assert_allclose(found, [np.log(chances[move]) for move in moves], rtol=1e-12)
    assert episodes.tolist() == [0, 0, 1, 1, 2]


def test_who_never_leaves_has_no_moves():
    walks = Demonstrations.from_arrays([[2, 2, 2]])
    found, episodes = move_log_likelihoods(WORLD, SimpleNamespace(alpha=0.9, player=PLAYER, opponent=OPPONENT), walks)
    assert (found.size, episodes.size) == (0, 0)


@pytest.mark.parametrize(
    ("gains", "invalid", "alpha", "interval", "decisive", "note"),
    [
        # In log-likelihood over that at 1, at α = 1, 0.9 and 0.8; what is within 1.355 of the best is inside.
        (
            [0.0, 1.0, 1.35],
            None,
            1.0,
            (0.8, 1.0),
            False,
            "no opponent makes the choices more likely by more than chance",
        ),
        ([0.0, 1.36, 0.2], None, 0.9, (0.8, 0.9), True, "the choices are 1.36 more likely in log than at 1"),
        ([0.0, 1.36, 0.0], None, 0.9, (0.9, 0.9), True, "the choices are 1.36 more likely"),
        ([0.0, -1.0, -2.0], None, 1.0, (0.9, 1.0), True, "(at most 0.00 in log)"),
        ([0.0, 5.0, 1.0], 1, 1.0, (0.8, 1.0), False, "(at most 1.00 in log)"),
    ],
)
def test_alpha_is_lowered_only_by_more_than_chance(gains, invalid, alpha, interval, decisive, note, monkeypatch):
    made = {}
    for place, (tried, gain) in enumerate(zip((1.0, 0.9, 0.8), gains, strict=True)):
        dual = np.array([9.0, (3.0 - gain) / 4, 9.0])  # The mean over four choices, smallest at the best step.
        verdict = SimpleNamespace(best_step=1, valid=place != invalid)
        made[tried] = SimpleNamespace(alpha=tried, history=SimpleNamespace(dual=dual), verdict=verdict)
    asked = []

    def fit(world, rows, *, alpha, **options):
        asked.append(options)
        return made[alpha]

    monkeypatch.setattr(alpha_profile, "fit", fit)
    rows = Choices([0, 0, 1, 0], [0, 1, 0, 0])
    found, fits = alpha_profile.profile_alpha(WORLD, rows, candidates=[0.8, 0.9], throw=True, penalty=0.5)
    assert [one.alpha for one in fits] == [1.0, 0.9, 0.8]
    assert asked[0] == {"objective": "likelihood", "throw": False, "penalty": 0.5}
    assert (found.alpha, (found.low, found.high), found.decisive) == (alpha, interval, decisive)
    assert note in found.note
    allowed = [gain if place != invalid else -np.inf for place, gain in enumerate(gains)]
    assert found.excess == pytest.approx(1 - (1.0, 0.9, 0.8)[int(np.argmax(allowed))])
    assert (found.method, found.moves, found.confidence) == ("likelihood", 4, 0.95)
