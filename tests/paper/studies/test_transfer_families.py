"""Worlds that change: what the changes do, and what they are called."""

import numpy as np
import pytest

from robustirl.paper.studies import transfer_families
from robustirl.paper.studies.transfer_families import make_family, never_replace
from tests.goldens import as_lines, require_golden


def test_changes_are_what_they_are_called():
    family = make_family("gridworld")
    calm = np.asarray(family.learner.kernel.to_array())
    found = {(kind, strength): world for kind, strength, world in family.changes}
    assert {kind for kind, _ in found} == {"noise", "blocked cells", "moved start", "permuted actions"}
    blocked = np.asarray(found["blocked cells", 0.3].kernel.to_array())
    entered = blocked.copy()
    entered[np.arange(36), :, np.arange(36)] = 0
    assert (entered.sum((0, 1)) == 0).sum() >= 10
    assert found["moved start", 1.0].initial[-1] == 1
    permuted = np.asarray(found["permuted actions", 0.3].kernel.to_array())
    assert np.sort(permuted, axis=1) == pytest.approx(np.sort(calm, axis=1))
    assert (permuted != calm).any()
    for kind in ("blocked cells", "moved start", "permuted actions"):
        assert np.asarray(found[kind, 0.0].kernel.to_array()) == pytest.approx(calm)


def test_groups_of_buses_come_in_the_order_of_their_growth():
    family = make_family("buses")
    assert [round(change.strength, 3) for change in family.changes] == [0.62, 0.621, 0.703, 0.817]  # 2, 4, 3, 1.
    assert family.reward[10].tolist() == pytest.approx([-0.02293, -10.075])
    assert never_replace(family.learner)[:, 1].max() == 0


def test_the_families_are_the_worlds_that_the_page_names():
    # Strengths of the changes, kind by kind, and the worlds that are learned in and planned in.
    found = {name: make() for name, make in transfer_families.FAMILIES.items()}
    told = {
        name: {kind: [round(c.strength, 4) for c in family.changes if c.kind == kind] for kind in kinds(family)}
        for name, family in found.items()
    }
    require_golden("tables/transfer-families.txt", "\n".join(as_lines(told)))
    assert [len(change.world.initial) for change in found["buses"].changes] == [90] * 4


def kinds(family):
    return list(dict.fromkeys(change.kind for change in family.changes))
