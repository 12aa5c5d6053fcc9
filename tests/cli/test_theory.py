"""`robustirl theory`: what the theory guarantees, from two worlds, an occupancy or demonstrations."""

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Demonstrations, sample_demonstrations, save
from robustirl.planning import expert_policy, state_occupancy
from robustirl.reports.evidence import report_demonstrations
from robustirl.theory.existence import closest_occupancy
from tests.commands import robustirl


def test_worlds_give_a_certificate_and_a_figure(here, capsys):
    status, out, _ = robustirl("theory --expert-noise 0.2 --steps 50 --sweep 0.1 --out here", capsys)
    assert status == 0
    for phrase in ("mismatch d_dyn = 0.4", "can it be matched: yes", "1 - d/2 gives 0.8", "worst return within d_dyn"):
        assert phrase in out
    assert {path.name for path in (here / "here").iterdir()} == {"theory-three-state.png", "theory-three-state.svg"}


def test_an_occupancy_is_judged(here, capsys):
    (here / "rho.txt").write_text("0.1\n0.9\n0.0\n")
    status, out, _ = robustirl("theory --learner-noise 0.2 --occupancy rho.txt", capsys)
    assert status == 0
    assert "can it be matched: no" in out
    assert "occupancy gap of 0.36" in out


@pytest.mark.parametrize("suffix", ["npz", "jsonl", "csv"])
def test_demonstrations_are_judged_with_their_error(here, capsys, suffix):
    # All episodes go where the learner's own world lets but four in five go: the gap is that of the occupancy above.
    save(Demonstrations.from_arrays([[0, 1]] * 1000, [[0]] * 1000, terminated=True), here / f"walks.{suffix}")
    status, out, _ = robustirl(f"theory --learner-noise 0.2 --demos walks.{suffix}", capsys)
    assert status == 0
    assert f"walks.{suffix}: 1000 episodes" in out
    assert "is within 0.00598 of the expert's in l1 (95 %), and truncated episodes may add 0" in out
    assert "closer than an occupancy gap of 0.36 the smallest occupancy gap" in out
    assert "own occupancy is between 0.354 and 0.366 (95 %): it cannot be matched" in out
    assert "which α: the demonstrations suggest 1 (" in out


def test_few_demonstrations_leave_it_open(here, capsys):
    save(Demonstrations.from_arrays([[0, 1]] * 5, terminated=True), here / "walks.npz")
    status, out, _ = robustirl("theory --learner-noise 0.2 --demos walks.npz", capsys)
    assert status == 0
    assert "can it be matched: no" in out
    assert "own occupancy is between 0 and 1." in out
    assert "these demonstrations leave open whether it can be matched" in out


def test_what_stands_in_for_unseen_tails_is_asked_for(here, capsys):
    walks = Demonstrations.from_arrays([[0, 1]] * 100, terminated=False)  # They are cut off after one move.
    save(walks, here / "walks.npz")
    line = "theory --learner-noise 0.2 --demos walks.npz"
    _, chained, _ = robustirl(line, capsys)
    _, renormalized, _ = robustirl(f"{line} --tail renormalize", capsys)
    _, held, _ = robustirl(f"{line} --tail hold", capsys)
    for out in (chained, renormalized, held):
        assert "truncated episodes may add 1.62" in out  # 2 · 0.9², however the tail is filled.
    assert renormalized != held == chained  # State 1 was never left, so the chain stays there, too.


@pytest.mark.parametrize(("learner", "expert"), [(0.0, 0.2), (0.2, 0.0), (0.1, 0.1)])
def test_the_interval_holds_the_experts_own_gap(learner, expert):
    env = envs.make("gridworld-4")
    world, other = env.mdp(learner), env.mdp(expert)
    policy = expert_policy(other, env.reward)
    walks = sample_demonstrations(other, policy, episodes=400, horizon=300, key=jax.random.key(1))
    report = report_demonstrations(world, walks)
    rho = np.asarray(state_occupancy(other, policy))
    assert np.abs(report.estimate.occupancy - rho).sum() <= report.estimate.error
    low, high = report.gap_interval
    assert low <= closest_occupancy(world, rho).gap <= high
    assert high - low <= 2 * report.estimate.error
    assert not (report.verdict == "no" and learner == expert)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("--demos nowhere.npz", "nowhere.npz"),
        ("--demos far.npz", "3"),
        ("--demos far.npz --occupancy rho.txt", "--occupancy and --demos both stand for the expert; give one of them."),
        ("--demos far.npz --alpha 0.9", "--alpha 0.9 is for fits and bounds, which need the expert's world"),
        ("--occupancy rho.txt --out here", "--out here is for fits and bounds, which need the expert's world"),
        ("--occupancy rho.txt --expert-noise 0.3", "--expert-noise 0.3 is for fits and bounds"),
        ("--demos far.npz --steps 9", "--steps 9 is for fits and bounds"),
        ("--demos far.npz --expert soft", "--expert soft is for fits and bounds"),
        ("--demos far.npz --sweep 0.1 0.2", "--sweep 0.1 0.2 is for fits and bounds"),
        ("--occupancy rho.txt --tail hold", "--tail hold is for demonstrations; give some with --demos"),
        ("--sweep 0.1", "--sweep is for the figure; name a folder for it with --out."),
        ("--occupancy far.npz", "far.npz is not a saved model"),
    ],
)
def test_bad_requests_get_one_sentence_and_leave_nothing(here, capsys, line, sentence):
    save(Demonstrations.from_arrays([[0, 3]], terminated=True), here / "far.npz")  # There is no state 3.
    (here / "rho.txt").write_text("0.1\n0.9\n0.0\n")
    status, out, err = robustirl(f"theory {line}", capsys)
    assert status == 2
    assert out == ""
    assert err.startswith("robustirl: ")
    assert err.endswith(".")
    assert sentence in err
    assert sorted(path.name for path in here.iterdir()) == ["far.npz", "rho.txt"]


@pytest.mark.parametrize("alpha", ["1", pytest.param("auto", marks=pytest.mark.slow)])
def test_a_guarantee_from_demonstrations(here, capsys, alpha):
    save(Demonstrations.from_arrays([[0, 1]] * 1000, terminated=True), here / "walks.npz")
    status, out, _ = robustirl(f"theory --demos walks.npz --guarantee --radius 0.2 --alpha {alpha}", capsys)
    assert status == 0
    assert ("chosen from the demonstrations" in out) == (alpha == "auto")
    assert "less 0.09 (returns from 0 to 1), in every world within 0.2 of the learner's" in out  # γ d/2, from state 0.
    assert "It rests on 1000 independent episodes" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--guarantee", "--guarantee needs demonstrations; give some with --demos."),
        ("--radius 0.1", "--radius 0.1 is for a guarantee; ask for one with --guarantee."),
    ],
)
def test_a_guarantee_needs_demonstrations(words, sentence, capsys):
    status, _, err = robustirl(f"theory {words}", capsys)
    assert status == 2
    assert sentence in err
