"""Bad input gets one sentence that names the culprit, and nothing is half-written."""

from pathlib import Path

import jax
import numpy as np
import pytest

from robustirl import (
    MDP,
    Demonstrations,
    MarkovGame,
    RobustIRL,
    demonstrations,
    envs,
    fit,
    fit_many,
    irl,
    load,
    planning,
    rewards,
    theory,
)
from robustirl.cli import main
from robustirl.errors import InvalidInputError

KERNEL = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])  # Stay or go; the second state absorbs.
WORLD = MDP(KERNEL, discount=0.9)
POLICY = [[0.5, 0.5], [1.0, 0.0]]
WALKS = Demonstrations.from_arrays([[0, 1], [0, 0, 1]], [[1], [0, 1]], terminated=[True, True])
RHO = [0.4, 0.6]
KEY = jax.random.key(0)


def kernel(**places):
    """The kernel with some entries changed: `_0_1_0=2.0` is T(0|0,1) = 2."""
    array = KERNEL.copy()
    for place, value in places.items():
        array[tuple(int(i) for i in place.strip("_").split("_"))] = value
    return array


def written(name, content):
    Path(name).write_text(content, encoding="utf-8")
    return name


def table(content, **options):
    return load(written("log.csv", content), **options)


WORLDS = {
    "a row above one": (lambda: MDP(kernel(_0_0_1=0.1), discount=0.9), "state 0, action 0 sums to 1.1"),
    "a row below one": (lambda: MDP(kernel(_1_0_1=0.999), discount=0.9), "0.999 instead of 1"),
    "a negative probability": (lambda: MDP(kernel(_0_0_0=1.5, _0_0_1=-0.5), discount=0.9), "negative at state 0"),
    "a NaN": (lambda: MDP(kernel(_0_1_0=np.nan), discount=0.9), "not finite at state 0, action 1"),
    "a kernel of two axes": (lambda: MDP(KERNEL[0], discount=0.9), "shape (2, 2)"),
    "a ragged kernel": (lambda: MDP([[[1.0], [0.5, 0.5]]], discount=0.9), "not a rectangular array"),
    "words": (lambda: MDP([[["a"]]], discount=0.9), "real numbers"),
    "a masked kernel": (lambda: MDP(np.ma.masked_array(KERNEL, mask=KERNEL > 0.5), discount=0.9), "masked"),
    "a discount of one": (lambda: MDP(KERNEL, discount=1.0), "γ is 1.0"),
    "a negative discount": (lambda: MDP(KERNEL, discount=-0.1), "γ is -0.1"),
    "a discount of words": (lambda: MDP(KERNEL, discount="0.9"), "discount"),
    "a start that sums to two": (lambda: MDP(KERNEL, discount=0.9, initial=[1.0, 1.0]), "sums to 2.0"),
    "a start of three states": (lambda: MDP(KERNEL, discount=0.9, initial=[1.0, 0, 0]), "shape (3,)"),
    "a mask without an action": (lambda: MDP(KERNEL, discount=0.9, mask=[[True, True], [False, False]]), "state 1"),
    "a mask of what does not exist": (lambda: MDP(KERNEL, discount=0.9, mask=np.ones((2, 2), bool)), "action 1"),
    "a sparse matrix without actions": (
        lambda: MDP(__import__("scipy.sparse").sparse.csr_array(KERNEL.reshape(4, 2)), discount=0.9),
        "num_actions",
    ),
    "positions of three states": (lambda: MDP(KERNEL, discount=0.9, positions=np.zeros((3, 2))), "positions"),
    "alpha zero": (lambda: MarkovGame(WORLD, 0.0), "0.0"),
    "alpha above one": (lambda: MarkovGame(WORLD, 1.5), "1.5"),
    "a local alpha of another shape": (lambda: MarkovGame(WORLD, np.ones(3)), "shape (3,)"),
    "no world": (lambda: planning.solve(KERNEL, [0.0, 1.0]), "ndarray"),
    "an unknown environment": (lambda: envs.make("gridworld-9"), "gridworld-9"),
    "a noise above one": (lambda: envs.make("gridworld-4").mdp(noise=1.5), "1.5"),
    "an unknown noise model": (lambda: envs.make("gridworld-4").mdp(0.1, noise_model="wind"), "wind"),
    "an edge out of the graph": (lambda: envs.from_graph([[0, 5]], num_nodes=2), "nodes is 2"),
    "transitions without actions": (
        lambda: MDP.from_transitions(WALKS.without_actions(), discount=0.9),
        "actions",
    ),
}
PLANS = {
    "a reward of three states": (lambda: planning.solve(WORLD, [0.0, 1.0, 2.0]), "shape (3,)"),
    "an infinite reward": (lambda: planning.solve(WORLD, [0.0, np.inf]), "not finite at state 1"),
    "a tolerance of zero": (lambda: planning.solve(WORLD, [0.0, 1.0], tolerance=0.0), "tolerance is 0.0"),
    "a tolerance out of reach": (lambda: planning.solve(WORLD, [0.0, 1.0], tolerance=1e-20), "out of reach"),
    "no steps": (lambda: planning.solve(WORLD, [0.0, 1.0], max_steps=0), "max_steps is 0"),
    "a solver by name": (lambda: planning.solve(WORLD, [0.0, 1.0], solver="newton"), "'newton'"),
    "a negative temperature": (
        lambda: planning.solve(WORLD, [0.0, 1.0], temperatures=planning.Temperatures(-1.0)),
        "-1.0",
    ),
    "a policy that does not sum to one": (lambda: planning.state_occupancy(WORLD, [[0.5, 0.4], [1, 0]]), "0.9"),
    "a policy of a missing action": (lambda: planning.state_occupancy(WORLD, [[1, 0], [0, 1]]), "action 1"),
    "a kind of expert": (lambda: planning.expert_policy(WORLD, [0.0, 1.0], kind="greedy"), "'greedy'"),
    "a negative horizon": (lambda: planning.total_return(WORLD, POLICY, [0.0, 1.0], horizon=-1), "horizon is -1"),
    "a radius of words": (lambda: theory.certify(WORLD, POLICY, [0.0, 1.0], radius="much"), "radius"),
    "a kind of set": (lambda: theory.certify(WORLD, POLICY, [0.0, 1.0], radius=0.1, kind="cube"), "'cube'"),
    "worlds of two sizes": (lambda: theory.identify([WORLD, envs.make("three-state").mdp()]), "world 1"),
}
DATA = {
    "no episodes": (lambda: Demonstrations.from_arrays([]), "episode"),
    "a negative state": (lambda: Demonstrations.from_arrays([[0, -1]]), "-1"),
    "half a state": (lambda: Demonstrations.from_arrays([[0, 0.5]]), "float64"),
    "more actions than moves": (lambda: Demonstrations.from_arrays([[0, 1]], [[0, 1, 1]]), "action"),
    "a state that the world lacks": (
        lambda: RobustIRL(alpha=1.0).fit(WORLD, Demonstrations.from_arrays([[0, 7]])),
        "7",
    ),
    "a file that is not there": (lambda: load("nowhere.csv"), "nowhere.csv"),
    "a folder": (lambda: load("."), "."),
    "an unknown ending": (lambda: load(written("log.xyz", "")), "log.xyz"),
    "an empty file": (lambda: table(""), "log.csv"),
    "a table without states": (lambda: table("episode,place\n0,1\n"), "state"),
    "a mapped column that is not there": (
        lambda: table("episode,state\n0,1\n", columns={"cell": "state"}),
        "cell",
    ),
    "an unknown name": (
        lambda: table("episode,state\n0,here\n", state_names=["there", "nowhere"]),
        "here",
    ),
    "a state that is missing": (lambda: table("episode,state\n0,1\n0,\n"), "state"),
    "a step twice": (lambda: table("episode,step,state\n0,1,0\n0,1,1\n"), "step"),
    "an archive that is none": (lambda: load(written("log.npz", "no zip")), "log.npz"),
    "a line that is no JSON": (lambda: load(written("log.jsonl", "{")), "log.jsonl"),
    "a tail": (lambda: demonstrations.estimate_occupancy(WALKS, WORLD, tail="loop"), "'loop'"),
    "no episodes to draw": (
        lambda: demonstrations.sample_demonstrations(WORLD, POLICY, episodes=0, horizon=5, key=KEY),
        "0",
    ),
}
FITS = {
    "an occupancy without alpha": (lambda: fit(WORLD, RHO), "alpha"),
    "an occupancy that sums to two": (lambda: fit(WORLD, [1.0, 1.0], alpha=1.0), "sums to 2.0"),
    "an occupancy of three states": (lambda: fit(WORLD, [0.2, 0.3, 0.5], alpha=1.0), "shape (3,)"),
    "a negative alpha": (lambda: fit(WORLD, RHO, alpha=-1.0), "-1.0"),
    "an alpha of words": (lambda: fit(WORLD, RHO, alpha="high"), "'high'"),
    "a likelihood without choices": (lambda: fit(WORLD, RHO, alpha=1.0, objective="likelihood"), "action"),
    "an objective": (lambda: fit(WORLD, RHO, alpha=1.0, objective="entropy"), "'entropy'"),
    "a penalty without a likelihood": (lambda: fit(WORLD, RHO, alpha=1.0, penalty=1.0), "penalty"),
    "an optimizer by name": (lambda: fit(WORLD, RHO, alpha=1.0, optimizer="adam"), "'adam'"),
    "half a step": (lambda: fit(WORLD, RHO, alpha=1.0, steps=0.5), "steps is 0.5"),
    "a tolerance below zero": (lambda: fit(WORLD, RHO, alpha=1.0, tolerance=-1.0), "tolerance is -1.0"),
    "a reward that is an array": (lambda: fit(WORLD, RHO, alpha=1.0, reward=np.ones(2)), "reward"),
    "features of another world": (
        lambda: fit(WORLD, RHO, alpha=1.0, reward=rewards.LinearReward(np.ones((3, 1)))),
        "3",
    ),
    "parameters of another model": (
        lambda: fit(WORLD, RHO, alpha=1.0, initial_parameters=np.zeros(5)),
        "initial parameters",
    ),
    "callbacks that cannot be called": (lambda: fit(WORLD, RHO, alpha=1.0, callbacks=[1]), "callbacks"),
    "more worlds than occupancies": (lambda: fit_many([WORLD] * 2, [RHO], [1.0]), "2 worlds and 1 occ"),
    "a fit inside jit": (lambda: jax.jit(lambda rho: fit(WORLD, rho, alpha=1.0).reward)(np.array(RHO)), "jax.jit"),
    "features without columns": (lambda: rewards.LinearReward(np.ones((2, 0))), "features"),
    "two names for one feature": (lambda: rewards.LinearReward(np.ones((2, 1)), names=["a", "b"]), "name"),
    "a model that is no file": (lambda: RobustIRL.load("nowhere.npz"), "nowhere.npz"),
    "a model that is no model": (lambda: irl.load_fit(written("log.npz", "PK")), "log.npz"),
}
CALLS = WORLDS | PLANS | DATA | FITS


@pytest.mark.parametrize(("call", "culprit"), CALLS.values(), ids=CALLS.keys())
@pytest.mark.usefixtures("mistyped", "here")
def test_a_bad_call_gets_one_sentence(call, culprit):
    with pytest.raises(InvalidInputError) as caught:
        call()
    sentence = str(caught.value)
    assert culprit in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


COMMANDS = {
    "a file that is not there": ("fit --env gridworld-4 --demos nowhere.csv --alpha 1 --out out", "nowhere.csv"),
    "an environment": ("fit --env gridworld-9 --demos log.csv --alpha 1 --out out", "gridworld-9"),
    "an alpha": ("fit --env gridworld-4 --demos log.csv --alpha 2 --out out", "2"),
    "a folder that is taken": ("fit --env gridworld-4 --demos log.csv --alpha 1 --out taken", "taken"),
    "a column": ("fit --env gridworld-4 --demos log.csv --alpha 1 --columns cell=state --out out", "cell"),
    "a class column": ("fit --env gridworld-4 --demos log.csv --alpha 1 --classes kind --out out", "kind"),
    "a noise": ("demos make --env gridworld-4 --noise 2 --out out.npz", "2"),
    "a format": ("demos convert log.csv out.xyz", "out.xyz"),
}


@pytest.mark.parametrize(("line", "culprit"), COMMANDS.values(), ids=COMMANDS.keys())
def test_a_bad_command_gets_one_sentence_and_writes_nothing(line, culprit, here, capsys):
    written("log.csv", "episode,state\n0,35\n0,34\n")
    (here / "taken").mkdir()
    (here / "taken" / "mine").touch()
    before = sorted(path.name for path in here.rglob("*"))
    assert main(line.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("robustirl: ")
    assert culprit in printed.err
    assert len(printed.err.splitlines()) == 1
    assert sorted(path.name for path in here.rglob("*")) == before
