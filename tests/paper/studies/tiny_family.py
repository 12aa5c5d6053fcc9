"""A family of worlds that is learned in at once."""

import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.paper.studies import transfer_families
from robustirl.paper.studies.transfer_families import Family
from robustirl.paper.studies.transfer_methods import METHODS


@pytest.fixture
def tiny(monkeypatch):
    """Two states that take turns, two actions: regrets are known; methods from outside the package alone."""
    world = MDP([[[0.0, 1.0]] * 2, [[1.0, 0.0]] * 2], discount=0.5)
    changes = (transfer_families.Change("nothing", 0.0, world),)
    family = Family("tiny", np.array([[0.0, 1.0]] * 2), world, world, changes, 1.0, 3, transfer_families.random_policy)
    monkeypatch.setitem(transfer_families.FAMILIES, "tiny", lambda: family)
    before = dict(METHODS)
    METHODS.clear()
    yield family
    METHODS.clear()
    METHODS.update(before)
