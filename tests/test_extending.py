"""CONTRIBUTING.md's recipes, from outside the package: one of each is added, used, and seen to be right."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jaxtyping import Array, Float

from robustirl import envs, irl, planning
from robustirl.mdp import MDP
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.kernel import AbstractKernel
from robustirl.rewards import AbstractReward

CORRIDOR = np.array([[0.0, -1.0, -1.0, -1.0]])


def test_a_noise_model():
    def sticky(moves, noise):
        """With probability ε nothing happens."""
        stay, go = np.eye(len(moves.targets))[:, None, :], np.eye(len(moves.targets))[moves.targets]
        return DenseKernel(np.where(moves.absorbing[:, None, None], stay, noise * stay + (1 - noise) * go))

    envs.register_noise_model("sticky", sticky)
    try:
        world = envs.GridWorld("corridor", rewards=CORRIDOR).mdp(noise=0.25, noise_model="sticky")
        assert np.asarray(world.kernel.self_transitions())[2].min() == 0.25
    finally:
        envs.noise.unregister_noise_model("sticky")
    assert "sticky" not in envs.GridWorld("corridor", rewards=CORRIDOR).noise_models


class PairReward(AbstractReward):
    """One parameter for two neighbors."""

    num_states: int = eqx.field(static=True)

    def initial_parameters(self) -> Float[Array, " d"]:
        return jnp.zeros(self.num_states // 2, dtype=float)

    def __call__(self, parameters: Float[Array, " d"]) -> Float[Array, " S"]:
        return jnp.repeat(parameters, 2)


def test_a_reward_model():
    env = envs.GridWorld("corridor", rewards=CORRIDOR)
    world = env.mdp()
    rho = planning.state_occupancy(world, planning.expert_policy(world, env.reward, temperature=1.0))
    fit = irl.fit(world, rho, alpha=1.0, reward=PairReward(4), throw=False)
    reward = np.asarray(fit.reward)
    assert fit.parameters.shape == (2,)
    assert reward[0] == reward[1] > reward[2] == reward[3]


@dataclasses.dataclass(frozen=True, eq=False)
class Ring(envs.Environment):
    """Five states in a ring; noise turns a step round."""

    name: str = "ring"

    @property
    def reward(self) -> np.ndarray:
        return np.array([1.0, 0.0, 0.0, 0.0, 0.0])

    @property
    def noise_models(self) -> tuple[str, ...]:
        return ("turn",)

    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        self.choose_noise_model(noise, noise_model)
        steps = np.stack([np.roll(np.eye(5), 1, axis=1), np.roll(np.eye(5), -1, axis=1)], axis=1)
        return MDP((1 - noise) * steps + noise * steps[:, ::-1], discount=0.9)


def test_an_environment():
    envs.registry.register("ring", Ring)
    try:
        assert "ring" in envs.names()
        policy = planning.expert_policy(envs.make("ring").mdp(), Ring().reward, kind="optimal")
        assert np.asarray(policy)[[1, 4]].argmax(-1).tolist() == [1, 0]  # Back to state 0 the short way.
    finally:
        envs.registry.unregister("ring")


class TableKernel(AbstractKernel):
    """One certain successor for each state and action, as a table `[S, A]`."""

    table: Array = eqx.field(converter=jnp.asarray)
    leaky: bool = eqx.field(static=True, default=False)

    @property
    def num_states(self) -> int:
        return self.table.shape[0]

    @property
    def num_actions(self) -> int:
        return self.table.shape[1]

    def expect(self, value):
        return value[self.table]

    def push(self, measure):
        return jnp.zeros(self.num_states, measure.dtype).at[self.table].add(measure)

    def dense(self):
        return jax.nn.one_hot(self.table, self.num_states, dtype=float)

    def chain(self, policy):
        return DenseKernel(self.dense()).chain(policy)

    def available(self):
        return jnp.ones(self.table.shape, bool)

    def to_sparse(self):
        return scipy.sparse.csr_array(np.eye(self.num_states)[np.asarray(self.table).ravel()])

    def worst_case(self, value, radius):
        return DenseKernel(self.dense()).worst_case(value, radius)


def test_a_kernel():
    table = np.array([[0, 1], [0, 2], [1, 2]])
    ours, dense = (MDP(kernel, discount=0.9) for kernel in (TableKernel(table=table), np.eye(3)[table]))
    reward = [0.0, -1.0, 2.0]
    found, expected = (planning.solve(world, reward) for world in (ours, dense))
    assert np.allclose(found.value, expected.value, atol=1e-9)
    rho = [planning.state_occupancy(world, expected.player) for world in (ours, dense)]
    assert np.allclose(*rho, atol=1e-12)


class TwoSweeps(planning.Newton):
    """Newton's method with two sweeps of value iteration before it: a solver made of another."""

    def steps(self, problem, memory, max_steps):
        value = problem.start
        for _ in range(2):
            value = problem.backup(value).value
        return super().steps(eqx.tree_at(lambda p: p.start, problem, value), memory, max_steps)


def test_a_solver():
    world = MDP(np.eye(3)[np.array([[0, 1], [0, 2], [1, 2]])], discount=0.9)
    found, expected = (planning.solve(world, [0.0, -1.0, 2.0], solver=solver) for solver in (TwoSweeps(), None))
    assert np.allclose(found.value, expected.value, atol=1e-9)
    assert found.verdict.converged
    rho = planning.state_occupancy(world, expected.player)
    fits = [irl.fit(world, rho, alpha=1.0, solver=solver) for solver in (TwoSweeps(), None)]
    assert np.allclose(*(fit.player for fit in fits), atol=1e-4)


def test_a_figure(tmp_path):
    from matplotlib.figure import Figure

    from robustirl.plotting import save_figure

    figure = Figure()
    figure.subplots().plot([1, 2])
    assert [path.suffix for path in save_figure(figure, tmp_path / "line")] == [".png", ".svg"]
