"""The table of where a match exists: its verdicts agree with each other and with what IRL reaches."""

import pytest

from robustirl import envs
from robustirl.paper.studies.existence import COLUMNS, _models_of, as_cells, existence_table
from robustirl.planning import expert_policy, state_occupancy
from robustirl.theory.existence import find_matching_policy


@pytest.fixture(scope="module", params=["uniform-action", pytest.param("published", marks=pytest.mark.slow)])
def rows(request):
    return existence_table(["three-state", "gridworld-4"], [request.param], [0.0, 0.1], [0.0, 0.1], steps=20)


def test_every_cell_is_there_once_in_order(rows):
    cells = [(row.environment, row.noise_model, row.learner_noise, row.expert_noise) for row in rows]
    groups = [("three-state", "slip"), ("gridworld-4", rows[-1].noise_model)]
    assert cells == [(*group, learner, expert) for group in groups for learner in (0.0, 0.1) for expert in (0.0, 0.1)]


def test_every_state_has_an_equation_of_flow_and_one_of_visits(rows):
    assert {(row.environment, row.equations) for row in rows} == {("three-state", 6), ("gridworld-4", 72)}


def test_an_environment_that_knows_no_noise_model_that_is_asked_for_has_its_own():
    grid = envs.make("gridworld-4")
    assert _models_of(grid, ["published", "slip", "uniform-action"]) == ("published", "uniform-action")
    assert _models_of(grid, ["slip"]) == ("uniform-state",)


def test_verdicts_agree_with_each_other_and_with_irl(rows):
    for row in rows:
        assert row.consistent or not row.feasible
        assert row.consistent == (row.rank == row.augmented_rank)
        assert row.feasible == (row.closest_gap < 1e-8)
        assert row.irl_gap >= row.closest_gap - 1e-9
        assert row.rank < row.equations or row.noise_model == "published"
        if row.learner_noise == row.expert_noise:
            assert row.feasible


def test_learner_and_expert_are_not_exchanged(rows):
    env = envs.make("gridworld-4")
    learner, expert = (env.mdp(noise, rows[-1].noise_model) for noise in (0.1, 0.0))
    match = find_matching_policy(learner, state_occupancy(expert, expert_policy(expert, env.reward)))
    (row,) = (r for r in rows[4:] if (r.learner_noise, r.expert_noise) == (0.1, 0.0))
    assert row.violation == match.violation > 1e-4


def test_the_table_has_one_line_a_row_and_as_many_cells_as_its_head(rows):
    lines = [as_cells(row) for row in rows]
    assert {len(line) for line in lines} == {len(COLUMNS)}
    assert all(
        ("**no**" in line) == (row.consistent and not row.feasible) for line, row in zip(lines, rows, strict=True)
    )
