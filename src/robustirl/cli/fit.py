"""`robustirl fit`."""

import dataclasses
import shlex
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro

from robustirl._runtime import OutputFolder, hold_interrupts, reserved_folder
from robustirl.cli.console import INTERRUPTED, answer, console, errors, progress_bar
from robustirl.cli.log_options import LogOptions
from robustirl.cli.world_options import WORLDS, WorldOptions
from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER_STEPS, Callback, Occasional, Step, Trust
from robustirl.mdp import as_count
from robustirl.reports import FitJob, FitRequest, parse_arguments, prepare_fit, write_fit


@dataclasses.dataclass(frozen=True)
class Fit(LogOptions, WorldOptions):
    """Learn a reward and a policy from demonstrations.

    As in

        robustirl fit --env gridworld-1 --demos walks.csv --out found
        robustirl fit --env world.npz --demos trips.csv --columns episode=trip,state=link --first-state 1 --out found
        robustirl fit --env FrozenLake-v1 --env-arg is_slippery=false --demos minari:me/lake-v0 --out found

    The folder gets model.npz (read it with RobustIRL.load), policy.csv, reward.csv, summary.txt, fit.json, fit.png and
    fit.svg, or nothing at all; `robustirl page found` makes a page of it. The exit status is 1 if the verdict is "do
    not use". Ctrl-C keeps the best fit so far in the folder, if there is one, with exit status 130.
    """

    env: Annotated[str, tyro.conf.arg(help=f"The learner's world: {WORLDS}.")]
    demos: Path
    """The demonstrations: .npz, .jsonl, .csv or .parquet, a folder of imitation's trajectories, or minari:ID."""
    out: Path
    """The folder to write to; a new or an empty one."""
    alpha: Literal["auto"] | float = "auto"
    """The player's chance of control: 1 is standard MCE IRL, auto estimates it from the demonstrations."""
    noise: float = 0.0
    """The noise of the learner's world."""
    noise_model: str | None = None
    """Which kernel the noise means; the environment's default if omitted."""
    discount: float | None = None
    """The discount; the environment's if omitted."""
    objective: Literal["occupancy", "likelihood"] = "occupancy"
    """What to learn by: occupancy matches where the expert goes, likelihood makes the recorded actions as probable as
    possible and gives standard errors."""
    penalty: float = 0.0
    """With --objective likelihood, the precision of a Gaussian prior on every parameter."""
    reward: Literal["tabular", "tabular-action", "linear", "network"] | None = None
    """The reward model; what the environment calls for if omitted."""
    steps: int = PAPER_STEPS
    """The largest number of parameter updates."""
    tolerance: float | None = None
    """Stop once the occupancy gap is this small; by default 1e-4 of the expert's mass in states that can be left."""
    tail: Literal["chain", "hold", "renormalize", "renormalise"] = "chain"
    """What follows the last state of a truncated episode: chain continues with the empirical transition rates, hold
    repeats the last state, renormalize drops what is unseen."""
    optimizer: Literal["newton", "adam", "settling-adam", "lbfgs"] | None = None
    """How to learn; if omitted, newton at α = 1 and settling-adam below for rewards that are linear in their
    parameters, adam for networks."""
    rate: float | None = None
    """The learning rate of adam."""
    attempts: int = 1
    """How many reward networks to start from; the one with the smallest gap is kept."""
    seed: int = 0
    """For the first weights of a reward network."""


def run_fit(command: Fit) -> int:
    """Run the `fit` command."""
    with reserved_folder(command.out) as place:
        return _fit(command, place)


def _fit(command: Fit, place: OutputFolder) -> int:
    total = as_count("--steps", command.steps)
    if total == 0:
        raise InvalidInputError("--steps is 0, but learning takes at least one step; omit it for the default, 200.")
    options = {name: getattr(command, name) for name in _SAME}
    request = FitRequest(
        environment=command.env,
        demonstrations=command.demos,
        arguments=parse_arguments(command.env_arg),
        table=command.table_options(),
        **options,
    )
    job = prepare_fit(request)
    console.print(job.understood)
    with progress_bar() as progress:
        task = progress.add_task("learning (compiling first)", total=total)

        def report(step: Step) -> None:
            progress.update(task, completed=step.step, description=f"learning, gap {step.occupancy_gap:.3g}")

        interrupted = _run(job, Occasional(report))
        verdict = job.model.fit_.verdict
        # The steps taken are all there were: most fits end before the budget does.
        taken = max(int(verdict.steps), 1)
        progress.update(task, completed=taken, total=taken, description=f"{verdict.status} after {taken} steps")
    with hold_interrupts():
        written = write_fit(job, place, command=command_words(command), interrupted=interrupted)
    console.print(job.model.summary())
    for path in written:
        console.print(f"wrote {path}")
    console.print(
        f"See it in a browser: {shlex.join(['robustirl', 'page', str(command.out)])}",
    )
    judgment = job.model.judgment_
    answer(
        interrupted=interrupted,
        alpha=np.asarray(job.model.fit_.alpha).tolist(),
        status=verdict.status.value,
        steps=int(verdict.steps),
        occupancy_gap=float(verdict.occupancy_gap),
        trust=judgment.trust.value,
        why=judgment.why,
        advice=judgment.advice,
        warnings=job.model.warnings_,
        files=[str(path) for path in written],
    )
    if interrupted:
        errors.print(f"robustirl: the best fit so far is in {command.out}.")
        return INTERRUPTED
    return 1 if judgment.trust is Trust.DO_NOT_USE else 0


def _run(job: FitJob, report: Callback) -> bool:
    """Learn; return whether Ctrl-C ended it. Without a fit to keep, an interrupt is raised."""
    try:
        job.run([report])
    except KeyboardInterrupt:
        if not job.keep_best():
            raise
        errors.print("robustirl: interrupted; writing the best fit so far.")
        return True
    return False


def command_words(command: Fit) -> list[str]:
    """Return the command line that asks for the same, without what is the default.

    Example:
        >>> command_words(Fit(env="gridworld-4", demos=Path("my walks.csv"), out=Path("found"), noise=0.1))
        ['robustirl', 'fit', '--env', 'gridworld-4', '--demos', 'my walks.csv', '--out', 'found', '--noise', '0.1']
    """
    words = ["robustirl", "fit"]
    fields = sorted(dataclasses.fields(command), key=lambda field: field.name not in ("env", "demos", "out"))
    for field in fields:
        value, option = getattr(command, field.name), f"--{field.name.replace('_', '-')}"
        if value == field.default:
            continue
        if isinstance(value, bool):
            words.append(option)
        else:
            words += [word for one in (value if isinstance(value, tuple) else (value,)) for word in (option, str(one))]
    return words


_SAME = tuple(
    field.name for field in dataclasses.fields(FitRequest) if field.name in {f.name for f in dataclasses.fields(Fit)}
)
"""Options that a request has by the same name."""
