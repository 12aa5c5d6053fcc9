"""`robustirl fit`."""

import dataclasses
from pathlib import Path
from typing import Literal

from robustirl._runtime import require_output_folder
from robustirl.cli.console import console, progress_bar
from robustirl.cli.log_options import LogOptions
from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER_STEPS, Step, Trust
from robustirl.mdp import as_count
from robustirl.reports import FitRequest, prepare_fit, write_fit


@dataclasses.dataclass(frozen=True)
class Fit(LogOptions):
    """Learn a reward and a policy from a file of demonstrations.

    The folder gets model.npz (read it with RobustIRL.load), policy.csv, reward.csv, summary.txt, fit.png and fit.svg,
    or nothing at all. The exit status is 1 if the verdict is "do not use".
    """

    env: str
    """The learner's world: an environment's name, a file of your own (world.npz with an array kernel, [S, A, S]), or
    the id of a Gymnasium environment with a table, as FrozenLake-v1."""
    demos: Path
    """The demonstrations: .npz, .jsonl, .csv or .parquet (see `robustirl demos`)."""
    out: Path
    """The folder to write to; a new or an empty one."""
    alpha: Literal["auto"] | float = "auto"
    """The player's chance of control: 1 is standard MCE IRL, auto estimates it from the demonstrations."""
    noise: float = 0.0
    """The noise of the learner's world."""
    noise_model: str | None = None
    """Which kernel the noise means; the environment's default when left out."""
    discount: float | None = None
    """The discount; the environment's when left out."""
    reward: Literal["tabular", "linear", "network"] | None = None
    """The reward model; what the environment calls for when left out."""
    steps: int = PAPER_STEPS
    """The largest number of parameter updates."""
    tolerance: float | None = None
    """Stop once the occupancy gap is this small; by default 1e-4 of the expert's mass in states that can be left."""
    tail: Literal["chain", "hold", "renormalize", "renormalise"] = "chain"
    """What follows the last state of a truncated episode: chain continues with the empirical transition rates, hold
    repeats the last state, renormalize drops what is unseen."""
    seed: int = 0
    """For the first weights of a reward network."""
    allow_import: bool = False
    """Let `--env module:Id` import that module, which runs its code."""


def run_fit(command: Fit) -> int:
    """Run the `fit` command."""
    require_output_folder(command.out)
    total = as_count("--steps", command.steps)
    if total == 0:
        raise InvalidInputError("--steps is 0, but learning takes at least one step; omit it for the default, 200.")
    options = {f.name: getattr(command, f.name) for f in dataclasses.fields(command) if f.name not in _OTHERS}
    request = FitRequest(
        environment=command.env, demonstrations=command.demos, table=command.table_options(), **options
    )
    job = prepare_fit(request)
    console.print(job.understood, highlight=False, markup=False, soft_wrap=True)
    with progress_bar() as progress:
        task = progress.add_task("learning (compiling first)", total=total)

        def report(step: Step) -> None:
            progress.update(task, completed=step.step, description=f"learning, gap {step.occupancy_gap:.3g}")

        job.run([report])
        verdict = job.model.fit_.verdict
        # The steps taken are all there were: most fits end before the budget does.
        taken = max(int(verdict.steps), 1)
        progress.update(task, completed=taken, total=taken, description=f"{verdict.status} after {taken} steps")
    written = write_fit(job, command.out)
    console.print(job.model.summary(), highlight=False, markup=False, soft_wrap=True)
    for path in written:
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
    return 1 if job.model.judgment_.trust is Trust.DO_NOT_USE else 0


_OTHERS = ("env", "demos", "out", "columns", "first_state", "first_action")
