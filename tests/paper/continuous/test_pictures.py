"""Pictures of the continuous experiment: of which runs they are."""

import dataclasses
from types import SimpleNamespace

import pytest

from robustirl.paper.continuous import pictures as continuous_pictures
from robustirl.paper.continuous.specs import ContinuousSpec, ExpertSpec
from tests.paper.invented_pages import a_store, learners


class AStore(SimpleNamespace):
    """A store, as far as pictures ask it; what it holds is the specs in `held`."""

    def __contains__(self, spec):
        return spec in self.held

    def result(self, spec):
        return spec


def test_the_landscape_is_that_of_a_typical_seed_at_the_largest_mismatch():
    returns = {0: -400.0, 1: -420.0, 2: -410.0, 3: -430.0, 4: -440.0}
    runs = [
        dataclasses.replace(one, mean_return=returns[one.spec.seed] + 50 * (one.spec.alpha < 1)) for one in learners(5)
    ]
    held = {one.spec for one in runs} | {ExpertSpec(noise) for noise in (0.0, 0.1, 0.2)}
    drawn = []

    def pictured(records, held):
        return continuous_pictures._landscape(AStore(**vars(a_store(records)), held=held))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "robustirl.paper.figures.figure_landscape", lambda *found, note: drawn.append((*found, note)) or "drawn"
        )
        assert pictured(runs, held) == "drawn"
        expert, standard, robust, note = drawn[0]
        for missing in (robust, expert):
            assert pictured(runs, held - {missing}) is None
        for alpha in (1.0, 0.9):
            assert pictured([one for one in runs if one.spec.alpha == alpha], held) is None
    # The one in the middle of the five, in the cell of the calm learner and the noisiest expert.
    assert standard == ContinuousSpec(0.0, 0.2, 1.0, 1)
    assert (expert, robust, note) == (standard.expert, ContinuousSpec(0.0, 0.2, 0.9, 1), "seed 1")
