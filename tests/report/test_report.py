"""A report of a fit: its numbers, and text, JSON, notebook and page as views of them."""

import dataclasses
import json
from html.parser import HTMLParser

import jax
import numpy as np
import pytest

from robustirl import envs, irl, rewards
from robustirl.demonstrations import Demonstrations, sample_demonstrations
from robustirl.planning import expert_policy, state_occupancy
from robustirl.report import Report, report_fit
from robustirl.report.report import Weight

GRID = envs.make("gridworld-4")
WORLD = GRID.mdp(0.1)


@pytest.fixture(scope="module")
def model():
    expert = expert_policy(WORLD, GRID.reward)
    walks = sample_demonstrations(WORLD, expert, episodes=100, horizon=100, key=jax.random.key(0))
    return irl.RobustIRL(0.95, steps=20, throw=False).fit(GRID.mdp(0.0), walks)


@pytest.fixture(scope="module")
def report(model):
    return report_fit(model, title="a <grid> & more")


class Balanced(HTMLParser):
    """Checks that every element that opens also closes, and gathers the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read_html(text):
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def test_a_report_holds_the_numbers_of_its_fit(model, report):
    fit = model.fit_
    assert [weight.value for weight in report.weights] == pytest.approx(np.asarray(fit.reward).tolist())
    assert report.alpha == {"value": pytest.approx(0.95), "why": ""}
    assert report.facts["steps"] == int(fit.verdict.steps)
    assert [check["name"] for check in report.checks] == [check.name for check in model.checks_.checks]
    assert report.failed == tuple(check.name for check in model.checks_.failed)
    used = [policy for policy in report.policies if policy["used"]]
    assert [policy["name"] for policy in used] == [model.checks_.acting]
    np.testing.assert_allclose(report.states["expert"], fit.expert_occupancy, rtol=1e-4)
    visits = state_occupancy(GRID.mdp(0.0), model.checks_.use.policy)
    np.testing.assert_allclose(report.states["policy"], visits, rtol=1e-4, atol=1e-12)
    assert report.opening.startswith("36 weights learned from 100 episodes in a world of 36 states and 4 actions.")


def test_json_holds_all_of_a_report(report):
    assert Report.from_json(report.to_json()) == report
    assert json.loads(report.to_json())["weights"][0]["value"] == report.weights[0].value


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "weights": [{}]}', b"\xff"])
def test_what_is_no_report_is_refused(text, refused):
    with refused("not the report of a fit"):
        Report.from_json(text)


def test_text_shows_weights_checks_and_policies(report):
    text = str(report)
    assert "learned weights (the largest 12 of 36)" in text
    assert all(check["sentence"] in text for check in report.checks)
    assert "(used)" in text


def test_views_in_html_are_whole_and_escape_names(report):
    page = report.page()
    parsed = read_html(page)
    assert "a <grid> & more" in parsed.text
    assert all(check["sentence"] in parsed.text for check in report.checks)
    assert not {"script", "iframe", "object", "img"} & set(parsed.tags)
    assert "http://" not in page
    assert "https://" not in page
    assert parsed.tags.count("svg") == 3
    assert parsed.tags.count("rect") >= 3 * 36
    read_html(report._repr_html_())


@pytest.mark.parametrize("kind", ["graph", "row"])
def test_maps_follow_the_layout_of_the_world(kind):
    size = 5 if kind == "graph" else 45
    kernel = np.zeros((size, 2, size))
    for state in range(size):
        kernel[state, [0, 1], [(state + 1) % size, (state + 2) % size]] = 1
    from robustirl import MDP

    world = MDP(kernel, discount=0.9)
    found = report_fit(irl.fit(world, np.full(size, 1 / size), alpha=1.0), world)
    assert found.states["kind"] == kind
    assert read_html(found.page()).tags.count("circle") == (15 if kind == "graph" else 0)


def test_named_weights_of_choices_have_standard_errors():
    env = envs.make("buses", group=4)
    from robustirl.demonstrations import recorded_choices

    reward = rewards.LinearReward(env.features, names=env.feature_names)
    model = irl.RobustIRL(1.0, reward=reward, objective="likelihood").fit(env.mdp(), recorded_choices(env))
    found = report_fit(model)
    assert [weight.name for weight in found.weights] == list(env.feature_names)
    np.testing.assert_allclose([weight.error for weight in found.weights], model.standard_errors_)
    assert all(
        low < weight.value < high
        for weight, (low, high) in zip(found.weights, model.confidence_intervals_, strict=True)
    )
    assert found.facts["log-likelihood"] == pytest.approx(model.inference_.log_likelihood)
    assert "occupancy gap, player and opponent together" not in found.facts  # A likelihood has none.
    assert "choices in" in found.opening


def test_a_chosen_alpha_is_shown_with_its_regrets(report):
    numbers = {"candidates": [1.0, 0.9], "regrets": [[0.0, 0.02], [0.31, None]]}
    alpha = {"value": 0.9, "why": "Because.", **numbers, "open": [True, False], "admissible": [True, False]}
    parsed = read_html(dataclasses.replace(report, alpha=alpha).page())
    for text in ("Because.", "10\xa0% noisier", "like yours", "31", "Pale rows", "Struck columns"):
        assert text in parsed.text


def test_numbers_without_values_are_shown():
    odd = Report(
        "t", "o", (Weight("free", -2.0, None, None, None),), 1, {"value": [0.8, 1.0], "why": ""},
        ({"name": "c", "status": "failed", "numbers": {"x": None}, "sentence": "s."},),
        ({"name": "sampled", "occupancy_gap": None, "arrival": None, "used": True},), {"f": None},
        {"number": [0], "name": ["a"], "reward": [0.0], "expert": [1.0], "policy": [1.0], "action": ["stay"],
         "probability": [1.0], "target": None, "kind": "row", "positions": None, "walls": [], "ends": []},
    )  # fmt: skip
    assert odd.failed == ("c",)
    assert "α = 0.8 to 1" in str(odd)
    assert "Failed: c." in read_html(odd.page()).text


def test_a_report_needs_the_world(model, refused):
    with refused("the learner's world"):
        report_fit(model.fit_)
    walks = Demonstrations.from_arrays([[0, 1, 0]], terminated=True)
    found = report_fit(irl.fit(WORLD, np.full(36, 1 / 36), alpha=1.0, throw=False), WORLD, walks)
    assert found.opening.startswith("36 weights learned from 1 episode ")


def test_an_estimator_that_was_read_has_a_report_without_maps(model, tmp_path):
    model.save(tmp_path / "model.npz")
    again = irl.RobustIRL.load(tmp_path / "model.npz")
    assert again.summary() == model.summary()
    assert read_html(again.report().page()).tags.count("svg") == 0
