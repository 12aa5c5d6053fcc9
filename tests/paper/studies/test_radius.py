"""The study of radii: its rows are fits within the radius, and its table compares like with like."""

import dataclasses
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.paper.studies import radius
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
    from robustirl.paper.studies.registry import Frame

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(radius, "named_pairs", lambda: iter(()))
        radius.RadiusStudy(draws=1, worlds=1).run(Frame(tmp_path, say=lambda _: None))
    assert len((tmp_path / "radius.csv").read_text().splitlines()) == 1 + 4 * len(RADII)


def test_registered_worlds_are_paired_with_a_calm_and_a_noisy_expert(monkeypatch):
    monkeypatch.setattr(radius, "NAMES", ("three-state",))
    calm, noisy = radius.named_pairs()
    assert [(pair.name, pair.mismatch) for pair in (calm, noisy)] == [("three-state", False), ("three-state", True)]
    assert [float(pair.expert.kernel.to_array()[0, 0, 2]) for pair in (calm, noisy)] == [0.0, 0.2]
    assert float(noisy.learner.kernel.to_array()[0, 0, 2]) == 0.0


def test_what_a_pair_is_fitted_with(monkeypatch):
    """Returns are 2 for the best policy, 1 for the uniform one and 1.75 for what is learned: a regret of a quarter."""
    asked = {"demos": [], "fits": []}
    world = SimpleNamespace(discount=0.75, mask=np.ones((1, 2), bool))
    pair = Pair("a", "random", world, SimpleNamespace(), "reward", mismatch=True)

    def sample(expert, policy, *, episodes, horizon, key):
        assert (expert, policy) == (pair.expert, "policy")
        asked["demos"].append((episodes, horizon, jax.random.key_data(key).tolist()))
        return "demos"

    def fit(given, rho, *, alpha, tolerance, throw):
        asked["fits"].append((given is world, rho, alpha, tolerance, throw))
        verdict = SimpleNamespace(occupancy_gap=0.5)
        return SimpleNamespace(verdict=verdict, reward=np.array([1.0, -3.0]), player="learned")

    returns = {"policy": 2.0, "learned": 1.75}
    stand_ins = {
        "expert_policy": lambda given, reward, temperature: "policy" if temperature == 0 else None,
        "discounted_return": lambda given, policy, reward: returns[policy] if isinstance(policy, str) else 1.0,
        "sample_demonstrations": sample,
        "_estimates": lambda demos, given: ("rho", {"none": 0.0, "bound": 0.8, "spread": 0.0}),
        "fit": fit,
        "RADII": (("none", 0.0), ("bound", 0.25), ("spread", 1.0)),
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(radius, name, stand_in)
    rows = list(rows_of(pair, episodes=(7,), draws=2))
    keys = [jax.random.key_data(jax.random.fold_in(jax.random.key(7), draw)).tolist() for draw in range(2)]
    assert asked["demos"] == [(7, 12, key) for key in keys]  # Three times 1 / (1-γ) steps.
    assert asked["fits"] == [(True, "rho", 1.0, tolerance, False) for tolerance in (None, 0.2, 1e-9)] * 2
    assert [(row.draw, row.kind, row.radius) for row in rows[2:4]] == [(0, "spread", 0.0), (1, "none", 0.0)]
    assert rows[1] == Row("a", True, 7, 0, "bound", 0.25, 0.2, 0.5, 3.0, 0.25)
    far = dataclasses.replace(pair, learner=SimpleNamespace(discount=1 - 1e-9, mask=world.mask))
    monkeypatch.setattr(radius, "fit", lambda *_, **__: fit(world, "rho", alpha=1.0, tolerance=None, throw=False))
    list(rows_of(far, episodes=(1,), draws=1))
    assert asked["demos"][-1][1] == radius.LONGEST


def test_the_spread_is_half_the_distance_of_the_halves(monkeypatch):
    halves = {(0, 2): [0.5, 0.5], (1, 3): [0.75, 0.25], (0, 1, 2, 3): [0.625, 0.375]}

    def estimate(demos, world):
        return SimpleNamespace(occupancy=np.array(halves[demos]), error=0.9)

    monkeypatch.setattr(radius, "estimate_occupancy", estimate)
    rho, sizes = radius._estimates((0, 1, 2, 3), None)  # pyright: ignore[reportArgumentType]
    assert rho.tolist() == [0.625, 0.375]
    assert sizes == {"none": 0.0, "bound": 0.9, "spread": 0.25}
