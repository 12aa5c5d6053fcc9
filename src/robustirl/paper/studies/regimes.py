"""When does robustness pay in continuous worlds? Standard against robust relative-entropy IRL over many mismatches.

A condition is an expert's world, a learner's world, a number of demonstrations and the settings of the algorithm. In
each, standard (α = 1) and robust learners are fitted to the same demonstrations with the same keys, over several
seeds. A robust α pays where its 95 % interval of mean returns lies above that of α = 1, and hurts where it lies below.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from robustirl.control import PolicyGradientConfig, RewardedWorld, collect, evaluate, initial_players, train_expert
from robustirl.errors import InvalidInputError
from robustirl.irl import expert_features, fit_relative_entropy_many
from robustirl.mdp import as_count
from robustirl.paper.studies.regime_conditions import GROUPS, Condition, find_condition
from robustirl.paper.studies.regime_results import COLUMNS, RegimeRecord, RegimeSpec, condition_results, rows_of
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.sweeps import Kind, RunResult, register

EXPERT_ATTEMPTS = 3
"""Trainings of an expert, of which the best counts."""


def specs_of(group: str, seeds: int) -> tuple[RegimeSpec, ...]:
    """Return the fits of a group, condition by condition.

    Example:
        >>> len(specs_of("demonstrations", 2)), specs_of("demonstrations", 2)[1].seed
        (12, 1)
    """
    return tuple(
        RegimeSpec(group, condition.name, alpha, seed, seeds)
        for condition in GROUPS[group]()
        for alpha in condition.alphas
        for seed in range(seeds)
    )


class RegimeContext:
    """Compute the fits of one condition after the other; train an expert once for each world."""

    def __init__(self, key: PRNGKeyArray):
        self._train_key, self._demo_key, self._fit_key, self._test_key = jax.random.split(key, 4)
        self._experts: dict[tuple[Any, ...], Any] = {}

    def results(self, specs: Sequence[RegimeSpec], size: int) -> list[RunResult]:  # noqa: ARG002
        """Fit all α and seeds of one condition in one compiled call, and measure the players.

        Two more returns stand beside every fit: the expert's in its own world, and that of the expert's policy, used
        unchanged in the learner's world, which is what imitation without a reward would give.
        """
        condition, seeds = find_condition(specs[0].group, specs[0].condition), specs[0].seeds
        config, learner = condition.config, condition.learner
        expert = self._expert(condition)
        features = [
            expert_features(
                collect(condition.expert, expert, episodes=condition.demonstrations, horizon=condition.horizon, key=k),
                condition.expert.discount,
                config,
            )
            for k in jax.random.split(self._demo_key, seeds)
        ]
        fit_keys = list(jax.random.split(self._fit_key, seeds))
        fits = fit_relative_entropy_many(
            [learner] * len(specs),
            [features[spec.seed] for spec in specs],
            [spec.alpha for spec in specs],
            config=config,
            keys=[fit_keys[spec.seed] for spec in specs],
            throw=False,
        )

        def measure(world: RewardedWorld, policy: Any) -> Any:
            return evaluate(world, policy, horizon=condition.horizon, key=self._test_key)

        own, copied = (float(measure(world, expert).mean_return) for world in (condition.expert, learner))
        results = []
        for spec, fit in zip(specs, fits, strict=True):
            found = measure(learner, fit.player)
            record = RegimeRecord(
                spec=spec,
                mean_return=float(found.mean_return),
                goal_share=float(found.goal_share),
                feature_gap=float(fit.verdict.feature_gap),
                expert_return=own,
                copied_return=copied,
                verdict=fit.verdict.status.value,
                seconds=0.0,
            )
            results.append(RunResult(record, {"parameters": np.asarray(fit.parameters)}))
        return results

    def _expert(self, condition: Condition) -> Any:
        identity = _identity(condition.expert, condition.training)
        if identity not in self._experts:
            start = initial_players(condition.expert, condition.config.deviation).player
            training = train_expert(
                condition.expert,
                config=condition.training,
                start=start,
                attempts=EXPERT_ATTEMPTS,
                key=self._train_key,
            )
            self._experts[identity] = training.player
        return self._experts[identity]


def _identity(world: RewardedWorld, training: PolicyGradientConfig) -> tuple[Any, ...]:
    """Return what tells worlds apart: kind, numbers, and how experts are trained in them."""
    return jax.tree.structure(world), tuple(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(world)), training


REGIMES = register(
    Kind(
        "regime",
        RegimeSpec,
        RegimeRecord,
        table="results",
        activity="conditions",
        cpu_batch=1000,  # All α and seeds of a condition are one batch: they share the expert's demonstrations.
        gpu_batch=1000,
        min_batches_for_pool=1000,  # One process, which trains an expert once and uses all cores for a batch.
        warm_up=False,
        batch_key=lambda spec: (spec.group, spec.condition),
        program_key=lambda spec: (spec.group, spec.condition),
        context_key=lambda _: None,
        make_context=lambda *_: RegimeContext(jax.random.key(0)),
    )
)


@register_study("regimes")
@dataclasses.dataclass(frozen=True)
class RegimesStudy:
    """Find out when robust relative-entropy IRL is better than standard in continuous worlds."""

    groups: tuple[str, ...] = ()
    """Which questions: optimization, pairs, strength, direction, demonstrations, pendulum; all if omitted."""
    seeds: int = 6
    """How many seeds a condition, at least 2."""

    def run(self, frame: Frame) -> None:
        """Run the groups, each in a folder of its own, and write a table and a figure for each."""
        as_count("--seeds", self.seeds, 2)
        if unknown := set(self.groups) - set(GROUPS):
            raise InvalidInputError(f"there is no group {min(unknown)!r}; choose from {', '.join(GROUPS)}.")
        from robustirl.paper.figures.regimes import figure_regimes  # Here, so that only drawing loads matplotlib.

        for group in self.groups or GROUPS:
            name = f"{group}-{self.seeds}-seeds"
            records = frame.compute(specs_of(group, self.seeds), name)
            frame.write_table(f"{name}/{name}", COLUMNS, rows_of(records))
            frame.save_figure(f"{name}/{name}", figure_regimes(condition_results(records)))
