"""The picture of the README: standard against robust IRL as the expert's world grows noisier than the learner's.

Every learner is given the same thousand walks of the expert, as states without actions, and nothing else; its policy is
then evaluated in its own world by the true reward. The robust learner chooses α from the walks (`alpha="auto"`).
"""

import dataclasses
from collections.abc import Sequence

from experiments.paper.finite import Record, RunSpec, run
from experiments.runner import Where
from experiments.tables import Interval, Output, grouped, interval
from robustirl.envs.noise import UNIFORM_STATE
from robustirl.errors import InvalidInputError
from robustirl.irl.fit import PAPER_STEPS

ENVIRONMENT = "gridworld-1"
NOISES = tuple(round(0.02 * step, 2) for step in range(11))
ALPHAS = (1.0, 0.8)
TRAJECTORIES = 1000
AUTO = "auto"


def specs(
    noises: Sequence[float] = NOISES, *, draws: int = 5, trajectories: int = TRAJECTORIES, steps: int = PAPER_STEPS
) -> tuple[RunSpec, ...]:
    """Return the runs: per noise and draw, each fixed α and the one estimated from the walks.

    Example:
        >>> [(spec.alpha, spec.auto) for spec in specs([0.2], draws=1)]
        [(1.0, ''), (0.8, ''), (1.0, 'states')]
    """
    choices = (*((alpha, "") for alpha in ALPHAS), (1.0, "states"))
    return tuple(
        RunSpec(
            ENVIRONMENT, UNIFORM_STATE, 0.0, noise, a, steps=steps, demonstrations=trajectories, draw=draw, auto=auto
        )
        for noise in noises
        for draw in range(draws)
        for a, auto in choices
    )


def cells(records: Sequence[Record]) -> dict[tuple[float, str], Interval]:
    """Return mean return over draws with its interval by (ε_E, α or auto)."""
    groups = grouped(records, lambda r: (r.spec.expert_noise, AUTO if r.spec.auto else f"{r.spec.alpha:g}"))
    return {key: interval([r.total_return for r in own]) for key, own in groups.items()}


@dataclasses.dataclass(frozen=True)
class Study:
    """Draw the picture of the README: standard against robust IRL as the expert's world grows noisier."""

    draws: int = 5
    """How many draws of the demonstrations."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""

    def run(self, out: Output, where: Where) -> None:
        """Run, draw, and write the numbers behind the figure."""
        if self.draws < 2:
            raise InvalidInputError(f"--draws is {self.draws}, but at least 2 are needed.")
        records = run(specs(draws=self.draws, steps=self.steps), out.folder, where)
        found = cells(records)
        choices = list(dict.fromkeys(choice for _, choice in found))
        rows = [(noise, *(found[noise, choice] for choice in choices)) for noise in dict.fromkeys(n for n, _ in found)]
        out.table("front", ("ε_E", *choices), rows)
        from experiments.figures.front import figure_front  # Here, so that only drawing loads matplotlib.

        out.figure("front", figure_front(records[0], found))
