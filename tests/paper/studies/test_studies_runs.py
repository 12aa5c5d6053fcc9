"""What studies ask for, in what order, and what they write of it, with stand-ins for everything that is computed."""

import dataclasses
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.errors import InvalidInputError
from robustirl.paper import figures
from robustirl.paper.figures import alpha as alpha_figure
from robustirl.paper.figures import guarantees as guarantees_figure
from robustirl.paper.figures import regimes as regimes_figure
from robustirl.paper.studies import (
    alpha,
    alpha_from_data,
    alpha_rules,
    existence,
    final_push,
    guarantees,
    radius,
    readme_figure,
    regimes,
    toy_text,
)
from robustirl.paper.studies.registry import Frame


class Asked(Frame):
    """A frame that computes nothing: what was asked for, and the figures."""

    def __init__(self, out, answer=lambda specs: list(specs)):
        self.said, self.steps, self.specs, self.figures, self.answer = [], [], {}, {}, answer
        super().__init__(out, progress=lambda *step: self.steps.append(step), say=self.said.append)

    def compute(self, specs, folder="", given=()):
        self.specs[folder] = list(specs)
        return self.answer(specs)

    def save_figure(self, name, figure):
        self.figures[name] = figure


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()[2:]


def test_existence_asks_for_all_environments_unless_some_are_named(tmp_path, monkeypatch):
    asked = []

    def table(names, models, *, steps, progress):
        asked.append((list(names), models, steps))
        return [existence.Row("a", "b", 0.0, 0.1, 6, 4, 5, False, False, 0.036, 1e-9, 0.99e-9)]

    monkeypatch.setattr(existence, "existence_table", table)
    deep = Asked(tmp_path / "new" / "out")
    existence.ExistenceStudy(environments=("three-state",), noise_models=("slip",), steps=7).run(deep)
    assert deep.files == [tmp_path / "new" / "out" / "existence.md"]
    existence.ExistenceStudy().run(Asked(tmp_path))
    assert asked[0] == (["three-state"], ("slip",), 7)
    assert asked[1][0] == list(envs.names())
    assert lines(tmp_path / "existence.md") == ["| a | b | 0 | 0.1 | 4 | 5 | 6 | no | no | 0.036 | 1e-09 | 0 |"]


def test_existence_goes_through_environments_and_their_noise_models(monkeypatch):
    steps = []
    monkeypatch.setattr(existence, "_rows", lambda *given: [given[:2]])
    found = existence.existence_table(
        ["three-state", "gridworld-4"], ["published", "uniform-state"], progress=lambda *step: steps.append(step[1:])
    )
    assert found == [("three-state", "slip"), ("gridworld-4", "published"), ("gridworld-4", "uniform-state")]
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_final_pushes_have_a_table_each(tmp_path, monkeypatch):
    monkeypatch.setattr(final_push, "frozen_lake", lambda slip: [{"slip": slip, "gap": 1 / 3}])
    monkeypatch.setattr(final_push, "cliff_walking", lambda wind: [{"wind": wind}, {"wind": -wind}])
    frame = Asked(tmp_path)
    final_push.FinalPushStudy(slips=(0.1, 0.2), winds=(0.5,)).run(frame)
    assert (tmp_path / "frozen-lake.md").read_text().splitlines()[0] == "| slip | gap |"
    assert lines(tmp_path / "frozen-lake.md") == ["| 0.1 | 0.3333 |", "| 0.2 | 0.3333 |"]
    assert lines(tmp_path / "cliff-walking.md") == ["| 0.5 |", "| -0.5 |"]
    assert frame.steps == [("frozen-lake", 0, 2), ("frozen-lake", 1, 2), ("cliff-walking", 0, 1)]


def test_guarantees_are_simulated_for_every_policy_number_and_draw(tmp_path, monkeypatch):
    row = guarantees.Row("a", "fitted", 5, 0, 0.5, 0.5, 0.25, 0.75, False, 2.0)
    monkeypatch.setattr(guarantees, "pairs", lambda: [SimpleNamespace(name=name) for name in ("far", "near")])
    monkeypatch.setattr(
        guarantees,
        "simulate",
        lambda pair, kind, episodes, draw: dataclasses.replace(
            row, pair=pair.name, policy=kind, episodes=episodes, draw=draw, truth=0.25 + 0.5 * draw
        ),
    )
    monkeypatch.setattr(
        guarantees_figure, "figure_guarantees", lambda rows: [(one.policy, one.episodes) for one in rows]
    )
    frame = Asked(tmp_path / "new" / "out")
    guarantees.GuaranteesStudy(draws=2, episodes=(5, 7), only="ea").run(frame)
    assert frame.steps == [("guarantees", done, 8) for done in range(9)]
    assert len((frame.out / "guarantees.csv").read_text().splitlines()) == 9
    assert frame.figures == {"guarantees": [("fitted", count) for count in (5, 5, 7, 7)]}
    # The truth is a quarter, below the bound of a half, and in the other draw three quarters.
    assert lines(frame.out / "guarantees.md")[0] == (
        "| near | fitted | 5 | 1 of 2 | 0.500 | 0.250 | 0.500 | 0.750 | 2.000 |"
    )
    with pytest.raises(InvalidInputError, match="the number of draws is 0"):
        guarantees.GuaranteesStudy(draws=0).run(frame)


def test_radii_are_tried_on_named_and_drawn_pairs(tmp_path, monkeypatch):
    row = radius.Row("a", False, 20, 0, "none", 0.0, 0.0, 0.001, 100.0, 0.2)
    asked = []
    monkeypatch.setattr(radius, "named_pairs", lambda: ["named"])
    monkeypatch.setattr(radius, "random_pair", lambda seed: f"drawn {seed}")
    monkeypatch.setattr(radius, "rows_of", lambda pair, draws: asked.append((pair, draws)) or [row])
    monkeypatch.setattr(radius, "summarize", lambda rows: [[str(len(rows))] * len(radius.HEADINGS)])
    frame = Asked(tmp_path / "new" / "out")
    radius.RadiusStudy(draws=1, worlds=2).run(frame)
    radius.RadiusStudy(draws=4, worlds=0).run(frame)  # The folder may be there.
    assert asked == [("named", 1), ("drawn 0", 1), ("drawn 1", 1), ("named", 4)]
    assert [step[1:] for step in frame.steps[:4]] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert (frame.out / "radius.csv").read_text().count("\n") == 2
    assert lines(frame.out / "radius.md")[0].startswith("| 1 |")


def test_toy_worlds_are_run_each_in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(toy_text, "table_of", lambda records: (("runs",), [(len(records),)]))
    monkeypatch.setattr(figures, "figure_trajectories", len)
    frame = Asked(tmp_path)
    toy_text.ToyTextStudy(worlds=("taxi",), steps=3).run(frame)
    assert list(frame.specs) == ["taxi"]
    assert {spec.steps for spec in frame.specs["taxi"]} == {3}
    toy_text.ToyTextStudy().run(frame)
    assert list(frame.specs) == ["taxi", "frozen-lake-8x8", "cliff-walking"]
    assert list(frame.figures) == ["taxi/taxi", "frozen-lake-8x8/frozen-lake-8x8", "cliff-walking/cliff-walking"]
    with pytest.raises(InvalidInputError, match=r"^there is no world 'lake'; choose from frozen-lake-8x8, cliff"):
        toy_text.ToyTextStudy(worlds=("taxi", "lake")).run(frame)


def test_regimes_are_run_each_in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(regimes, "GROUPS", {"one": None, "two": None})
    monkeypatch.setattr(regimes, "specs_of", lambda group, seeds: [group] * seeds)
    monkeypatch.setattr(regimes, "rows_of", lambda records: [[len(records)] * len(regimes.COLUMNS)])
    monkeypatch.setattr(regimes, "condition_results", lambda records: records)
    monkeypatch.setattr(regimes_figure, "figure_regimes", len)
    frame = Asked(tmp_path)
    regimes.RegimesStudy(groups=("two",), seeds=2).run(frame)
    assert frame.specs == {"two-2-seeds": ["two", "two"]}
    regimes.RegimesStudy(seeds=3).run(frame)
    assert list(frame.specs) == ["two-2-seeds", "one-3-seeds", "two-3-seeds"]
    assert frame.figures["one-3-seeds/one-3-seeds"] == 3


def test_a_condition_is_learned_from_one_expert_with_a_key_of_its_own_for_everything(monkeypatch):
    seed_of = lambda key: np.asarray(jax.random.key_data(key)).tolist()  # noqa: E731
    _, demo, fit, test = jax.random.split(jax.random.key(0), 4)
    condition = SimpleNamespace(
        config="config", learner="learner", expert=SimpleNamespace(discount=0.5), demonstrations=6, horizon=9
    )
    asked = {}

    def many(worlds, features, alphas, *, config, keys, throw):
        asked["fit"] = (worlds, features, alphas, config, [seed_of(key) for key in keys], throw)
        status = SimpleNamespace(value="converged")
        verdict = SimpleNamespace(feature_gap=0.5, status=status)
        return [SimpleNamespace(player=place, verdict=verdict, parameters=[place]) for place in range(len(worlds))]

    def evaluate(world, policy, *, horizon, key):
        assert (horizon, seed_of(key)) == (9, seed_of(test))
        copied = -1.0 if world == "learner" else -2.0
        return SimpleNamespace(mean_return=copied if policy == "expert" else 10.0 + policy, goal_share=0.25)

    monkeypatch.setattr(
        regimes, "find_condition", lambda group, name: condition if (group, name) == ("g", "n") else None
    )
    monkeypatch.setattr(regimes, "collect", lambda *_, key, **options: (seed_of(key), options["episodes"]))
    monkeypatch.setattr(regimes, "expert_features", lambda demos, discount, config: demos)
    monkeypatch.setattr(regimes, "fit_relative_entropy_many", many)
    monkeypatch.setattr(regimes, "evaluate", evaluate)
    context = regimes.RegimeContext(jax.random.key(0))
    monkeypatch.setattr(context, "_expert", lambda given: "expert")
    specs = [regimes.RegimeSpec("g", "n", alpha, seed, 2) for alpha in (1.0, 0.9) for seed in range(2)]
    records = [one.record for one in context.results(specs, 1)]
    shown, fitted = ([seed_of(key) for key in jax.random.split(one, 2)] for one in (demo, fit))
    features = [(shown[0], 6), (shown[1], 6)] * 2
    assert asked["fit"] == (["learner"] * 4, features, [1.0, 1.0, 0.9, 0.9], "config", fitted * 2, False)
    assert [one.mean_return for one in records] == [10.0, 11.0, 12.0, 13.0]
    assert {(one.expert_return, one.copied_return, one.goal_share) for one in records} == {(-2.0, -1.0, 0.25)}
    assert {(one.feature_gap, one.verdict, one.seconds) for one in records} == {(0.5, "converged", 0.0)}
    assert len(context.results(specs[:1], 1)) == 1  # A batch may be a single run.


def test_rules_for_alpha_are_compared_on_the_gridworlds_unless_others_are_named(tmp_path, monkeypatch):
    row = alpha_rules.Row("a", 0.0, 0.1, 0.9, 1.0, 0.95, -3.25)
    monkeypatch.setattr(alpha_rules, "alpha_table", lambda records: [row])
    frame = Asked(tmp_path)
    alpha_rules.AlphaRulesStudy(steps=5).run(frame)
    assert {spec.environment for spec in frame.specs[""]} == {f"gridworld-{n}" for n in (1, 2, 3, 4, "l")}
    assert lines(tmp_path / "alpha-rules.md") == ["| a | 0 | 0.1 | 0.900 | 1.000 | 0.95 | -3.2 |"]
    alpha_rules.AlphaRulesStudy(environments=("three-state",), noise_model="slip").run(frame)
    assert {spec.environment for spec in frame.specs[""]} == {"three-state"}


def test_alpha_from_data_is_asked_for_under_two_kernels(tmp_path, monkeypatch):
    row = alpha_from_data.Row("a", (0.0, 1.0), (2.0, 3.0), (4.0, 5.0), 0.9, -0.01)
    monkeypatch.setattr(alpha_from_data, "summarize", lambda records: [row])
    frame = Asked(tmp_path)
    alpha_from_data.AlphaFromDataStudy(draws=2, trajectories=10, steps=3).run(frame)
    assert list(frame.specs) == ["uniform-state", "uniform-action"]
    assert {spec.auto for spec in frame.specs["uniform-action"]} == {"", "actions"}
    assert {spec.draw for spec in frame.specs["uniform-state"]} == {0, 1}
    assert lines(tmp_path / "uniform-state/alpha-from-data.md") == [
        "| a | 0.00, 1.00 | 2.00, 3.00 | 4.00, 5.00 | 0.9 | -0.010 |"
    ]
    with pytest.raises(InvalidInputError, match="--draws is 1"):
        alpha_from_data.AlphaFromDataStudy(draws=1).run(frame)


def test_the_study_of_alpha_asks_for_cells_by_their_beginnings(tmp_path, monkeypatch):
    frame = Asked(tmp_path)
    found = alpha.AlphaStudy(
        draws=2, episodes=(20,), cells=("hole", "grid layout"), first_draw=3, first_seed=7
    )._compute(frame)
    assert {spec.draw for spec in found} == {3, 4}
    names = list(dict.fromkeys(spec.cell for spec in found))
    assert names[0].startswith("hole")
    assert {name.split(",")[0] for name in names if name.startswith("grid")} >= {"grid layout 7"}
    everything = alpha.AlphaStudy(draws=1, episodes=(20,))._compute(frame)
    assert len({spec.cell for spec in everything}) == 138
    with pytest.raises(
        InvalidInputError, match=r"no cell begins with hall; choose from 'gridworld-1, uniform-state, 0 / 0\.1'"
    ):
        alpha.AlphaStudy(cells=("hall",))._compute(frame)
    monkeypatch.setattr(alpha.Store, "read", lambda store, strict: SimpleNamespace(records=list))
    with pytest.raises(InvalidInputError, match=r"there are no runs in .*none\."):
        alpha.AlphaStudy(stores=(tmp_path / "none",))._join()
    monkeypatch.setattr(alpha_figure, "figure_alpha_rule", len)
    for bad in ({"draws": 0}, {"episodes": (0,)}, {"first_seed": -1}, {"first_draw": -1}):
        with pytest.raises(InvalidInputError):
            alpha.AlphaStudy(**bad).run(frame)


def test_an_expert_of_a_world_is_trained_once(monkeypatch):
    asked = []

    def train(world, *, config, start, attempts, key):
        asked.append((config, start, attempts, np.asarray(jax.random.key_data(key)).tolist()))
        return SimpleNamespace(player=f"expert {len(asked)}")

    monkeypatch.setattr(
        regimes, "initial_players", lambda world, deviation: SimpleNamespace(player=f"start {deviation}")
    )
    monkeypatch.setattr(regimes, "train_expert", train)
    context = regimes.REGIMES.make_context(None, None)
    world = {"noise": np.array([0.25])}
    given = SimpleNamespace(expert=world, training="long", config=SimpleNamespace(deviation=0.5))
    again = SimpleNamespace(**vars(given) | {"expert": {"noise": np.array([0.25])}})
    other = SimpleNamespace(**vars(given) | {"training": "short"})
    found = [context._expert(condition) for condition in (given, again, other)]
    assert found == ["expert 1", "expert 1", "expert 2"]
    key = np.asarray(jax.random.key_data(jax.random.split(jax.random.key(0), 4)[0])).tolist()
    assert asked == [("long", "start 0.5", 3, key), ("short", "start 0.5", 3, key)]


def test_the_figure_of_the_readme_needs_two_draws(tmp_path, monkeypatch):
    monkeypatch.setattr(readme_figure, "table_of", lambda records: (("runs",), [(len(records),)]))
    monkeypatch.setattr(figures, "figure_front", len)
    frame = Asked(tmp_path)
    readme_figure.ReadmeFigureStudy(draws=2, steps=3).run(frame)
    assert {(spec.draw, spec.steps) for spec in frame.specs[""]} == {(0, 3), (1, 3)}
    assert frame.figures == {"front": len(frame.specs[""])}
    with pytest.raises(InvalidInputError, match="--draws is 1"):
        readme_figure.ReadmeFigureStudy(draws=1).run(frame)
