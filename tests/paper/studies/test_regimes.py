"""The study of regimes at a tiny size, through its own command, and its verdicts by hand."""

import dataclasses
from typing import Any

import pytest

from robustirl.control import PolicyGradientConfig
from robustirl.irl.relative_entropy.config import RelativeEntropyConfig
from robustirl.paper.studies import regime_conditions, regimes
from robustirl.paper.studies.regime_results import Outcome, findings, from_csv, to_csv, to_markdown

TINY = RelativeEntropyConfig(
    rounds=2, reward_steps=1, attempts=1, game=PolicyGradientConfig(steps=1, episodes=4, horizon=10)
)


def outcome(alpha: float, seed: int, value: float, name: str = "n") -> Outcome:
    return Outcome("g", name, alpha, seed, value, 1.0, 0.1, "budget", -5.0, -6.0)


def test_a_verdict_needs_intervals_that_do_not_overlap():
    rows = [outcome(1.0, s, v) for s, v in enumerate((-10.0, -11.0, -12.0))]
    rows += [outcome(0.9, s, v) for s, v in enumerate((-1.0, -1.5, -2.0))]
    rows += [outcome(0.8, s, v) for s, v in enumerate((-9.0, -11.0, -11.5))]
    rows += [outcome(0.7, s, v) for s, v in enumerate((-30.0, -31.0, -32.0))]
    assert [f.verdict for f in findings(rows)] == ["open", "pays", "open", "hurts"]
    assert findings(rows)[1].gain.mean == pytest.approx(9.5)
    assert "| 0.9 | -1.5 ± 1.2 | +9.5 ± 1.2 | -2 | 100 % | pays |" in to_markdown(rows)


def test_a_condition_without_the_standard_is_refused(refused):
    with refused("g, n", "α = 1"):
        findings([outcome(0.9, 0, 1.0)])


def test_a_table_comes_back_from_its_file(tmp_path, refused):
    rows = [outcome(1.0, 0, -1 / 3), outcome(0.9, 1, -2.0, name="a, b")]
    (tmp_path / "t.csv").write_text(to_csv(rows), encoding="utf-8")
    assert from_csv(tmp_path / "t.csv") == rows
    (tmp_path / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with refused("t.csv", "--out"):
        from_csv(tmp_path / "t.csv")


@pytest.mark.slow
def test_the_command_runs_what_is_missing_and_draws(tmp_path, monkeypatch, capsys):
    def small() -> list[Any]:
        tiny = dataclasses.replace(TINY.game, steps=2)
        found = [c for c in regime_conditions.direction() if "learner" in c.name]
        assert found
        return [dataclasses.replace(c, config=TINY, training=tiny, demonstrations=5, horizon=25) for c in found]

    monkeypatch.setattr(regime_conditions, "GROUPS", {"direction": small})
    command = ["--out", str(tmp_path), "--seeds", "2", "direction"]
    regimes.main(command)
    rows = from_csv(tmp_path / "direction-2-seeds.csv")
    assert len(rows) == 2 * len(small()) * 2
    assert {row.status for row in rows} == {"budget"}
    assert (tmp_path / "direction-2-seeds.png").stat().st_size > 5000
    capsys.readouterr()
    regimes.main(command)
    assert "direction:" not in capsys.readouterr().out  # Nothing was left to do.
    with pytest.raises(SystemExit):
        regimes.main(["--seeds", "1"])
    with pytest.raises(SystemExit):
        regimes.main(["nowhere"])


def test_every_group_is_a_list_of_comparisons_with_the_standard():
    for name, make in regime_conditions.GROUPS.items():
        conditions = make()
        assert len({c.name for c in conditions}) == len(conditions)
        assert {c.group for c in conditions} == {name}
        assert all(1.0 in c.alphas for c in conditions)
