"""Frames are read as tables are, and what is no frame is refused."""

import pytest

from robustirl.demonstrations import Demonstrations

TRIP = {"episode": "trip", "state": "link"}


LOG = {"trip": [7, 7, 9], "link": [3, 4, 3], "action": [1.0, float("nan"), None], "terminated": [None, True, False]}
WALKS = Demonstrations.from_arrays([[3, 4], [3]], [[1], []], terminated=[True, False])


@pytest.mark.parametrize("library", ["a mapping", "pyarrow", "pandas", "polars"])
def test_frames_are_read(library, refused):
    frame = LOG
    if library != "a mapping":
        module = pytest.importorskip(library)
        frame = module.table(LOG) if library == "pyarrow" else module.DataFrame(LOG)
    assert Demonstrations.from_frame(frame, columns=TRIP) == WALKS
    with refused("the frame has no column 'episode', only trip, link, action, terminated"):
        Demonstrations.from_frame(frame)


def test_what_is_no_frame_is_refused(refused):
    with refused("list was given"):
        Demonstrations.from_frame([1, 2])
    with refused("differ in length"):
        Demonstrations.from_frame({"episode": [0, 0], "state": [1]})
    with refused("no rows"):
        Demonstrations.from_frame({"episode": [], "state": []})
    with refused("'state' holds True in row 0"):
        Demonstrations.from_frame({"episode": [0], "state": [True]})
