"""`robustirl reproduce`: the cells of a figure, their table, and the figure itself, in one folder."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

from robustirl import envs
from robustirl.envs.noise import PUBLISHED
from robustirl.errors import InvalidInputError
from robustirl.experiments.published import published_returns
from robustirl.experiments.results import read_results, results_csv, write_atomically
from robustirl.experiments.runner import Timing, run
from robustirl.experiments.specs import Record, RunSpec
from robustirl.mdp.checks import as_count
from robustirl.mdp.mdp import as_alpha
from robustirl.planning.experts import require_expert_kind


@dataclasses.dataclass
class Outcome:
    """What a reproduction made.

    Attributes:
        records: The finished runs, in the order of the specs.
        complete: Whether all runs are there; an interrupt leaves the finished ones.
        timing: Where the time went.
        files: What was written.
    """

    records: list[Record]
    complete: bool
    timing: Timing
    files: list[Path]


def reproduce(specs: tuple[RunSpec, ...], out: Path, *, progress: Callable[[int], object] = lambda _: None) -> Outcome:
    """Run the specs and write `results.csv` after every batch, then a figure per environment and noise model.

    An interrupt (Ctrl-C) ends the run early; what is finished is in `results.csv`, and the same request into the same
    folder goes on from there.
    """
    check_specs(specs)
    out = Path(out)
    table = prepare(specs, out)
    done = {record.spec: record for record in read_results(table, specs)}
    if done:
        progress(len(done))
    timing = Timing()
    complete = True
    try:
        for batch in run([spec for spec in specs if spec not in done], timing):
            done |= {record.spec: record for record in batch}
            write_atomically(table, results_csv([done[spec] for spec in specs if spec in done]))
            progress(len(batch))
    except KeyboardInterrupt:
        complete = False
    records = [done[spec] for spec in specs if spec in done]
    files = [table] if records else []
    if complete:
        files += draw(records, out)
    return Outcome(records, complete, timing, files)


def check_specs(specs: tuple[RunSpec, ...]) -> None:
    """Refuse an impossible request before any work is done or any file is touched."""
    for spec in specs:
        environment = envs.make(spec.environment)
        as_alpha(spec.alpha)
        for noise in (spec.learner_noise, spec.expert_noise):
            environment.choose_noise_model(noise, spec.noise_model)
        require_expert_kind(spec.expert)
        as_count("steps", spec.steps)


def prepare(specs: tuple[RunSpec, ...], out: Path) -> Path:
    """Make the folder and note in it what was asked for; refuse a folder that holds another request's results."""
    request = json.dumps([dataclasses.asdict(spec) for spec in specs], indent=0) + "\n"
    note, table = out / "request.json", out / "results.csv"
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"{out} is a file, but --out must name a folder; choose another name.")
    if table.exists() and (not note.exists() or note.read_text(encoding="utf-8") != request):
        raise InvalidInputError(
            f"{out} holds results of another request; choose another --out or remove that folder first."
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(note, request)
    except OSError as error:
        raise InvalidInputError(f"{out} cannot be written to ({error.strerror}); choose another --out.") from None
    return table


def draw(records: list[Record], out: Path) -> list[Path]:
    """One figure per environment and noise model in the records, as PNG and SVG."""
    from robustirl.experiments import figures  # Here, so that nothing else loads matplotlib.

    written = []
    pairs = dict.fromkeys((record.spec.environment, record.spec.noise_model) for record in records)
    for name, model in pairs:
        own = [record for record in records if (record.spec.environment, record.spec.noise_model) == (name, model)]
        published = published_returns() if model == PUBLISHED else None
        figure = figures.figure_returns(envs.make(name), own, published, note=f"noise model: {model}")
        several = sum(other == name for other, _ in pairs) > 1
        written += figures.save_figure(figure, out / (f"{name}-{model}" if several else name))
    return written
