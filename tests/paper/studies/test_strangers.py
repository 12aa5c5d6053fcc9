"""The study of other worlds: its worlds are worlds, its regrets are right, and its tables count."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.irl import fit
from robustirl.mdp import MDP
from robustirl.paper.studies import strangers, strangers_worlds
from robustirl.paper.studies import warehouse as warehouses
from robustirl.paper.studies.registry import Frame
from robustirl.paper.studies.rows import to_csv
from robustirl.paper.studies.strangers import Row, StrangersStudy, confusion, rows_of, summarize
from robustirl.paper.studies.strangers_mismatches import MISMATCHES, mismatched_pair
from robustirl.paper.studies.strangers_worlds import LARGEST, Pair, random_pair
from robustirl.paper.studies.warehouse import racks, warehouse, warehouse_pairs, warehouse_reward
from robustirl.planning import discounted_return, expert_policy, state_occupancy

ROW = Row(
    "a", "random", 5, 0.9, False, 1.0, False, 0, "converged", 0.1, 1e-5, 0.01, 0.0, 0.0, 0.02, 30.0, "trust", "because."
)


@pytest.mark.parametrize("seed", range(6))
def test_random_worlds_differ_where_they_say_so(seed):
    pair = random_pair(seed)
    kernels = [np.asarray(world.kernel.to_array()) for world in (pair.learner, pair.expert)]
    assert np.allclose(kernels[0].sum(-1), 1)
    assert (np.abs(kernels[0] - kernels[1]).max() > 0) == pair.mismatch == (seed % 2 == 1)
    assert 5 <= pair.learner.num_states <= LARGEST
    assert 0.9 <= float(pair.learner.discount) <= 0.999
    assert np.asarray(pair.learner.mask).any(-1).all()


def test_regret_is_a_share_of_what_choice_is_worth():
    # Staying costs 1 a step and leaving ends it. The expert leaves at once; the learner can do the same.
    kernel = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
    world = MDP(kernel, discount=0.5, initial=[1.0, 0.0])
    pair = Pair("leave", "random", world, world, np.array([-1.0, 0.0]), mismatch=False)
    (row,) = rows_of(pair, episodes=(0,), alphas=(1.0,))
    # Return -1 - p / (2 - p) where p is the probability of staying: -1 for the expert, -4/3 for the uniform policy.
    assert row.expert_regret == pytest.approx(0, abs=1e-9)
    assert 0 <= row.regret < 0.01
    assert row.judgment == "trust"
    indifferent = dataclasses.replace(pair, reward=np.zeros(2))
    assert list(rows_of(indifferent)) == []


def test_tables_count_what_is_there():
    bad = dataclasses.replace(ROW, judgment="do not use", regret=0.9, status="settled", alpha=0.9)
    assert confusion([ROW, ROW, bad]) == [("trust", 2, 0, 0), ("doubt", 0, 0, 0), ("do not use", 0, 0, 1)]
    assert summarize([ROW, bad])[1][:6] == ("random", "0.9", "1", "0", "1", "0")
    assert to_csv(Row, [ROW], without=["why"]).splitlines()[1] == (
        "a,random,5,0.9,False,1,False,0,converged,0.1,1e-05,0.01,0,0,0.02,30,trust"
    )


@pytest.mark.slow
def test_the_study_writes_its_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(strangers, "rows_of", lambda pair: rows_of(pair, episodes=(0, 20)))
    StrangersStudy(worlds=1, mismatches=0, named=False).run(Frame(tmp_path, say=lambda _: None))
    lines = (tmp_path / "strangers.csv").read_text().splitlines()
    assert len(lines) == 1 + 5  # Two values of α, and the one that the data choose if there are episodes.
    assert (tmp_path / "confusion-random.md").exists()


@pytest.mark.parametrize("seed", range(7))
def test_every_kind_of_mismatch_is_a_mismatch_of_that_kind(seed):
    pair = mismatched_pair(seed)
    kind = pair.name.rpartition("-")[0]
    own, other = (np.asarray(world.kernel.to_array()) for world in (pair.learner, pair.expert))
    assert list(MISMATCHES)[seed] == kind
    assert np.allclose(own.sum(-1), 1)
    assert np.abs(own - other).max() > 0.05
    if kind == "relabeled":  # The same moves under other numbers.
        assert np.allclose(np.sort(own.sum(1), axis=None), np.sort(other.sum(1), axis=None))
    if kind == "closed":  # The expert enters states that the learner's moves never enter.
        entered = [kernel.sum((0, 1)) - np.einsum("sas->s", kernel) > 0 for kernel in (own, other)]
        assert (entered[1] & ~entered[0]).any()
    if kind == "renumbered":  # The expert's reward is numbered as its states are.
        assert pair.expert_reward is not None
        assert not np.array_equal(pair.expert_reward, pair.reward)
        assert np.array_equal(np.sort(pair.expert_reward), np.sort(pair.reward))


def test_the_warehouse_is_what_its_text_says():
    world, reward = warehouse(0.2, side=10), warehouse_reward(10)
    kernel = np.asarray(world.kernel.to_array())
    rack = racks(10).ravel()
    assert np.allclose(kernel[:, :, rack].sum(-1)[~rack], 0)  # Racks are not entered.
    assert np.allclose(kernel[0, :, 0], 1)  # The dock is the end,
    assert reward[0] == 0
    assert (reward[1:] < 0).all()
    # and from every free cell there is a way to it.
    reached = np.eye(100)[0] > 0
    for _ in range(100):
        reached |= (kernel[:, :, reached].sum(-1) > 0).any(-1)
    assert reached[~rack].all()
    assert kernel[11, 1].max() == pytest.approx(0.8)


@pytest.mark.slow
@pytest.mark.parametrize("mismatch", [False, True])
def test_the_default_fit_of_a_warehouse_ends_at_its_best_iterate(mismatch):
    pair = list(warehouse_pairs())[mismatch]
    policy = expert_policy(pair.expert, pair.reward, temperature=0)
    rho = state_occupancy(pair.expert, policy)
    found = fit(pair.learner, rho, alpha=1.0, throw=False)
    gaps = np.asarray(found.history.occupancy_gap)
    assert float(found.verdict.occupancy_gap) == pytest.approx(gaps.min(), abs=1e-12)
    assert float(found.verdict.occupancy_gap) < 0.02
    best = float(discounted_return(pair.learner, expert_policy(pair.learner, pair.reward, temperature=0), pair.reward))
    assert float(discounted_return(pair.learner, found.player, pair.reward)) > (1.3 if mismatch else 1.01) * best


def test_pairs_of_registered_worlds_and_of_gymnasium(monkeypatch):
    monkeypatch.setattr(strangers_worlds.envs, "names", lambda: ["three-state"])
    calm, noisy = strangers_worlds.registered_pairs(0.25)
    assert (calm.mismatch, noisy.mismatch, calm.group) == (False, True, "registered")
    slips = [float(pair.expert.kernel.to_array()[0, 0, 2]) for pair in (calm, noisy)]
    assert slips == [0.0, 0.25]
    assert float(noisy.learner.kernel.to_array()[0, 0, 2]) == 0.0

    def table(name, *, is_slippery, map_name=""):
        """The cliff has one state less where it is not slippery."""
        world = SimpleNamespace(num_states=4 - (name.startswith("Cliff") and not is_slippery), slippery=is_slippery)
        return SimpleNamespace(mdp=lambda: world, reward=map_name)

    monkeypatch.setattr(strangers_worlds.envs, "from_gymnasium", table)
    monkeypatch.setattr(strangers_worlds.importlib.util, "find_spec", lambda name: name)
    pairs = list(strangers_worlds.gymnasium_pairs())
    assert [(pair.name, pair.learner.slippery, pair.expert.slippery, pair.mismatch) for pair in pairs] == [
        ("FrozenLake-v1 4x4", True, True, False),
        ("FrozenLake-v1 4x4", True, False, True),
        ("FrozenLake-v1 8x8", True, True, False),
        ("FrozenLake-v1 8x8", True, False, True),
        ("CliffWalking-v1", True, True, False),
    ]
    monkeypatch.setattr(strangers_worlds.importlib.util, "find_spec", lambda name: None)
    assert list(strangers_worlds.gymnasium_pairs()) == []


def test_which_alphas_and_episodes_a_pair_is_fitted_with(monkeypatch):
    chosen = SimpleNamespace(alpha=0.7, as_estimate=lambda: "estimate")
    monkeypatch.setattr(strangers, "select_alpha", lambda world, demos: chosen)
    enough = [()] * strangers.FEWEST
    given = ("world", enough, (1.0, "auto"))
    assert list(strangers._alphas(*given)) == [(1.0, None), (0.7, "estimate")]
    for demos in (None, enough[1:]):
        assert list(strangers._alphas("world", demos, (1.0, "auto"))) == [(1.0, None)]
    asked = []
    monkeypatch.setattr(strangers, "sample_demonstrations", lambda *_, **options: asked.append(options))
    for discount in (0.5, 0.75, 1 - 1e-9):
        strangers._demonstrations(SimpleNamespace(expert=SimpleNamespace(discount=discount)), None, 7)
    assert [one["horizon"] for one in asked] == [2 * strangers.DISTANT, 4 * strangers.DISTANT, strangers.LONGEST]
    assert {one["episodes"] for one in asked} == {7}


def test_the_study_writes_a_table_for_every_group(tmp_path, monkeypatch):
    drawn = [Pair(name, "random", None, None, None, False) for name in "ab"]
    monkeypatch.setattr(strangers, "TUNED_WORLDS", 1)
    monkeypatch.setattr(strangers, "random_pair", lambda seed: drawn[seed])
    for name in ("registered_pairs", "gymnasium_pairs", "warehouse_pairs"):
        monkeypatch.setattr(strangers, name, lambda name=name: [Pair(name, "named", None, None, None, False)])
    monkeypatch.setattr(
        strangers, "rows_of", lambda pair: [dataclasses.replace(ROW, world=pair.name, group=pair.group)]
    )
    steps, out = [], tmp_path / "new" / "out"
    frame = Frame(out, say=lambda _: None, progress=lambda _, *step: steps.append(step))
    StrangersStudy(worlds=2, mismatches=0).run(frame)
    assert steps == [(done, 5) for done in range(6)]
    rows = [line.split(",")[:2] for line in (out / "strangers.csv").read_text().splitlines()[1:]]
    assert rows[0] == ["a", "random"]
    assert rows[2:] == [["registered_pairs", "named"], ["gymnasium_pairs", "named"], ["warehouse_pairs", "named"]]
    for group, count in (("random", 1), ("random-held-out", 1), ("named", 3)):
        assert (out / f"confusion-{group}.md").read_text().splitlines()[2] == f"| trust | {count} | 0 | 0 |"
    StrangersStudy(worlds=2, mismatches=0, named=False).run(Frame(out, say=lambda _: None))
    assert len((out / "strangers.csv").read_text().splitlines()) == 3


def test_warehouses_are_paired_with_a_calm_and_a_slippery_expert(monkeypatch):
    monkeypatch.setattr(warehouses, "warehouse", lambda slip: slip)
    pairs = list(warehouse_pairs())
    assert [(pair.learner, pair.expert, pair.mismatch) for pair in pairs] == [(0.05, 0.05, False), (0.05, 0.2, True)]
    assert {(pair.name, pair.group, pair.reward.shape) for pair in pairs} == {("warehouse-30x30", "warehouse", (900,))}


def test_what_is_written_of_the_fits_of_a_pair(monkeypatch):
    """Returns: 4 for the best policy, 2 for the uniform one, 3 for the player, 3.5 for its likeliest actions.

    The expert earns 1 in its own world, by a reward that is numbered as its states are.
    """
    world = SimpleNamespace(discount=0.75, mask=np.ones((2, 2), bool), num_states=strangers.LARGE)
    pair = Pair("a", "random", world, "home", np.ones(2), mismatch=True, expert_reward=np.zeros(2))
    player = np.array([[0.25, 0.75], [0.875, 0.125]])
    returns = {(0.5, 0.5): 2.0, (0.25, 0.75): 3.0, (0.0, 1.0): 3.5}
    asked, clock = [], iter((10.0, 12.5, 20.0, 24.0))

    def value(given, policy, reward):
        if isinstance(policy, str):
            return {"policy in world": 4.0, "policy at home": 1.0 + reward.sum()}[policy]
        return returns[tuple(np.asarray(policy)[0].tolist())]

    def fit(given, rho, *, alpha, throw, steps=None):
        asked.append((rho, alpha, throw, steps))
        return SimpleNamespace(
            player=player,
            reward=np.array([2.0, -5.0]),
            verdict=SimpleNamespace(status="settled", occupancy_gap=0.125),
            diagnosis=SimpleNamespace(randomness=0.625),
        )

    def judge(found, estimate, *, alpha_estimate, world):
        kind = "exact" if estimate is None else estimate.occupancy
        return SimpleNamespace(trust="doubt", why=f"{kind}, {alpha_estimate}")

    stand_ins = {
        "expert_policy": lambda given, reward, temperature: (
            f"policy {'at home' if given == 'home' else 'in world'}" if temperature == 0 else None
        ),
        "discounted_return": value,
        "state_occupancy": lambda given, policy: f"{given}, {policy}",
        "_demonstrations": lambda given, policy, count: f"{count} of {policy}",
        "estimate_occupancy": lambda demos, given: SimpleNamespace(occupancy=demos),
        "_alphas": lambda given, demos, alphas: [(0.5, None if demos is None else "chosen")],
        "fit": fit,
        "judge": judge,
        "time": SimpleNamespace(perf_counter=lambda: next(clock)),
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(strangers, name, stand_in)
    exact, drawn = rows_of(pair, episodes=(0, 7))
    whole, seen = "home, policy at home", "7 of policy at home"
    assert asked == [(rho, 0.5, False, steps) for rho in (whole, seen) for steps in (1, None)]
    numbers = {"regret": 0.5, "likeliest_regret": 0.25, "expert_regret": 1.5, "gap": 0.125}
    numbers |= {"randomness": 0.625, "largest_reward": 5.0, "alpha": 0.5, "discount": 0.75, "states": strangers.LARGE}
    assert {name: getattr(exact, name) for name in numbers} == numbers
    assert [(one.episodes, one.chosen, one.seconds, one.why) for one in (exact, drawn)] == [
        (0, False, 2.5, "exact, None"),
        (7, True, 4.0, f"{seen}, chosen"),
    ]
    assert (exact.status, exact.judgment, exact.mismatch) == ("settled", "doubt", True)
    world.num_states += 1  # Of larger worlds the exact occupancy alone is matched.
    clock = iter((0.0, 1.0))
    assert [one.episodes for one in rows_of(pair, episodes=(0, 7))] == [0]
