"""Robust imitation from observation in worlds whose bodies differ: when does an opponent pay?

The expert acts in the usual world, the learner in one whose mass (or friction, ...) is a multiple of that. Beside
robust imitation at several α stand imitation without an opponent (α = 1, GAIfO), domain randomization, behavior
cloning, and the expert's own policy carried over. Every policy is measured in both worlds: the learner's, as in the
paper, and the expert's, as in sim to real. Returns are normalized by a policy that does nothing (0) and the expert of
the judged world (1).
"""

import dataclasses

from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count
from robustirl.paper.studies.physics_results import COLUMNS, rows_of
from robustirl.paper.studies.physics_runs import SCALES, specs_of
from robustirl.paper.studies.registry import Frame, register_study


@register_study("physics")
@dataclasses.dataclass(frozen=True)
class PhysicsStudy:
    """Compare robust imitation with GAIfO, domain randomization, cloning and carrying over, across changed bodies."""

    worlds: tuple[str, ...] = ("cart-pole-swing-up",)
    """cart-pole-swing-up, double-pendulum; by MuJoCo inverted-double-pendulum, hopper, half-cheetah, walker-2d."""
    parameter: str = "mass"
    """What differs: mass, friction, damping, length or gravity."""
    factors: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0)
    """The learner's value as multiples of the expert's."""
    alphas: tuple[float, ...] = (1.0, 0.98, 0.95)
    """Values of α."""
    episodes: int = 16
    """Demonstrations, of states alone."""
    seeds: int = 10
    """Seeds of every cell."""
    expert_steps: int | None = None
    """Steps of an expert's training; by world if left out."""
    steps: int | None = None
    """Steps of an imitation; by world if left out."""

    def run(self, frame: Frame) -> None:
        """Run what is missing, and write a table and a figure."""
        as_count("--seeds", self.seeds, 1)
        as_count("--episodes", self.episodes, 1)
        for option, steps in (("--expert-steps", self.expert_steps), ("--steps", self.steps)):
            if steps is not None:
                as_count(option, steps, max(scale.ppo.batch for scale in SCALES.values()))
        for name in self.worlds:
            if name not in SCALES:
                raise InvalidInputError(f"there is no world {name!r} in this study; choose among {', '.join(SCALES)}.")
        specs = [
            spec
            for name in self.worlds
            for spec in specs_of(
                name,
                self.parameter,
                self.factors,
                self.alphas,
                self.episodes,
                self.seeds,
                self.expert_steps,
                self.steps,
            )
        ]
        records = frame.compute(specs)
        frame.write_table("physics", COLUMNS, rows_of(records))
        from robustirl.paper.figures.physics import figure_physics  # Here, so that only drawing loads matplotlib.

        frame.save_figure("physics", figure_physics(records))
