"""Make the worlds of the benchmarks, as sparse matrices that every library can read.

A world is a pair of kernels, the expert's and the learner's, over the same states. Those that do not suit this library
are among them: dense rows, irregular graphs, rows of many lengths, worlds that nobody can match.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

SEPSIS_GROUPS = {"sepsis": (0, 1), "sepsis-back": (1, 0)}
"""The expert's and the learner's group of patients."""


@dataclasses.dataclass(frozen=True)
class World:
    """Two kernels over the same states and actions, and the true reward of states.

    Attributes:
        expert: `[S·A, S]`, row s·A + a is T^E(·|s,a).
        learner: `[S·A, S]`, the same for T^L.
        actions: A.
        discount: γ.
        starts: The distributions of the first state, `[S]`, of expert and learner.
        reward: `[S]`.
    """

    expert: scipy.sparse.csr_array
    learner: scipy.sparse.csr_array
    actions: int
    discount: float
    starts: tuple[NDArray[np.float64], NDArray[np.float64]]
    reward: NDArray[np.float64]

    @property
    def states(self) -> int:
        """S."""
        return self.learner.shape[1]


def make(name: str, seed: int = 0) -> World:
    """Return a world by its name, such as `sepsis`, `random:500:6:20`, `graph:10000`, `grid:10000`, `taxi`."""
    kind, *sizes = name.split(":")
    makers: dict[str, Callable[..., World]] = {"random": _random, "graph": _graph, "grid": _grid, "road": _road}
    if kind in makers:
        return makers[kind](*map(int, sizes), rng=np.random.default_rng(seed))
    return _named(kind)


def _random(states: int, actions: int, successors: int, *, rng: np.random.Generator) -> World:
    """Return rows of random successors; the expert's move is lost in one of ten tries."""
    places = np.argsort(rng.random((states * actions, states)), axis=1)[:, :successors]
    rows = np.repeat(np.arange(states * actions), successors)
    shares = rng.dirichlet(np.ones(successors), states * actions)
    learner = scipy.sparse.csr_array((shares.ravel(), (rows, places.ravel())), (states * actions, states))
    start = np.full(states, 1 / states)
    return World(_lost(learner, actions, 0.1), learner, actions, 0.95, (start, start), rng.normal(size=states))


def _lost(learner: scipy.sparse.csr_array, actions: int, share: float) -> scipy.sparse.csr_array:
    """Return the kernel in which a move is replaced by a random one of the same state with this probability."""
    states = learner.shape[1]
    exists = np.diff(learner.indptr).reshape(states, actions) > 0
    weights = exists / exists.sum(1, keepdims=True)
    pairs = np.arange(states * actions)
    spread = scipy.sparse.csr_array((weights.ravel(), (pairs // actions, pairs)), (states, states * actions))
    onto = scipy.sparse.csr_array((exists.ravel() * 1.0, (pairs, pairs // actions)), (states * actions, states))
    return scipy.sparse.csr_array((1 - share) * learner + share * (onto @ (spread @ learner)))


def _links(starts: NDArray, ends: NDArray, states: int, goal: int) -> World:
    """Return a world whose actions are the links of a state; the goal absorbs and pays nothing, other states pay -1."""
    keep = starts != goal
    starts, ends = np.append(starts[keep], goal), np.append(ends[keep], goal)
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    action = np.arange(len(starts)) - np.searchsorted(starts, starts)
    actions = int(action.max()) + 1
    values = np.ones(len(starts))
    learner = scipy.sparse.csr_array((values, (starts * actions + action, ends)), (states * actions, states))
    reward = np.where(np.arange(states) == goal, 0.0, -1.0)
    start = np.full(states, 1 / states)
    return World(_lost(learner, actions, 0.1), learner, actions, 0.99, (start, start), reward)


def _graph(states: int, *, rng: np.random.Generator) -> World:
    """Return points in a square, each linked to its nearest: numbered at random, with lists of many lengths."""
    from scipy.spatial import cKDTree

    points = rng.random((states, 2))
    neighbors = cKDTree(points).query(points, k=5)[1][:, 1:]
    one, other = np.repeat(np.arange(states), 4), neighbors.ravel()
    both = np.unique(np.stack([np.append(one, other), np.append(other, one)], 1), axis=0)
    return _links(both[:, 0], both[:, 1], states, goal=int(np.argmin(points.sum(1))))


def _grid(states: int, *, rng: np.random.Generator) -> World:
    """Return a square of cells with four moves; the goal is a corner."""
    del rng
    side = round(states**0.5)
    cells = np.arange(side**2).reshape(side, side)
    pairs = [(cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])]
    one = np.concatenate([p[i].ravel() for p in pairs for i in (0, 1)])
    other = np.concatenate([p[1 - i].ravel() for p in pairs for i in (0, 1)])
    return _links(one, other, side**2, goal=0)


def _road(nodes: int, *, rng: np.random.Generator) -> World:
    """Return a part of the road graph that lies beside the examples, repeated side by side to the size asked for."""
    del rng
    import lzma

    path = Path(__file__).parents[1] / "examples" / "roads-part.gr.xz"
    lines = lzma.decompress(path.read_bytes()).decode("ascii").splitlines()
    edges = np.array([line.split()[:2] for line in lines if line[:1].isdigit()], int) - 1
    size = int(edges.max()) + 1
    copies = -(-nodes // size)
    shifted = np.concatenate([edges + size * i for i in range(copies)])
    ties = np.stack([np.arange(copies - 1) * size, np.arange(1, copies) * size], 1)
    both = np.concatenate([shifted, ties])
    both = np.unique(np.concatenate([both, both[:, ::-1]]), axis=0)
    both = both[both[:, 0] != both[:, 1]]
    return _links(both[:, 0], both[:, 1], size * copies, goal=0)


def _named(name: str) -> World:
    """Return a world of the library's own environments: the noise is the expert's, or the expert is the other group."""
    from robustirl import envs

    if name in SEPSIS_GROUPS:
        environment = envs.make("sepsis")
        pair = [environment.mdp(group=group) for group in SEPSIS_GROUPS[name]]
    else:
        environment = envs.make(name)
        pair = [environment.mdp(noise) for noise in (0.1, 0.0)]
    expert, learner = (world.kernel.to_sparse() for world in pair)
    starts = (np.asarray(pair[0].initial, float), np.asarray(pair[1].initial, float))
    reward = np.asarray(environment.reward, float)
    return World(expert, learner, pair[0].num_actions, float(pair[0].discount), starts, reward)
