"""Loops between callbacks: who is asked when, what stops a loop, and what an interrupt hands over."""

import numpy as np
import pytest

from robustirl.irl._callbacks import Interrupted, Loop, ask, require_callbacks, run_with_callbacks


class Counting(Loop[int, tuple[int, bool]]):
    """Count to `end`; nothing is reported beyond `last`."""

    def __init__(self, end=3, last=9):
        self.end, self.last = end, last

    def advance(self, state):
        return state + 1

    def is_over(self, state):
        return state >= self.end

    def report(self, state):
        return state if state <= self.last else None

    def finish(self, state, stopped):
        return state, stopped


def test_only_false_stops_and_all_are_asked():
    seen = []
    assert ask([seen.append, lambda _: False, seen.append], "report") is True
    assert seen == ["report", "report"]
    assert ask([lambda _: np.bool_(False), lambda _: True], None) is True
    assert ask([lambda _: True, lambda _: None, lambda _: 0, lambda _: ""], None) is False
    assert ask([], None) is False


def test_a_loop_is_stopped_by_a_callback_unless_it_was_over():
    seen = []
    assert run_with_callbacks(Counting(), 0, [seen.append]) == ((3, False), False)
    assert seen == [1, 2, 3]
    for last, expected in ((1, (1, True)), (2, (2, True)), (3, (3, False))):
        assert run_with_callbacks(Counting(), 0, [lambda step, last=last: step < last]) == (expected, expected[1])
    # Other loops follow, and are stopped by the last step of this one.
    assert run_with_callbacks(Counting(), 0, [lambda step: step < 3], more_to_come=True) == ((3, True), True)
    # A step that was not taken is not reported.
    seen.clear()
    assert run_with_callbacks(Counting(last=1), 0, [seen.append]) == ((2, False), False)
    assert seen == [1]
    assert run_with_callbacks(Counting(), 3, [seen.append]) == ((3, False), False)


def test_an_interrupt_hands_over_what_was_finished():
    class Pressed(Counting):
        def advance(self, state):
            if state == 2:
                raise KeyboardInterrupt
            return state + 1

    with pytest.raises(Interrupted) as caught:
        run_with_callbacks(Pressed(), 0, [], before="earlier")
    assert caught.value.fit == (2, True)
    with pytest.raises(Interrupted) as caught:
        run_with_callbacks(Pressed(), 2, [], before="earlier")
    assert caught.value.fit == "earlier"


def test_what_cannot_be_called_is_refused(refused):
    require_callbacks([print], int)
    with refused("the callback 3 cannot be called; give functions of a int."):
        require_callbacks([print, 3], int)
