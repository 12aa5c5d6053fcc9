"""The study of radii: its rows are fits within the radius, and its table compares like with like."""

import dataclasses

import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.paper.studies.radius import RADII, Row, rows_of, summarize
from robustirl.paper.studies.rows import to_csv
from robustirl.paper.studies.strangers_worlds import Pair


def test_a_larger_radius_gives_a_smaller_reward():
    # From state 0 an episode ends at once, or after a detour through state 1, which costs more.
    kernel = [[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]] * 2]
    world = MDP(kernel, discount=0.5, initial=[1.0, 0.0, 0.0])
    pair = Pair("detour", "random", world, world, np.array([-1.0, -2.0, 0.0]), mismatch=False)
    rows = list(rows_of(pair, episodes=(20,), draws=1))
    assert [(row.kind, row.share) for row in rows] == list(RADII)
    found = {(row.kind, row.share): row for row in rows}
    assert found["none", 0.0].gap < 1e-4 < found["bound", 1.0].gap <= found["bound", 1.0].radius
    assert found["bound", 1.0].largest_reward < found["bound", 0.1].largest_reward <= found["none", 0.0].largest_reward
    assert found["none", 0.0].regret < found["bound", 1.0].regret


def test_the_table_compares_with_no_radius_of_the_same_draw():
    row = Row("a", False, 20, 0, "none", 0.0, 0.0, 0.001, 100.0, 0.2)
    rows = [row] + [
        dataclasses.replace(row, kind=kind, share=share, regret=0.1 if kind == "spread" else 0.3, mismatch=False)
        for kind, share in RADII[1:]
    ]
    lines = summarize(rows)
    assert lines[0] == ("20", "none", "0", "0.200", "nan", "0 of 1", "0 of 1", "1e+02")
    assert lines[1][5:7] == ("0 of 1", "1 of 1")
    assert lines[5][5:7] == ("1 of 1", "0 of 1")
    assert to_csv(type(row), [row]).splitlines()[1] == "a,False,20,0,none,0,0,0.001,100,0.2"


@pytest.mark.slow
def test_the_study_writes_its_table(tmp_path):
    from robustirl.paper.studies import radius
    from robustirl.paper.studies.registry import Frame

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(radius, "named_pairs", lambda: iter(()))
        radius.RadiusStudy(draws=1, worlds=1).run(Frame(tmp_path, say=lambda _: None))
    assert len((tmp_path / "radius.csv").read_text().splitlines()) == 1 + 4 * len(RADII)
