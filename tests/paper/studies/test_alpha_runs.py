"""How the choices on one draw are put together, with stand-ins for what is fitted and measured."""

import dataclasses
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl.errors import RobustIRLError
from robustirl.paper.studies import alpha_runs
from robustirl.paper.studies.alpha_runs import CHOICES, CURVES, AlphaContext, AlphaSpec, Draw, is_number
from tests.invented import selection

CELL = SimpleNamespace(
    learner=SimpleNamespace(kernel=SimpleNamespace(leaky=False)),
    learner_walks="learner walks",
    expert="expert",
    expert_walks="expert walks",
    expert_kind="soft",
    reward="reward",
    model="model",
    total=True,
)


def estimates(*alphas, directions=("unknown", "calmer")):
    found = [SimpleNamespace(alpha=alpha, direction=word) for alpha, word in zip(alphas, directions, strict=True)]
    return lambda *_, actions: found[int(actions)]


@pytest.fixture
def fitted(monkeypatch):
    """What was fitted besides the candidates; a policy earns its own number, and discounted minus that."""
    asked = []
    fits = tuple(SimpleNamespace(player=10.0 * place) for place in range(3))

    def fit_many(worlds, targets, alphas, *, rewards, throw):
        asked.append((len(worlds), targets, alphas, rewards, throw))
        return [SimpleNamespace(player=100 * alpha) for alpha in alphas]

    stand_ins = {
        "select_alpha": lambda world, demos, *, reward, actions: (
            asked.append((reward, actions)) or dataclasses.replace(selection(), fits=fits)
        ),
        "measure": lambda _, policy: (policy, -policy),
        "estimate_occupancy": lambda *_: SimpleNamespace(occupancy=0.5),
        "fit_many": fit_many,
        "_transfer": lambda *_: ((7.0, -7.0), (False, True, False)),
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(alpha_runs, name, stand_in)
    return asked


def test_every_choice_of_a_draw(fitted, monkeypatch):
    monkeypatch.setattr(alpha_runs, "estimate_alpha", estimates(0.875, 0.9))
    draw = alpha_runs.all_choices(CELL, None)
    assert draw.outcomes == {
        "1": (1.0, (0.0, -0.0)),
        "0.9": (0.9, (10.0, -10.0)),
        "0.8": (0.8, (20.0, -20.0)),
        "moves, states": (0.875, (87.5, -87.5)),
        "moves, actions": (0.9, (10.0, -10.0)),
        "transfer": (1.0, (7.0, -7.0)),
    }
    assert fitted == [("model", False), (2, [0.5, 0.5], [0.875, 0.875], "model", False)]
    assert (draw.direction_actions, draw.recommended) == ("calmer", (False, True, False))
    fitted.clear()
    monkeypatch.setattr(alpha_runs, "estimate_alpha", estimates(0.5, 0.25, directions=("noisier", "calmer")))
    draw = alpha_runs.all_choices(CELL, None)
    assert (draw.outcomes["moves, states"][1][0], draw.outcomes["moves, actions"][1][0]) == (50.0, 25.0)
    assert (fitted[1][2], draw.direction_actions) == ([0.25, 0.5], "noisier")
    fitted.clear()
    monkeypatch.setattr(alpha_runs, "estimate_alpha", estimates(1.0, 0.8))
    assert alpha_runs.all_choices(CELL, None).outcomes["moves, states"] == (1.0, (0.0, -0.0))
    assert len(fitted) == 1  # Both are candidates.


def test_transfer_is_recommended_candidate_by_candidate(monkeypatch):
    monkeypatch.setattr(alpha_runs, "measure", lambda _, policy: (float(policy[0]), 2.0))
    monkeypatch.setattr(alpha_runs, "fit_transfer", lambda *_, **__: SimpleNamespace(policy=[5.0], fit="fit"))
    monkeypatch.setattr(alpha_runs, "compare_transfer", lambda _, chosen, *__: (chosen.alpha == 0.9, "why"))
    given = selection(alpha=0.8)
    assert alpha_runs._transfer(CELL, None, given, np.zeros(2)) == ((5.0, 2.0), (False, True, False))

    def fails(*_, **__):
        raise RobustIRLError("no plan")

    leaky = SimpleNamespace(**vars(CELL) | {"learner": SimpleNamespace(kernel=SimpleNamespace(leaky=True))})
    for cell in (leaky, CELL):
        returns, recommended = alpha_runs._transfer(cell, None, given, np.zeros(2))
        assert np.isnan(returns).all()
        assert recommended == (False, False, False)
        monkeypatch.setattr(alpha_runs, "fit_transfer", fails)


def test_a_policy_is_measured_as_the_cell_says(monkeypatch):
    monkeypatch.setattr(alpha_runs, "discounted_return", lambda *given: 3.0 if given == WALKED else np.nan)
    monkeypatch.setattr(alpha_runs, "total_return", lambda *given: 30.0 if given == WALKED else np.nan)
    assert alpha_runs.measure(CELL, "policy") == (30.0, 3.0)
    assert alpha_runs.measure(SimpleNamespace(**vars(CELL) | {"total": False}), "policy") == (3.0, 3.0)


WALKED = ("learner walks", "policy", "reward")


def test_records_have_the_curves_of_their_candidate(monkeypatch):
    numbers = [choice for choice in CHOICES if is_number(choice)]
    curves = {name: 100.0 * row + np.arange(len(numbers)) for row, name in enumerate(CURVES)}
    chosen = SimpleNamespace(**curves, own_gains=np.arange(2.0 * len(numbers)).reshape(-1, 2) / 3)
    chosen.avoidable_gap, chosen.sampling_error, chosen.direction = 0.25, 0.5, "calmer"
    outcomes = {choice: (0.5, (float(place), -float(place))) for place, choice in enumerate(CHOICES)}
    draw = Draw(outcomes, chosen, "noisier", tuple(place == 1 for place in range(len(numbers))))
    asked = []

    def sample(world, policy, *, episodes, horizon, key):
        asked.append((world, policy, episodes, horizon, jax.random.key_data(key).tolist()[-1]))
        return "demos"

    monkeypatch.setattr(alpha_runs, "find_cell", lambda name: CELL)
    monkeypatch.setattr(alpha_runs, "expert_policy", lambda world, reward, kind: f"{kind} of {world}")
    monkeypatch.setattr(alpha_runs, "sample_demonstrations", sample)
    monkeypatch.setattr(alpha_runs, "measure", lambda _, policy: asked.append(policy) or (50.0, 40.0))
    monkeypatch.setattr(
        alpha_runs, "all_choices", lambda cell, demos: draw if (cell, demos) == (CELL, "demos") else None
    )
    specs = [AlphaSpec("cell", 30, 6, choice) for choice in (CHOICES[1], "transfer")]
    assert len(AlphaContext().results(specs[:1], 1)) == 1  # A batch may be a single run.
    asked.clear()
    candidate, transfer = (one.record for one in AlphaContext().results(specs, 1))
    assert asked == [("expert walks", "soft of expert", 30, 400, 6), "optimal of learner walks"]
    assert (candidate.spec, candidate.alpha, candidate.value, candidate.optimum) == (specs[0], 0.5, 1.0, 50.0)
    assert (candidate.discounted, candidate.discounted_optimum, candidate.seconds) == (-1.0, 40.0, 0.0)
    assert [getattr(candidate, name) for name in CURVES] == [100.0 * row + 1 for row in range(len(CURVES))]
    assert (candidate.own_gains, candidate.recommended) == ("0.666667 1", 1.0)
    assert (candidate.avoidable_gap, candidate.sampling_error) == (0.25, 0.5)
    assert (candidate.direction_states, candidate.direction_actions) == ("calmer", "noisier")
    assert (transfer.value, transfer.own_gains) == (float(CHOICES.index("transfer")), "")
    assert np.isnan([getattr(transfer, name) for name in (*CURVES, "recommended")]).all()


def test_what_is_a_number():
    assert [is_number(choice) for choice in ("1", "0.95", "0.9.5", "transfer", "")] == [True, True, False, False, False]
