"""The figure of the README: standard against robust IRL as the expert's world grows noisier than the learner's.

Every learner is given the same thousand walks of the expert, as states without actions, and nothing else; its policy is
then judged in its own world by the true reward. The robust learner reads α off the walks (`alpha="auto"`).
"""

import dataclasses
from collections.abc import Sequence

from robustirl.envs.noise import UNIFORM_STATE
from robustirl.irl import PAPER_STEPS
from robustirl.mdp import as_count
from robustirl.paper.finite.specs import RunSpec
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.paper.studies.toy_text import table_of

ENVIRONMENT = "gridworld-1"
NOISES = tuple(round(0.02 * step, 2) for step in range(11))
ALPHAS = (1.0, 0.8)
TRAJECTORIES = 1000
DRAWS = 5


def specs_of(
    noises: Sequence[float] = NOISES,
    *,
    draws: int = DRAWS,
    trajectories: int = TRAJECTORIES,
    steps: int = PAPER_STEPS,
) -> tuple[RunSpec, ...]:
    """Return the runs: per noise and draw, each fixed α and the one estimated from the walks.

    Example:
        >>> [(spec.alpha, spec.auto) for spec in specs_of([0.2], draws=1)]
        [(1.0, ''), (0.8, ''), (1.0, 'states')]
    """
    return tuple(
        RunSpec(
            ENVIRONMENT,
            UNIFORM_STATE,
            0.0,
            noise,
            alpha,
            steps=steps,
            demonstrations=trajectories,
            draw=draw,
            auto=auto,
        )
        for noise in noises
        for draw in range(draws)
        for alpha, auto in (*((alpha, "") for alpha in ALPHAS), (1.0, "states"))
    )


@register_study("readme-figure")
@dataclasses.dataclass(frozen=True)
class ReadmeFigureStudy:
    """Draw the README's figure: standard against robust IRL as the expert's world grows noisier."""

    draws: int = DRAWS
    """How many draws of the demonstrations."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""

    def run(self, frame: Frame) -> None:
        """Run, draw, and write the numbers behind the figure."""
        as_count("--draws", self.draws, 2)
        records = frame.compute(specs_of(draws=self.draws, steps=self.steps))
        from robustirl.paper.figures import figure_front  # Here, so that only drawing loads matplotlib.

        frame.write_table("front", *table_of(records))
        frame.save_figure("front", figure_front(records))
