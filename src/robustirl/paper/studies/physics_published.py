"""The published figures of robust imitation from observation, and ours beside them.

They are returns in the expert's world by the learner's mass, as the authors of robust GAIfO (Viano et al., 2022) stored
them: means of two or three seeds, with α chosen afterwards.
"""

from collections.abc import Iterable, Mapping

from robustirl.paper.statistics import interquartile_mean
from robustirl.paper.studies.physics_runs import PhysicsRecord

FACTORS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
EPISODES = 16
"""The number of our demonstrations that is compared."""

PUBLISHED: Mapping[str, Mapping[float, tuple[int | None, ...]]] = {
    "inverted-double-pendulum": {1.0: (8765, 9353, 9186, None, 9184, 7218), 0.9: (636, 922, 884, None, 680, 751)},
    "hopper": {1.0: (648, 916, 1186, 1160, 975, 937), 0.98: (790, 1083, 1462, 1628, 1915, 212)},
    "half-cheetah": {1.0: (1423, 1560, 2654, 898, 835, 248), 0.96: (1143, 4052, 1930, 2899, 1806, 413)},
    "walker-2d": {1.0: (274, 474, 2631, None, 1483, 345), 0.97: (577, 1038, 3673, None, 660, 605)},
}
"""By world and α, a return for each factor; None where none was stored."""

COLUMNS = ("world", "whose", "α", *(f"× {factor:g}" for factor in FACTORS))


def published_rows(records: Iterable[PhysicsRecord]) -> list[tuple[object, ...]]:
    """Return table rows: per world the published figures, then interquartile means of our seeds.

    Worlds without runs of ours, levels that one side does not have, and other parameters are left empty or out.
    """
    ours: dict[tuple[str, float], dict[float, list[float]]] = {}
    for record in records:
        spec = record.spec
        if spec.parameter == "mass" and spec.episodes == EPISODES and spec.method.startswith("alpha="):
            levels = ours.setdefault((spec.world, spec.alpha or 1.0), {})
            levels.setdefault(spec.factor, []).append(record.expert_return)
    rows: list[tuple[object, ...]] = []
    for world, theirs in PUBLISHED.items():
        own = sorted((alpha for name, alpha in ours if name == world), reverse=True)
        if not own:
            continue
        rows += [(world, "published", f"{alpha:g}", *map(_shown, values)) for alpha, values in theirs.items()]
        for alpha in own:
            levels = ours[world, alpha]
            means = [float(interquartile_mean(levels[factor])) if factor in levels else None for factor in FACTORS]
            rows.append((world, "ours", f"{alpha:g}", *map(_shown, means)))
    return rows


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"
