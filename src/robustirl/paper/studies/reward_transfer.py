r"""How far does a learned reward carry? Learn it in one world, plan with it in changed ones, measure the regret.

A lesson is a learner's world and demonstrations by experts; a method turns it into a reward, `[S]` or `[S, A]`. The
reward is planned with in a family of changed worlds. The regret of the optimal policy for it, by the true reward, is a
share of what separates the best policy from a random one there:

    regret = (V* - V^π) / (V* - V^uniform).

To add a method, write one function of a `Lesson` and register it:

    @register_method("mine")
    def mine(lesson):
        return my_reward(lesson.world, lesson.demonstrations)
"""

import dataclasses
from collections.abc import Callable, Iterator

import jax
import numpy as np

from robustirl import envs
from robustirl._runtime import double_precision
from robustirl.demonstrations import Demonstrations, estimate_occupancy, sample_demonstrations
from robustirl.errors import InvalidInputError
from robustirl.irl import fit, fit_jointly
from robustirl.mdp import MDP, uniform_policy
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.planning import discounted_return, expert_policy

HORIZON = 150
STRENGTHS = (0.0, 0.1, 0.2, 0.3)


@dataclasses.dataclass(frozen=True, eq=False)
class Lesson:
    """What a method may learn from.

    Attributes:
        world: The learner's world.
        demonstrations: What an expert did in a world that is a little noisier.
        others: Further experts with the same reward: their worlds and what they did.
    """

    world: MDP
    demonstrations: Demonstrations
    others: tuple[tuple[MDP, Demonstrations], ...]


Method = Callable[[Lesson], np.ndarray]
METHODS: dict[str, Method] = {}


def register_method(name: str) -> Callable[[Method], Method]:
    """Return a decorator that adds a method to the table."""

    def add(method: Method) -> Method:
        if name in METHODS:
            raise InvalidInputError(f"there is a method {name!r} already; choose another name.")
        METHODS[name] = method
        return method

    return add


@register_method("standard")
def standard(lesson: Lesson) -> np.ndarray:
    """Match the occupancy with α = 1."""
    rho = estimate_occupancy(lesson.demonstrations, lesson.world).occupancy
    return np.asarray(fit(lesson.world, rho, alpha=1.0, throw=False).reward)


@register_method("robust")
def robust(lesson: Lesson) -> np.ndarray:
    """Match the occupancy with α = 0.95."""
    rho = estimate_occupancy(lesson.demonstrations, lesson.world).occupancy
    return np.asarray(fit(lesson.world, rho, alpha=0.95, throw=False).reward)


@register_method("several experts")
def several_experts(lesson: Lesson) -> np.ndarray:
    """Match the occupancies of all experts at once, each in its own world."""
    worlds, demos = zip(*lesson.others, strict=True)
    rhos = [estimate_occupancy(demo, world).occupancy for world, demo in lesson.others]
    del demos
    return np.asarray(fit_jointly(worlds, rhos, throw=False).reward)


@register_method("likelihood")
def likelihood(lesson: Lesson) -> np.ndarray:
    """Make the recorded actions likely, with a weak prior."""
    found = fit(lesson.world, lesson.demonstrations, alpha=1.0, objective="likelihood", penalty=1.0, throw=False)
    return np.asarray(found.reward)


def changed_worlds(env: envs.GridWorld) -> Iterator[tuple[str, float, MDP]]:
    """Return worlds in which a reward of this grid is planned with: what was changed, how much, and the world."""
    for noise in STRENGTHS:
        yield "noise", noise, env.mdp(noise, "uniform-action")
    calm = env.mdp(0.0)
    kernel, size = np.asarray(calm.kernel.to_array()), calm.num_states
    rng = np.random.default_rng(0)
    order = rng.permutation(np.arange(1, size))
    for share in STRENGTHS[1:]:
        yield "blocked cells", share, _blocked(calm, kernel, order[: int(share * size)])
    for corner in (0.1, 0.5, 1.0):
        start = (1 - corner) * np.asarray(calm.initial) + corner * np.eye(size)[size - 1]
        yield "moved start", corner, MDP(kernel, discount=float(calm.discount), initial=start, mask=calm.mask)
    for share in STRENGTHS[1:]:
        yield "permuted actions", share, _permuted(calm, kernel, order[: int(share * size)])


def _blocked(world: MDP, kernel: np.ndarray, cells: np.ndarray) -> MDP:
    """Return the world in which moves into these cells stay where they are."""
    changed = kernel.copy()
    into = changed[:, :, cells].sum(-1)
    changed[:, :, cells] = 0
    places = np.arange(len(changed))
    changed[places, :, places] += into
    return MDP(changed, discount=float(world.discount), initial=world.initial, mask=world.mask)


def _permuted(world: MDP, kernel: np.ndarray, cells: np.ndarray) -> MDP:
    """Return the world in which the available actions of these cells do what the next one did."""
    changed, mask = kernel.copy(), np.asarray(world.mask)
    for cell in cells:
        available = np.flatnonzero(mask[cell])
        changed[cell, available] = kernel[cell, np.roll(available, 1)]
    return MDP(changed, discount=float(world.discount), initial=world.initial, mask=mask)


def regret(world: MDP, reward: np.ndarray, learned: np.ndarray) -> float:
    """Return how much of what can be gained over a random policy the optimal one for a learned reward misses.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.5)
        >>> truth = np.array([[0.0, 1.0]])
        >>> regret(world, truth, truth), regret(world, truth, -truth)
        (0.0, 2.0)
    """
    policies = (
        expert_policy(world, reward, kind="optimal"),
        expert_policy(world, learned, kind="optimal"),
        uniform_policy(world.mask),
    )
    best, own, random = (float(discounted_return(world, policy, reward)) for policy in policies)
    return (best - own) / (best - random) if best > random else 0.0


def make_lesson(env: envs.GridWorld, episodes: int, seed: int) -> Lesson:
    """Return a lesson: the calm world and an expert at noise 0.1; also two experts, at 0 and 0.1, in known worlds."""
    keys = jax.random.split(jax.random.key(seed), 2)
    recorded = []
    for noise, key in zip((0.0, 0.1), keys, strict=True):
        world = env.mdp(noise, "uniform-action")
        expert = expert_policy(world, env.reward, temperature=1.0)
        recorded.append((world, sample_demonstrations(world, expert, episodes=episodes, horizon=HORIZON, key=key)))
    return Lesson(recorded[0][0], recorded[1][1], tuple(recorded))


@register_study("reward-transfer")
@dataclasses.dataclass(frozen=True)
class RewardTransfer:
    """Plan with learned rewards in changed worlds: noise, blocked cells, moved starts, permuted actions."""

    environment: str = "gridworld-4"
    """A gridworld of the registry."""
    episodes: int = 200
    """How many episodes each expert records."""
    draws: int = 5
    """How many times demonstrations are drawn."""

    def run(self, frame: Frame) -> None:
        """Learn, plan, and write a table of regrets."""
        env = envs.make(self.environment)
        if not isinstance(env, envs.GridWorld):
            raise InvalidInputError(f"{self.environment} is no gridworld, which the changes are made for; choose one.")
        with double_precision():
            changes = list(changed_worlds(env))
        regrets = np.zeros((len(METHODS), len(changes), self.draws))
        for draw in range(self.draws):
            lesson = make_lesson(env, self.episodes, draw)
            for m, method in enumerate(METHODS.values()):
                learned = method(lesson)
                regrets[m, :, draw] = [regret(world, env.reward, learned) for _, _, world in changes]
                frame.progress("learning", draw * len(METHODS) + m + 1, self.draws * len(METHODS))
        rows = [
            (kind, f"{strength:g}", *(interval(regrets[m, c]) for m in range(len(METHODS))))
            for c, (kind, strength, _) in enumerate(changes)
        ]
        frame.write_table("reward-transfer", ("change", "strength", *METHODS), rows)


def interval(values: np.ndarray) -> str:
    """Return a mean with its range over draws.

    Example:
        >>> interval(np.array([0.1, 0.2, 0.3]))
        '0.200 (0.100 to 0.300)'
    """
    return f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})"
