"""α from demonstrations: right where the data can tell, and open about where it cannot."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy import stats

from robustirl import envs
from robustirl.demonstrations import Demonstrations, estimate_alpha, sample_demonstrations
from robustirl.demonstrations.estimation import alpha as module
from robustirl.demonstrations.estimation.alpha import SMALLEST_ALPHA, _astray, _from_actions, _from_states, _Pooled
from robustirl.demonstrations.estimation.chain import transition_counts
from robustirl.demonstrations.estimation.pairs import PairBounds
from robustirl.envs.noise import noisy_kernel
from robustirl.mdp import MDP, SuccessorKernel, uniform_policy
from robustirl.planning import expert_policy


def demos_of(env, noise, model, episodes=600, key=0):
    world = env.mdp(noise, model)
    policy = expert_policy(world, env.reward)
    return sample_demonstrations(world, policy, episodes=episodes, horizon=200, key=jax.random.key(key))


@pytest.mark.parametrize(("learner", "expert"), [(0.0, 0.1), (0.05, 0.2), (0.1, 0.15)])
def test_a_noisier_expert_is_seen_from_states_alone(learner, expert):
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(learner), demos_of(env, expert, "uniform-state"), actions=False)
    assert not found.decisive  # Noise inside the learner's hull may hide more.
    assert found.alpha == pytest.approx(1 - (expert - learner), abs=0.03)
    assert found.low < found.alpha < found.high
    assert found.high - found.alpha < 0.03
    assert "noisier" in found.note


@pytest.mark.parametrize(("learner", "expert"), [(0.1, 0.0), (0.1, 0.1), (0.0, 0.0)])
def test_an_expert_who_is_not_noisier_leaves_alpha_at_one_and_open(learner, expert):
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(learner), demos_of(env, expert, "uniform-state"), actions=False)
    assert (found.alpha, found.decisive) == (1.0, False)
    assert (found.low, found.high) == (0.05, 1.0)
    assert "not a finding" in found.note
    assert ("calmer" in found.note) == (expert < learner)


def test_noise_inside_the_learners_hull_is_invisible_in_states_and_visible_with_actions():
    env = envs.make("gridworld-4")
    demos = demos_of(env, 0.2, "uniform-action")
    world = env.mdp(0.0, "uniform-action")
    moving = MDP(world.kernel, discount=0.99, mask=np.ones_like(world.mask))  # Whose walls may be walked into.
    blind = estimate_alpha(moving, demos, actions=False)
    assert (blind.alpha, blind.decisive) == (1.0, False)
    assert "cannot be told" in blind.note
    walls = estimate_alpha(world, demos, actions=False)  # Staying put at a wall gives some of it away.
    assert not walls.decisive
    assert 0.95 < walls.alpha < 0.99
    assert walls.low < 0.85 < walls.high  # The truth, 1 - d/2.
    seeing = estimate_alpha(env.mdp(0.0, "uniform-action"), demos)
    assert seeing.method == "actions"
    assert seeing.decisive
    assert seeing.alpha == pytest.approx(1 - 0.75 * 0.2, abs=0.03)


def test_a_calmer_expert_leaves_alpha_at_one():
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(0.2, "uniform-action"), demos_of(env, 0.0, "uniform-action"))
    assert (found.alpha, found.high, found.decisive) == (1.0, 1.0, False)
    assert "calmer" in found.note


def test_few_moves_with_actions_leave_it_open():
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(0.0), demos_of(env, 0.0, "uniform-state", episodes=8))
    assert not found.decisive
    assert found.low < 0.97
    assert "cannot rule out" in found.note


RNG = np.random.default_rng(0)
TWENTY = RNG.dirichlet(np.full(20, 0.05), (20, 4))  # Twenty states, four actions, few likely outcomes each.
TWENTY = np.eye(20)[TWENTY.argmax(-1)] * 0.9 + TWENTY * 0.1


def noisy(rows, noise):
    return (1 - np.asarray(noise))[..., None, None] * rows + np.asarray(noise)[..., None, None] / rows.shape[-1]


def by_state(rows, *noises):
    return noisy(rows, np.resize(noises, len(rows)))


def moved(rows, state, noise):
    return noisy(rows, np.where(np.arange(len(rows)) == state, noise, 0.0))


def local(rows, noise):
    return (1 - noise) * rows + noise * rows.mean(1, keepdims=True)


CASES = {
    # What an audit of version 0.1 found wrong.
    "noise like the learner's own moves, states only": (TWENTY, local(TWENTY, 0.2), False),
    "two actions relabeled": (TWENTY, TWENTY[:, [1, 0, 2, 3]], True),
    "signs that cancel": (by_state(TWENTY, 0.2), by_state(TWENTY, 0.4, 0.0), True),
    "one state of twenty": (TWENTY, moved(TWENTY, 3, 0.8), True),
    "a row turned over": (np.tile([[0.6, 0.4]], (2, 1, 1)), np.tile([[0.2, 0.8]], (2, 1, 1)), True),
    # Others.
    "uniform noise": (TWENTY, by_state(TWENTY, 0.2), True),
    "uniform noise, states only": (TWENTY, by_state(TWENTY, 0.2), False),
    "a calmer expert": (by_state(TWENTY, 0.3), TWENTY, True),
    "no mismatch": (TWENTY, TWENTY, True),
    "noise and relabeling": (TWENTY, by_state(TWENTY, 0.3)[:, [3, 1, 2, 0]], True),
}


def truth(learner, expert):
    """Return 1 - max e(s,a) over all pairs, each compared with the learner's nearest row."""
    apart = np.abs(expert[:, :, None] - learner[:, None]).sum(-1) / 2
    nearest = apart.argmin(-1)
    near = np.take_along_axis(learner, nearest[..., None], 1)
    top = near >= near.max(-1, keepdims=True) - 1e-9
    lost = ((near - expert) * top).sum(-1) > 1e-9
    return 1 - np.where(lost, apart.min(-1), 0).max()


@pytest.mark.parametrize("draws", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_the_truth(case, draws):
    learner, expert, actions = CASES[case]
    world, other = MDP(learner, discount=0.9), MDP(expert, discount=0.9)
    right = truth(learner, expert)
    missed, decided = 0, 0
    for key in range(draws):
        demos = sample_demonstrations(
            other, uniform_policy(other.mask), episodes=200, horizon=40, key=jax.random.key(key), with_actions=actions
        )
        found = estimate_alpha(world, demos)
        missed += not found.low - 1e-9 <= right <= found.high + 1e-9
        decided += found.decisive
    # A twentieth is expected. At a coverage of 95 % more have a chance of 1.6 % (of 20 draws) and 0.3 % (of 200).
    assert missed <= {20: 3, 200: 18}[draws]
    assert decided >= 0.95 * draws if actions and right < 1 else decided <= draws / 20


def test_relabeled_actions_are_named():
    world, other = MDP(TWENTY, discount=0.9), MDP(TWENTY[:, [1, 0, 2, 3]], discount=0.9)
    demos = sample_demonstrations(other, uniform_policy(other.mask), episodes=200, horizon=40, key=jax.random.key(0))
    found = estimate_alpha(world, demos)
    assert found.alpha == 1
    assert "% of the moves use an action that has the outcomes of another one" in found.note


def test_one_noisy_state_is_named():
    world, other = MDP(TWENTY, discount=0.9), MDP(moved(TWENTY, 3, 0.8), discount=0.9)
    demos = sample_demonstrations(other, uniform_policy(other.mask), episodes=200, horizon=40, key=jax.random.key(0))
    found = estimate_alpha(world, demos)
    assert found.note.startswith("state 3, action ")
    assert found.alpha == pytest.approx(1 - 0.8 * 0.95, abs=0.1)


def test_lists_of_successors_give_the_dense_answer():
    env = envs.make("gridworld-4")
    demos = demos_of(env, 0.2, "uniform-action", episodes=100)
    world = env.mdp(0.05, "uniform-action")
    table = world.kernel.to_sparse().toarray().reshape(36, 4, 36)
    order = np.argsort(-table, axis=-1)[..., :6]
    kernel = SuccessorKernel(order, np.take_along_axis(table, order, -1))
    sparse = MDP(kernel, discount=0.99, mask=np.asarray(world.mask))
    for actions in (False, True):
        found, expected = (estimate_alpha(w, demos, actions=actions) for w in (sparse, world))
        assert found.note == expected.note
        assert dataclasses.astuple(found)[:3] == pytest.approx(dataclasses.astuple(expected)[:3])


@pytest.mark.parametrize("model", ["uniform-state", "uniform-action"])
@pytest.mark.parametrize("name", ["gridworld-4", "objectworld"])
def test_large_grids_give_the_answer_of_arrays(name, model):
    env = envs.make(name)
    assert isinstance(env, envs.GridWorld)
    demos = demos_of(env, 0.2, model, episodes=200)
    moves, available, absorbing = env._geometry()
    for noise in (0.0, 0.1):
        lists, array = (
            MDP(noisy_kernel(moves, absorbing, noise, model, dense=dense), discount=0.9, mask=available)
            for dense in (False, True)
        )
        for actions in (False, True):
            found, expected = (estimate_alpha(w, demos, actions=actions) for w in (lists, array))
            assert found.note == expected.note
            assert (found.alpha, found.excess) == pytest.approx((expected.alpha, expected.excess))


def test_with_the_experts_world_the_papers_rule_is_used():
    env = envs.make("gridworld-4")
    demos = Demonstrations.from_arrays([[0]])
    found = estimate_alpha(env.mdp(0.0), demos, expert_mdp=env.mdp(0.1))
    assert found.alpha == pytest.approx(1 - 0.1 * (1 - 1 / 36))
    assert found.method == "kernel"


def test_the_papers_rule_has_a_direction(refused):
    env = envs.make("gridworld-4")
    demos = Demonstrations.from_arrays([[0]])
    found = estimate_alpha(env.mdp(0.1), demos, expert_mdp=env.mdp(0.0))
    assert found.alpha == 1
    assert "nowhere the noisier one" in found.note
    one = MDP([[[1.0, 0.0]], [[0.0, 1.0]]], discount=0.9)
    other = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.9)
    with refused("the worlds are at distance 2, where the rule gives alpha = 0"):
        estimate_alpha(one, Demonstrations.from_arrays([[0]]), expert_mdp=other)


def test_a_handful_of_moves_says_nothing():
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(0.0), Demonstrations.from_arrays([[1, 0]], terminated=True))
    assert (found.alpha, found.decisive) == (1.0, False)
    assert "1 moves are too few" in found.note


def test_bad_requests_are_named(refused):
    env = envs.make("gridworld-4")
    demos = Demonstrations.from_arrays([[1, 99]])
    with refused("99"):
        estimate_alpha(env.mdp(0.0), demos)
    with refused("the confidence is 1.5"):
        estimate_alpha(env.mdp(0.0), demos, confidence=1.5)
    with refused("states only"):
        estimate_alpha(env.mdp(0.0), Demonstrations.from_arrays([[1, 0]]), actions=True)


def pooled(excess, low, high):
    return _Pooled(excess, low, high, 40, 0.9, "some moves went astray")


def pair(lower, estimate, upper, unseen=0):
    return PairBounds(lower, estimate, (2, 1), upper, np.zeros((1, 1), int), 0.0, unseen)


def told(found):
    return found.alpha, found.low, found.high, found.decisive, found.direction


def test_a_direction_needs_an_interval_beside_zero():
    names = [pooled(0.0, low, high).direction for low, high in ((0.0, 0.5), (0.1, 0.5), (-0.5, 0.0), (-0.5, -0.1))]
    assert names == ["unknown", "noisier", "unknown", "calmer"]


def test_what_states_alone_tell_by_hand():
    found = _from_states(pooled(0.375, 0.25, 0.5))
    assert told(found) == (0.625, SMALLEST_ALPHA, 0.75, False, "noisier")
    assert "α is at most 0.75;" in found.note
    assert (found.excess, found.moves, found.confidence) == (0.375, 40, 0.9)
    assert told(_from_states(pooled(0.1, 0.0, 0.5))) == (1.0, SMALLEST_ALPHA, 1.0, False, "unknown")


def test_what_actions_tell_by_hand():
    noisy, calm, open_ = pooled(0.375, 0.25, 0.5), pooled(-0.2, -0.3, -0.1), pooled(0.0, 0.0, 0.1)
    assert told(_from_actions(noisy, None, 0.9)) == (0.625, SMALLEST_ALPHA, 0.75, True, "noisier")
    # A pair that is further away beyond doubt counts for more than all moves together, and one that is not for less.
    assert told(_from_actions(noisy, pair(0.5, 0.625, 0.75), 0.9)) == (0.375, 0.25, 0.5, True, "noisier")
    assert told(_from_actions(noisy, pair(0.25, 0.625, 0.75), 0.9)) == (0.625, 0.25, 0.75, True, "noisier")
    # However little it is, a mismatch of a pair beyond doubt decides if all moves together prove none.
    assert told(_from_actions(open_, pair(0.0005, 0.5, 0.75), 0.9)) == (0.5, 0.25, 0.9995, True, "noisier")
    # No pair can be far away: nothing is open.
    found = _from_actions(calm, pair(0.0, 0.0, 0.03125), 0.9)
    assert told(found) == (1.0, 0.96875, 1.0, True, "calmer")
    assert found.note == "some moves went astray (the expert's world looks calmer): no noisier expert, so α is 1."
    found = _from_actions(open_, pair(0.0, 0.0, 0.25, unseen=3), 0.9)
    assert told(found) == (1.0, 0.75, 1.0, False, "unknown")
    assert found.note == (
        "some moves went astray: nothing points to a noisier expert, but 40 moves cannot rule out a mismatch of up to"
        " 0.25 in a pair, 3 pairs of states and actions were never seen; α = 1 is a default."
    )
    for pairs in (None, pair(0.0, 0.0, 0.25)):
        assert "in a pair; α = 1 is a default." in _from_actions(open_, pairs, 0.9).note


CYCLE = MDP(np.eye(3)[[1, 2, 0]][:, None], discount=0.9)  # One action, from every state to the next.


def around(moves, stray=0):
    """One episode of so many moves with actions, of which some stay where they are."""
    states = np.concatenate([[0], np.cumsum(np.arange(moves) >= stray) % 3])
    return Demonstrations.from_arrays([states], [[0] * moves])


def test_moves_that_are_too_few_by_hand():
    found = estimate_alpha(CYCLE, around(29), confidence=0.9)
    note = "29 moves are too few to tell anything; at least 30 are needed, so α stays 1."
    assert dataclasses.astuple(found) == (1.0, 0.0, 1.0, False, note, "actions", 0.0, 29, 0.9, "unknown")
    assert estimate_alpha(CYCLE, around(29), actions=False).method == "states"
    assert estimate_alpha(CYCLE, around(30)).note.startswith("0.00% of 30 moves went astray")


def test_one_episode_is_pooled_by_hand():
    # Ten of forty moves stray, which the world never does. Two bounds of 95 % share the error of 90 %, and each is
    # two-sided: the exact lower end is a quantile of a beta distribution. One episode has no halves for pairs.
    found = estimate_alpha(CYCLE, around(40, 10), confidence=0.9)
    low = stats.beta.ppf(0.025, 10, 31)
    assert found.note == (
        "25.00% of 40 moves went astray, where the learner's world explains 0.00%: the expert's world is the noisier"
        " one."
    )
    assert told(found) == pytest.approx((0.75, SMALLEST_ALPHA, 1 - low, True, "noisier"))
    assert (found.excess, found.moves, found.confidence) == (0.25, 40, 0.9)
    states = estimate_alpha(CYCLE, around(40, 10), actions=False, confidence=0.9)
    assert told(states) == pytest.approx((0.75, SMALLEST_ALPHA, 1 - stats.beta.ppf(0.05, 10, 31), False, "noisier"))


def test_shares_are_pooled_by_hand():
    counts, astray, expected = np.array([2, 6, 12]), np.array([True, False, True]), np.array([0.5, 0.25, 0.125])
    found = _Pooled.of(astray, expected, counts, 0.8)
    most = (1 + 1.5 + 1.5) / 20
    assert (found.excess, found.moves, found.confidence) == (pytest.approx(0.7 - most), 20, 0.8)
    assert found.low == pytest.approx(stats.beta.ppf(0.1, 14, 7) - most)
    assert found.high == pytest.approx(stats.beta.ppf(0.9, 15, 6) - most)
    assert found.share == "70.00% of 20 moves went astray, where the learner's world explains 20.00%"
    assert _from_actions(found, dataclasses.replace(pair(0.0, 0.0, 0.25), relabeled=0.25), 0.8).note.startswith(
        "25% of the moves use an action that has the outcomes of another one in the learner's world, which the learner"
        " can reproduce, so they are compared with that one; 70.00%"
    )
    # A mismatch that leaves less than the smallest α: its ends are kept inside.
    assert told(_from_actions(pooled(1.0, 0.98, 1.0), None, 0.8)) == (0.05, 0.05, 0.05, True, "noisier")
    assert told(_from_actions(pooled(0.3, 0.2, 0.4), pair(0.1, 0.1, 0.2), 0.8)) == (0.7, 0.7, 0.8, True, "noisier")
    # An upper bound of just 0.05 rules a mismatch out.
    assert _from_actions(pooled(0.0, 0.0, 0.1), pair(0.0, 0.0, 0.05), 0.8).decisive


@pytest.mark.parametrize("chunk", [2**24, 1])
def test_arrays_and_the_rule_by_hand(monkeypatch, chunk):
    """Of three states and two actions, one of which state 2 does not have; rows are read at once, or one by one."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    rows = np.array(
        [[[0.7, 0.2, 0.1], [0.2, 0.4, 0.4]], [[0.1, 0.8, 0.1], [0.6, 0.3, 0.1]], [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]]
    )
    mask = np.array([[True, True], [True, True], [True, False]])
    learner = MDP(rows, discount=0.9, mask=mask)
    moves = [[s, t] for s in range(3) for t in range(3)]
    with_actions = transition_counts(Demonstrations.from_arrays(moves, [[s // 2] for s, _ in moves]), 3)
    # The best outcomes are 0.7 and 0.4, 0.8 and 0.6, 0.5: what has less than half of the least of them is astray.
    astray, expected = _astray(learner, with_actions)
    assert astray.tolist() == [False] * 5 + [True] * 2 + [False] * 2
    np.testing.assert_allclose(expected, [0] * 3 + [0.1] * 3 + [0.2] * 3, atol=1e-12)
    taken = transition_counts(
        Demonstrations.from_arrays(moves, [[0]] * 3 + [[1]] * 3 + [[0]] * 3), 3, with_actions=True
    )
    astray, expected = _astray(learner, taken)
    assert astray.tolist() == [False, True, True, False, False, True, True, False, False]
    np.testing.assert_allclose(expected, [0.3] * 3 + [0.1] * 3 + [0.2] * 3, atol=1e-12)

    noisy, calm = rows.copy(), rows.copy()
    noisy[1, 0], noisy[0, 0] = [0.2, 0.7, 0.1], [0.9, 0.1, 0.0]  # Noisier by 0.2, and calmer by 0.4.
    calm[0, 0] = [0.9, 0.1, 0.0]
    calm[1, 1] = [0.65, 0.35, 0.0]  # Of a row its own likeliest outcome counts, which gains.
    noisy[2, 1] = calm[2, 1] = [0.0, 1.0, 0.0]  # Which nobody has.
    told_by = [estimate_alpha(learner, around(1), expert_mdp=MDP(e, discount=0.9, mask=mask)) for e in (noisy, calm)]
    told_by.append(estimate_alpha(learner, around(1), expert_mdp=learner, confidence=0.9))
    assert [told(found) for found in told_by] == [
        pytest.approx((0.9, 0.9, 0.9, True, "noisier")),
        (1, 1, 1, True, "calmer"),
        (1, 1, 1, True, "unknown"),
    ]
    assert [(found.moves, found.confidence, found.method) for found in told_by] == [
        (0, 0.95, "kernel"),
        (0, 0.95, "kernel"),
        (0, 0.9, "kernel"),
    ]
    assert [found.excess for found in told_by] == pytest.approx([0.1, 0, 0])
    assert [found.note for found in told_by] == [
        "the worlds are 0.2 apart where the expert's is the noisier one; 1 - α is half of that.",
        "the worlds are d_dyn = 0.4 apart, but the expert's is nowhere the noisier one, so α is 1.",
        "the worlds are 0 apart where the expert's is the noisier one; 1 - α is half of that.",
    ]


def test_blocks_of_states_hold_about_a_chunk(monkeypatch):
    for chunk, expected in ((2, [(0, 1), (1, 2), (2, 3)]), (3, [(0, 2), (2, 3)]), (6, [(0, 3)])):
        monkeypatch.setattr(module, "CHUNK", chunk)
        assert list(module._ranges(CYCLE)) == expected
