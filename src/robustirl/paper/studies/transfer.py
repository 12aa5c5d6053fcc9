r"""How far does a learned reward carry? Learn it in one world, plan with it in changed ones, measure the regret.

A lesson is a learner's world and demonstrations by experts; a method turns it into a reward (`transfer_methods.py`, one
function each). The reward is planned with in a family of changed worlds (`transfer_families.py`). The regret of the
optimal policy π for it, by the true reward, is a share of what separates the best policy from a plain one there: a
random one, or for buses one that never replaces an engine.

    regret = (V* - V^π) / (V* - V^plain).
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.paper.studies.transfer_families import FAMILIES, Change, Family, make_family, random_policy
from robustirl.paper.studies.transfer_methods import METHODS, load_methods
from robustirl.planning import discounted_return, expert_policy


class Regrets(NamedTuple):
    """What every method loses in every changed world.

    Attributes:
        methods: `M` names.
        changes: `C` changed worlds.
        values: `[M, C, N]`, the regrets of N draws.
    """

    methods: tuple[str, ...]
    changes: tuple[Change, ...]
    values: Float[np.ndarray, "M C N"]


def regret(
    world: MDP, reward: np.ndarray, learned: np.ndarray, plain: Callable[[MDP], np.ndarray] = random_policy
) -> float:
    """Return how much of what can be gained over a plain policy the optimal one for a learned reward misses.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.5)
        >>> truth = np.array([[0.0, 1.0]])
        >>> regret(world, truth, truth), regret(world, truth, -truth)
        (0.0, 2.0)
    """
    policies = (
        expert_policy(world, reward, temperature=0),
        expert_policy(world, learned, temperature=0),
        plain(world),
    )
    best, own, least = (float(discounted_return(world, policy, reward)) for policy in policies)
    # A learned reward may tie with the truth, where rounding decides the sign.
    return max(best - own, 0.0) / (best - least) if best > least else 0.0


def measure(family: Family, episodes: int, draws: int, frame: Frame) -> Regrets:
    """Learn by every method from every draw of the demonstrations, and plan in every changed world."""
    regrets = np.zeros((len(METHODS), len(family.changes), draws))
    for draw in range(draws):
        lesson = family.lesson(episodes, draw)
        for m, (name, method) in enumerate(METHODS.items()):
            learned = as_learned(name, method(lesson), lesson.world)
            regrets[m, :, draw] = [
                regret(change.world, family.reward, learned, family.baseline) for change in family.changes
            ]
            frame.progress(f"learning on {family.name}", draw * len(METHODS) + m + 1, draws * len(METHODS))
    return Regrets(tuple(METHODS), family.changes, regrets)


def as_learned(name: str, reward: Any, world: MDP) -> Float[np.ndarray, " S"] | Float[np.ndarray, "S A"]:
    """Return what a method gave as a reward, or refuse it by the method's name.

    Example:
        >>> as_learned("mine", [1.0, 2.0], MDP([[[1.0], [1.0]]], discount=0.5))
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the method 'mine' returned a reward of shape (2,), but finite numbers of
            shape (1,) or (1, 2) are needed.
    """
    learned = np.asarray(reward)
    shapes = ((world.num_states,), (world.num_states, world.num_actions))
    if learned.shape not in shapes or learned.dtype.kind not in "iuf" or not np.isfinite(learned).all():
        shown = (
            f"of shape {learned.shape}" if learned.shape not in shapes else "with entries that are no finite numbers"
        )
        raise InvalidInputError(
            f"the method {name!r} returned a reward {shown}, but finite numbers of shape {shapes[0]} or {shapes[1]} are"
            " needed."
        )
    return learned.astype(np.float64)


def interval(values: Float[np.ndarray, " N"]) -> tuple[float, float]:
    """Return a mean over draws, and the half width of its 95 % interval (Student's t); NaN for a single draw.

    Example:
        >>> mean, width = interval(np.array([0.1, 0.2, 0.3]))  # 4.303 · 0.1 / √3
        >>> round(mean, 3), round(width, 3)
        (0.2, 0.248)
    """
    from scipy.stats import t  # Here, so that listing the studies stays light.

    count = values.size
    if count < 2:
        return float(values.mean()), float("nan")
    return float(values.mean()), float(t.ppf(0.975, count - 1) * values.std(ddof=1) / np.sqrt(count))


@register_study("transfer", aliases=("reward-transfer",))
@dataclasses.dataclass(frozen=True)
class RewardTransfer:
    """Plan with learned rewards in changed worlds: noise, blocked cells, starts, actions, slips, bus groups."""

    families: tuple[str, ...] = tuple(FAMILIES)
    """Which families of worlds: gridworld, frozen-lake, buses."""
    episodes: int = 200
    """How many episodes each expert records."""
    draws: int = 10
    """How many times demonstrations are drawn."""

    def run(self, frame: Frame) -> None:
        """Learn, plan, and write tables and curves of regrets."""
        from robustirl.paper.figures import figure_regrets  # Here, because it loads matplotlib.

        for name in self.families:
            if name not in FAMILIES:
                known = ", ".join(FAMILIES)
                raise InvalidInputError(f"there is no family {name!r}; choose of {known}.")
        for name, value in (("--draws", self.draws), ("--episodes", self.episodes)):
            if value < 1:
                raise InvalidInputError(f"{name} is {value}, but at least 1 is needed.")
        load_methods()
        found = [measure(make_family(name), self.episodes, self.draws, frame) for name in self.families]
        rows = []
        for part in found:
            for c, change in enumerate(part.changes):
                pairs = [interval(part.values[m, c]) for m in range(len(part.methods))]
                rows.append((change.kind, f"{change.strength:.3g}", *(f"{mean:.4f} ± {w:.4f}" for mean, w in pairs)))
        frame.write_table("transfer", ("change", "strength", *METHODS), rows)
        frame.write_table("transfer-summary", ("change", *METHODS), summarize(found), "Mean regret over strengths")
        frame.save_figure("transfer", figure_regrets(curves(found)))


def summarize(found: list[Regrets]) -> list[tuple[str, ...]]:
    """Return the mean regret over the strengths of every kind of change, with its interval over draws."""
    rows = []
    for part in found:
        for kind in dict.fromkeys(change.kind for change in part.changes):
            own = [c for c, change in enumerate(part.changes) if change.kind == kind]
            pairs = [interval(values[own].mean(0)) for values in part.values]
            rows.append((kind, *(f"{mean:.4f} ± {width:.4f}" for mean, width in pairs)))
    return rows


def curves(found: list[Regrets]) -> dict[str, dict[str, list[tuple[float, float, float]]]]:
    """Return for every kind of change and method: strength, mean and half width of its interval."""
    drawn: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for part in found:
        for c, change in enumerate(part.changes):
            for m, method in enumerate(part.methods):
                point = (change.strength, *interval(part.values[m, c]))
                drawn.setdefault(change.kind, {}).setdefault(method, []).append(point)
    return drawn
