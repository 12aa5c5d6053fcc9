"""When transfer is recommended, by hand; whole fits are in `test_transfer.py`."""

from types import SimpleNamespace

import numpy as np

from robustirl.demonstrations import Demonstrations
from robustirl.irl import transfer
from robustirl.irl.transfer import Transfer, compare_transfer
from robustirl.mdp import MDP

# Two ways to the end, 3: by 1, which pays nothing, or by 2, which pays 4; and a third action that waits.
WAYS = np.zeros((4, 3, 4))
WAYS[0, 0, 1] = WAYS[0, 1, 2] = WAYS[0, 2, 0] = WAYS[1:3, :, 3] = WAYS[3, :, 3] = 1.0
WAYS_WORLD = MDP(WAYS, discount=0.5, initial=[1.0, 0.0, 0.0, 0.0])
BY_ONE, BY_TWO, SLOWLY = (
    [first, [1 / 3] * 3, [1 / 3] * 3, [1 / 3] * 3] for first in ([1, 0, 0], [0, 1, 0], [0, 0.5, 0.5])
)
MIXED = np.array([0.5, 0.125, 0.125, 0.25])


def _compared(policy, *, gap=0.04, standard=0.1, judges=((0.0, 0.0, 4.0, 0.0), (0.0, 0.0, 2.0, 0.0)), expert=MIXED):
    selection = SimpleNamespace(
        gap=np.array([standard, 0.2]),
        fit=SimpleNamespace(player=np.array(BY_ONE)),
        alpha=0.9,
        judges=tuple(np.array(judge) for judge in judges),
    )
    found = SimpleNamespace(verdict=SimpleNamespace(occupancy_gap=gap))
    return compare_transfer(WAYS_WORLD, selection, np.array(expert), np.array(policy, float), found)


def test_transfer_is_recommended_for_a_better_match_a_higher_return_and_an_arrival_in_time():
    # Of the visits a quarter are in state 2: ¼ · (4 + 2)/2 / (1-γ) is 1.5, and half of the difference 0.5.
    recommended, note = _compared(BY_TWO)
    assert recommended
    assert "missed by 0.04 in its estimated world and by 0.1 in the learner's" in note
    assert "higher by 1.5 ± 0.5 than that of the fit at α = 0.9" in note
    assert _compared(BY_TWO, gap=0.05)[0]  # Half of the gap will do,
    assert not _compared(BY_TWO, gap=0.0501)[0]
    assert "no great difference" in _compared(BY_TWO, gap=float("nan"))[1]
    # 2 ± 2 is no gain.
    recommended, note = _compared(BY_TWO, judges=((0.0, 0.0, 8.0, 0.0), (0.0, 0.0, 0.0, 0.0)))
    assert not recommended
    assert "is higher by 2 ± 2 than that" in note
    assert _compared(BY_TWO, judges=((0.0, 0.0, 8.0, 0.0), (0.0, 0.0, 0.1, 0.0)))[0]
    assert "unknown for want of episodes" in _compared(BY_TWO, judges=())[1]
    # Who waits arrives later, and where the expert hardly ever goes a policy must not be.
    assert "ends elsewhere or later" in _compared(SLOWLY)[1]
    rarely = (0.5, 0.24, 0.01, 0.25)
    assert "ends elsewhere or later" in _compared(BY_TWO, expert=rarely)[1]


def test_a_transfer_says_whether_it_is_recommended():
    def shown(recommended):
        told = SimpleNamespace(noise=0.25)
        return repr(Transfer(np.eye(2), np.zeros(2), recommended, "it is closer.", told, None, None))

    assert shown(True) == "Transfer(recommended, noise: 0.25, it is closer)"
    assert shown(False) == "Transfer(not recommended, noise: 0.25, it is closer)"


def test_what_transfer_is_made_of(monkeypatch):
    asked = {}

    def noting(name, answer):
        def call(*given, **options):
            asked[name] = (given, options)
            return answer

        monkeypatch.setattr(transfer, name, call)

    found = SimpleNamespace(reward=np.array([0.0, 1.0, 2.0, 3.0]))
    noting("select_alpha", "a selection")
    noting("estimate_dynamics", SimpleNamespace(world="their world"))
    noting("fit", found)
    noting("expert_policy", np.full((4, 3), 1 / 3))
    noting("compare_transfer", (True, "it is closer."))
    walks = Demonstrations.from_arrays([[0, 1, 3], [0, 2, 3]], [[0, 0], [1, 0]], terminated=True)
    made = transfer.fit_transfer(WAYS_WORLD, walks, strength=2.0, steps=7, throw=True)
    assert asked["select_alpha"] == ((WAYS_WORLD, walks), {"reward": None, "steps": 7, "throw": True})
    assert asked["estimate_dynamics"] == ((WAYS_WORLD, walks), {"strength": 2.0})
    (world, rho), options = asked["fit"]
    assert (world, options) == ("their world", {"alpha": 1.0, "reward": None, "steps": 7, "throw": False})
    np.testing.assert_allclose(rho, MIXED)
    assert asked["expert_policy"] == ((WAYS_WORLD, found.reward), {})
    assert (made.recommended, made.note, made.selection) == (True, "it is closer.", "a selection")
    del asked["select_alpha"]
    assert transfer.fit_transfer(WAYS_WORLD, walks, selection="another").selection == "another"
    assert "select_alpha" not in asked
