# pyright: reportArgumentType=false
"""The kind of mismatch on both sides of every threshold, and stray moves by hand."""

from types import SimpleNamespace

import numpy as np
from inline_snapshot import snapshot

from robustirl.demonstrations.estimation.mismatch import classify, stray_moves

NOISY = SimpleNamespace(decisive=True, alpha=0.8, direction="noisier", note="many moves went astray.")
CALM = SimpleNamespace(decisive=True, alpha=1.0, direction="calmer", note="")
OPEN = SimpleNamespace(decisive=False, alpha=0.8, direction="unknown", note="")


def test_the_kind_of_mismatch_by_its_thresholds():
    assert classify(0.05, (0, 0), CALM) == (
        "calmer",
        "the expert's world is the calmer one, for which an opponent is the wrong tool.",
    )
    assert classify(0.0, (40, 40), OPEN) == ("none", "the moves show no mismatch with the learner's world.")
    assert classify(0.25, (40, 40), NOISY) == snapshot(
        (
            "relabeled",
            (
                "25% of the moves use an action that has the outcomes of another one in the learner's world: the"
                " actions are named or arranged otherwise, which the learner can reproduce and no opponent explains."
            ),
        )
    )
    assert classify(0.0, (40, 40), NOISY) == snapshot(
        (
            "drift",
            (
                "100% of 40 moves that went astray went where most others from the same state did: the expert's world"
                " drifts, which transfer takes into account and an opponent only in part."
            ),
        )
    )
    noisier = ("noisier", "the expert's world is the noisier one, which an opponent explains: many moves went astray.")
    assert classify(0.0, (29, 29), NOISY) == noisier  # Too few, whatever they are.
    assert classify(0.0, (30, 30), NOISY)[0] == "drift"
    # The exact interval of 21 in 32 begins at 0.468, that of 23 at 0.533; at 80 % that of 21 begins at 0.529.
    assert classify(0.0, (21, 32), NOISY) == noisier
    assert classify(0.0, (23, 32), NOISY)[0] == "drift"
    assert classify(0.0, (21, 32), NOISY, 0.8)[0] == "drift"


def test_stray_moves_by_hand():
    # Every action leads to its own state, or to state 0 with a chance that is just half of that, and so intended.
    rows = np.zeros((4, 2, 4))
    rows[:, 0] = [0.3, 0.6, 0.1, 0.0]
    rows[:, 1] = [0.3, 0.1, 0.6, 0.0]
    proposing, testing = np.zeros((2, 4, 2, 4))
    # In state 0 the first action strays to 2 and 3, the second to 1 and 3; most of the proposed go to 3.
    proposing[0] = [[5, 5, 2, 2], [5, 0, 5, 1]]
    testing[0] = [[7, 7, 1, 3], [7, 2, 7, 4]]
    # State 1 has one place to stray to, which tells nothing; state 2 has two, of which one was seen while testing.
    proposing[1, 0], testing[1, 0] = [0, 0, 4, 0], [0, 0, 9, 0]
    proposing[2, 0], testing[2, 0] = [0, 0, 1, 0], [0, 0, 2, 1]
    testing[3, 0] = [0, 0, 8, 8]  # Nobody proposed anything in state 3.
    assert stray_moves(proposing, testing, rows) == (7 + 2, 10 + 3)
