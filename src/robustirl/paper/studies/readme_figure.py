"""The picture at the front door: standard against robust IRL as the expert's world grows noisier than the learner's.

Every learner is given the same thousand walks of the expert, as states without actions, and nothing else; its policy is
then judged in its own world by the true reward. The robust learner reads α off the walks (`alpha="auto"`).

    python -m robustirl.paper.studies.readme_figure --out out/front
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from robustirl._runtime import enable_x64, write_atomically
from robustirl.envs import UNIFORM_STATE
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite.specs import RunSpec
from robustirl.paper.studies.toy_text import to_markdown
from robustirl.sweeps import compute

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
    """The runs: at every noise of the expert, on every draw of its walks, each fixed α and the one read off the walks.

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


def main() -> None:
    """Run, draw, and print the numbers behind the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/front"), help="the folder to write to")
    arguments = parser.parse_args()
    enable_x64()
    outcome = compute(specs_of(), arguments.out, _say)
    if not outcome.complete:
        sys.exit("\ninterrupted; the same command goes on from here.")
    from robustirl.paper import figures  # Here, so that only drawing loads matplotlib.

    table = to_markdown(outcome.records)
    write_atomically(arguments.out / "front.md", table)
    written = figures.save_figure(figures.figure_front(outcome.records), arguments.out / "front")
    print(f"\n\n{table}\nwrote {', '.join(str(path) for path in written)}")


def _say(phase: str, done: int, of: int) -> None:
    print(f"\r{phase}: {done} of {of}", end="", flush=True)
