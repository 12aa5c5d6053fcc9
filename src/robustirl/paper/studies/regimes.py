"""When does robustness pay in continuous worlds? Standard against robust relative-entropy IRL over many mismatches.

A condition is an expert's world, a learner's world, a number of demonstrations and the settings of the algorithm. In
each, standard (α = 1) and robust learners are fitted to the same demonstrations with the same keys, over several
seeds. A robust α pays where its 95 % interval of mean returns lies above that of α = 1, and hurts where it lies below.

    python -m robustirl.paper.studies.regimes --out out/regimes strength direction demonstrations
"""

import argparse
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from robustirl._runtime import enable_x64, write_atomically
from robustirl.control import (
    EXPERT,
    PolicyGradientConfig,
    RewardedWorld,
    Training,
    collect,
    evaluate,
    initial_players,
    train_expert,
)
from robustirl.irl import RelativeEntropyConfig, expert_features, fit_relative_entropy_many
from robustirl.paper.studies.regime_results import Outcome, findings, from_csv, to_csv, to_markdown

PLENTY = 1000
"""Demonstrations where their number is not the question."""
EXPERT_ATTEMPTS = 3
"""Trainings of an expert, of which the best counts."""

DEFAULTS = RelativeEntropyConfig()


@dataclasses.dataclass(frozen=True)
class Condition:
    """One comparison of standard and robust learners.

    Attributes:
        group: The question it belongs to.
        name: What it is, in a few words.
        expert: The expert's world M^E.
        learner: The learner's world M^L, where returns are measured.
        demonstrations: Episodes of the expert.
        alphas: The α compared; one is the standard.
        config: The settings of relative-entropy IRL.
        training: How the expert is trained.
        horizon: The longest episode of demonstrations and of the evaluation.
    """

    group: str
    name: str
    expert: RewardedWorld
    learner: RewardedWorld
    demonstrations: int = PLENTY
    alphas: tuple[float, ...] = (1.0, 0.85)
    config: RelativeEntropyConfig = DEFAULTS
    training: PolicyGradientConfig = EXPERT
    horizon: int = 1000


Say = Callable[[str], object]


def study(
    conditions: Iterable[Condition],
    *,
    seeds: int,
    key: PRNGKeyArray,
    experts: dict[tuple[Any, ...], Training] | None = None,
    say: Say = lambda _: None,
) -> Iterator[list[Outcome]]:
    """The outcomes of one condition after the other.

    Experts are trained once per world, and kept in `experts` for further studies. Two more returns stand beside every
    outcome: the expert's in its own world, and that of the expert's policy carried over to the learner's world as it
    is, which is what imitation without a reward would give.
    """
    experts = {} if experts is None else experts
    train_key, demo_key, fit_key, test_key = jax.random.split(key, 4)
    for condition in conditions:
        say(f"{condition.group}: {condition.name}")
        place = _identity(condition.expert, condition.training)
        if place not in experts:
            start = initial_players(condition.expert, condition.config.deviation).player
            experts[place] = train_expert(
                condition.expert, config=condition.training, start=start, attempts=EXPERT_ATTEMPTS, key=train_key
            )
        expert = experts[place].player
        yield _outcomes(condition, expert, seeds, demo_key, fit_key, test_key)


def _identity(world: RewardedWorld, training: PolicyGradientConfig) -> tuple[Any, ...]:
    """What tells worlds apart: their kind, their numbers, and how experts are trained in them."""
    return jax.tree.structure(world), tuple(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(world)), training


def _outcomes(condition: Condition, expert, seeds: int, demo_key, fit_key, test_key) -> list[Outcome]:
    config, learner = condition.config, condition.learner
    features = [
        expert_features(
            collect(condition.expert, expert, episodes=condition.demonstrations, horizon=condition.horizon, key=k),
            condition.expert.discount,
            config,
        )
        for k in jax.random.split(demo_key, seeds)
    ]
    fit_keys = list(jax.random.split(fit_key, seeds))
    pairs = [(alpha, seed) for alpha in condition.alphas for seed in range(seeds)]
    fits = fit_relative_entropy_many(
        [learner] * len(pairs),
        [features[seed] for _, seed in pairs],
        [alpha for alpha, _ in pairs],
        config=config,
        keys=[fit_keys[seed] for _, seed in pairs],
        throw=False,
    )

    def measure(world: RewardedWorld, policy):
        return evaluate(world, policy, horizon=condition.horizon, key=test_key)

    own, copied = (float(measure(world, expert).mean_return) for world in (condition.expert, learner))
    rows = []
    for (alpha, seed), fit in zip(pairs, fits, strict=True):
        found = measure(learner, fit.player)
        rows.append(
            Outcome(
                condition.group,
                condition.name,
                alpha,
                seed,
                float(found.mean_return),
                float(found.goal_share),
                float(fit.verdict.feature_gap),
                fit.verdict.status.value,
                own,
                copied,
            )
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study, or what is left of it; print its table, and draw its figure."""
    from robustirl.paper.studies.regime_conditions import GROUPS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/regimes"))
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("groups", nargs="*", help=f"from {', '.join(GROUPS)}; all of them when left out")
    options = parser.parse_args(arguments)
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"there is no group {min(unknown)!r}; choose from {', '.join(GROUPS)}.")
    if options.seeds < 2:
        parser.error(f"--seeds is {options.seeds}, but an interval needs at least 2.")
    enable_x64()
    options.out.mkdir(parents=True, exist_ok=True)
    experts: dict[tuple[Any, ...], Training] = {}
    for group in options.groups or GROUPS:
        path = options.out / f"{group}-{options.seeds}-seeds.csv"
        done = from_csv(path) if path.exists() else []
        missing = [c for c in GROUPS[group]() if (c.group, c.name) not in {(row.group, row.name) for row in done}]
        for rows in study(missing, seeds=options.seeds, key=jax.random.key(0), experts=experts, say=print):
            done += rows
            write_atomically(path, to_csv(done))
        write_atomically(path.with_suffix(".md"), to_markdown(done))
        print(to_markdown(done))
        from robustirl.paper.figures.regimes import figure_regimes
        from robustirl.plotting import save_figure

        save_figure(figure_regimes(findings(done)), path.with_suffix(""))
