"""The paper's two rules for α beside the α that turned out best, on the grids.

For every pair of noises: 1 - d/2 (Section 5), the corollary's α for the opponent of the true reward's game, and which
of the tried α gave the highest return in the learner's world.
"""

import dataclasses

from experiments.paper.finite import context, grid_of_specs, run
from experiments.runner import Where
from experiments.tables import Output, grouped
from robustirl import envs
from robustirl.envs.noise import UNIFORM_STATE
from robustirl.irl.fit import PAPER_STEPS
from robustirl.theory import choose_alpha
from robustirl.theory.bounds import worst_opponent_world


@dataclasses.dataclass(frozen=True)
class Study:
    """Set the paper's two rules for α beside the α that turned out best."""

    environments: tuple[str, ...] = ()
    """Which environments; the gridworlds if omitted."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""

    def run(self, out: Output, where: Where) -> None:
        """Run every α of the paper on every pair of noises, and write the table."""
        names = self.environments or [name for name in envs.names() if name.startswith("gridworld")]
        specs = [spec for name in names for spec in grid_of_specs(name, UNIFORM_STATE, steps=self.steps)]
        records, rows = run(specs, out.folder, where), []
        for name, own in grouped(records, lambda r: r.spec.environment).items():
            lab = context(name, UNIFORM_STATE, own[0].spec.expert)
            for (learner, expert), pair in grouped(own, lambda r: (r.spec.learner_noise, r.spec.expert_noise)).items():
                star = worst_opponent_world(lab.world(learner), lab.reward, alpha=0.9)
                choice = choose_alpha(lab.world(learner), lab.world(expert), opponent_world=star)
                corollary = 1.0 if choice.corollary is None else choice.corollary
                best = max(pair, key=lambda record: record.total_return)
                rules = f"{choice.half_distance:.3f}", f"{corollary:.3f}"
                rows.append((name, learner, expert, *rules, best.spec.alpha, f"{best.total_return:.1f}"))
        out.table(
            "alpha-rules", ("environment", "ε_L", "ε_E", "1 - d/2", "corollary", "best tried", "its return"), rows
        )
