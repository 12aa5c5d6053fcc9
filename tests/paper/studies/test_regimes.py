"""The study of regimes at a tiny size, through its command, and its verdicts by hand."""

import dataclasses
from typing import Any

import pytest

from robustirl.control import PolicyGradientConfig
from robustirl.irl import RelativeEntropyConfig
from robustirl.paper.studies import regime_conditions
from robustirl.paper.studies.regime_results import RegimeRecord, RegimeSpec, condition_results, rows_of
from robustirl.sweeps import Store
from tests.commands import robustirl

TINY = RelativeEntropyConfig(
    rounds=2, reward_steps=1, attempts=1, game=PolicyGradientConfig(steps=1, episodes=4, horizon=10)
)


def record(alpha: float, seed: int, value: float) -> RegimeRecord:
    return RegimeRecord(RegimeSpec("g", "n", alpha, seed, 3), value, 1.0, 0.1, -5.0, -6.0, "budget", 0.0)


def test_a_verdict_needs_intervals_that_do_not_overlap():
    rows = [record(1.0, s, v) for s, v in enumerate((-10.0, -11.0, -12.0))]
    rows += [record(0.9, s, v) for s, v in enumerate((-1.0, -1.5, -2.0))]
    rows += [record(0.8, s, v) for s, v in enumerate((-9.0, -11.0, -11.5))]
    rows += [record(0.7, s, v) for s, v in enumerate((-30.0, -31.0, -32.0))]
    assert [f.verdict for f in condition_results(rows)] == ["open", "pays", "open", "hurts"]
    assert condition_results(rows)[1].gain.mean == pytest.approx(9.5)
    assert rows_of(rows)[1][4:] == ("0.9", "-1.5 ± 1.2", "+9.5 ± 1.2", "-2", "100 %", "pays")


def test_a_condition_without_the_standard_is_refused(refused):
    with refused("g, n", "α = 1"):
        condition_results([record(0.9, 0, 1.0)])


def test_a_run_of_an_unknown_condition_is_refused(refused):
    with refused("'nowhere'", "pendulum"):
        RegimeSpec("nowhere", "n", 1.0, 0, 2).check()
    with refused("'4 episodes'", "demonstrations", "3 episodes"):
        RegimeSpec("demonstrations", "4 episodes", 1.0, 0, 2).check()


@pytest.mark.slow
def test_the_command_runs_what_is_missing_and_draws(here, monkeypatch, capsys):
    def small() -> list[Any]:
        tiny = dataclasses.replace(TINY.game, steps=2)
        found = [c for c in regime_conditions.direction() if "learner" in c.name]
        assert found
        return [dataclasses.replace(c, config=TINY, training=tiny, demonstrations=5, horizon=25) for c in found]

    monkeypatch.setitem(regime_conditions.GROUPS, "direction", small)
    line = "study regimes --out out --seeds 2 --groups direction"
    status, out, _ = robustirl(line, capsys)
    assert status == 0
    assert "| direction | learner 0.2, expert 0 |" in out
    folder = here / "out" / "direction-2-seeds"
    records = Store.read(folder).records()
    assert len(records) == 2 * len(small()) * 2
    assert {row.verdict for row in records} == {"budget"}
    assert (folder / "direction-2-seeds.png").stat().st_size > 5000
    before = (folder / "results.csv").read_text()
    status, again, _ = robustirl(line, capsys)
    assert (status, again) == (0, out)  # Nothing was left to do.
    assert (folder / "results.csv").read_text() == before


def test_the_command_refuses_one_seed_and_unknown_groups(here, capsys):
    for line, culprit in (("--seeds 1", "--seeds is 1"), ("--groups nowhere", "there is no group 'nowhere'")):
        status, out, err = robustirl(f"study regimes {line}", capsys)
        assert (status, out) == (2, "")
        assert culprit in err
    assert not list(here.iterdir())


def test_every_group_is_a_list_of_comparisons_with_the_standard():
    for name, make in regime_conditions.GROUPS.items():
        conditions = make()
        assert len({c.name for c in conditions}) == len(conditions)
        assert {c.group for c in conditions} == {name}
        assert all(1.0 in c.alphas for c in conditions)
