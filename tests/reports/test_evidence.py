"""What demonstrations say: a smallest gap up to its error, and a guarantee."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations
from robustirl.envs import ThreeState
from robustirl.reports import evidence
from robustirl.reports.evidence import DemonstrationsReport


@pytest.mark.parametrize(
    ("gap", "error", "interval", "verdict"),
    [
        (0.5, 0.25, (0.25, 0.75), "no"),
        (0.25, 0.5, (0.0, 0.75), "open"),
        (0.25, 0.25, (0.0, 0.5), "open"),
        (1.75, 0.5, (1.25, 2.0), "no"),  # Two distributions are at most 2 apart.
    ],
)
def test_the_smallest_gap_is_known_up_to_the_error_of_the_estimate(gap, error, interval, verdict):
    report = SimpleNamespace(closest=SimpleNamespace(gap=gap), estimate=SimpleNamespace(error=error, bias=0.0))
    report.gap_interval = DemonstrationsReport.gap_interval.fget(report)  # pyright: ignore[reportOptionalCall]
    assert report.gap_interval == interval
    assert DemonstrationsReport.verdict.fget(report) == verdict  # pyright: ignore[reportOptionalCall]


def test_a_guarantee_takes_states_that_are_never_left_as_they_are(monkeypatch):
    asked = {}

    class Model:
        policy_, alpha_ = "policy", np.asarray(0.75)

        def __init__(self, alpha, **options):
            asked["model"] = (alpha, options)

        def fit(self, learner, demonstrations):
            return self

    monkeypatch.setattr(evidence, "RobustIRL", Model)
    monkeypatch.setattr(evidence, "guarantee", lambda *given, radius: (given[2], radius.tolist()))
    walks = Demonstrations.from_arrays([[0, 1]] * 3, terminated=True)
    found, alpha = evidence.report_guarantee(ThreeState().mdp(0.1), walks, radius=0.5, alpha="auto", tail="hold")
    assert asked["model"] == ("auto", {"tail": "hold", "throw": False})
    assert (found, alpha) == (("policy", [[0.5, 0.5], [0.0, 0.0], [0.0, 0.0]]), 0.75)
