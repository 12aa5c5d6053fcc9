"""Where robust beats standard, by how much, and where it costs: the numbers behind the report's table.

A regret is the return given up against the optimal policy of the learner's world, as a fraction of the size of the
optimal return.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from experiments.paper.finite import Record

REGIMES = ("expert noisier", "same noise", "expert calmer")
NOTICEABLE = 0.01  # A difference of regrets below this is a draw.


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Standard against robust in one environment, under one kernel, in one regime of mismatch.

    Attributes:
        environment: Its name.
        noise_model: The kernel.
        regime: Whether the expert's noise is larger than the learner's, the same or smaller.
        cells: How many pairs of noises.
        standard: Mean regret of α = 1.
        rule: Mean regret of the tried α nearest to 1 - |ε_E - ε_L|, which needs both noises.
        fixed: Mean regret of the one α below 1 that is best over all of the environment's cells.
        fixed_alpha: That α.
        wins: Cells in which the fixed α is noticeably better than standard.
        losses: Cells in which it is noticeably worse.
    """

    environment: str
    noise_model: str
    regime: str
    cells: int
    standard: float
    rule: float
    fixed: float
    fixed_alpha: float
    wins: int
    losses: int


def best_alpha(records: Sequence[Record]) -> float | None:
    """Return the α below 1 whose mean return over these records is largest."""
    means = {
        alpha: np.mean([record.total_return for record in records if record.spec.alpha == alpha])
        for alpha in sorted({record.spec.alpha for record in records if record.spec.alpha < 1})
    }
    return max(means, key=lambda alpha: means[alpha]) if means else None


def rule_alpha(learner_noise: float, expert_noise: float, alphas: Sequence[float]) -> float:
    """Return of these the α nearest to the paper's advice, 1 - α ≈ |ε_L - ε_E|.

    Of two that are equally near it is the larger.
    """
    wanted = 1 - abs(learner_noise - expert_noise)
    return min(sorted(alphas, reverse=True), key=lambda alpha: round(abs(alpha - wanted), 9))


def regret(record: Record) -> float:
    """(optimal - return) / |optimal|."""
    return (record.optimal_return - record.total_return) / max(abs(record.optimal_return), 1e-12)


def compare_with_standard(records: Sequence[Record]) -> list[Comparison]:
    """Return a row per environment, kernel and regime that have both standard and robust runs."""
    rows = []
    for name, model in dict.fromkeys((r.spec.environment, r.spec.noise_model) for r in records):
        own = [r for r in records if (r.spec.environment, r.spec.noise_model) == (name, model)]
        alphas = sorted({r.spec.alpha for r in own}, reverse=True)
        fixed = best_alpha(own)
        if fixed is None or 1.0 not in alphas:
            continue
        cells = {(r.spec.seed, r.spec.learner_noise, r.spec.expert_noise, r.spec.alpha): regret(r) for r in own}
        pairs = list(dict.fromkeys(key[:3] for key in cells))
        for regime in REGIMES:
            chosen = [pair for pair in pairs if _regime(*pair[1:]) == regime]
            if not chosen:
                continue
            standard = np.array([cells[*pair, 1.0] for pair in chosen])
            robust = np.array([cells[*pair, fixed] for pair in chosen])
            rule = [cells[*pair, rule_alpha(pair[1], pair[2], alphas)] for pair in chosen]
            rows.append(
                Comparison(
                    name,
                    model,
                    regime,
                    len(chosen),
                    float(standard.mean()),
                    float(np.mean(rule)),
                    float(robust.mean()),
                    fixed,
                    int((robust < standard - NOTICEABLE).sum()),
                    int((robust > standard + NOTICEABLE).sum()),
                )
            )
    return rows


def _regime(learner: float, expert: float) -> str:
    return REGIMES[0] if expert > learner else REGIMES[1] if expert == learner else REGIMES[2]
