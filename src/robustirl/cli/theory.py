"""`robustirl theory`."""

import dataclasses
import os
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from rich.table import Table

from robustirl import envs
from robustirl._runtime import OutputFolder, one_line, reserved_folder
from robustirl.cli.console import answer, console
from robustirl.cli.log_options import LogOptions
from robustirl.cli.world_options import WORLDS, WorldOptions
from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER_STEPS
from robustirl.mdp import as_occupancy
from robustirl.reports import (
    DemonstrationsReport,
    Learned,
    PairReport,
    read_demonstrations,
    read_occupancy,
    report_demonstrations,
    report_guarantee,
    report_pairs,
)
from robustirl.theory import Closest, Matching, closest_occupancy, find_matching_policy

EXPERT_NOISE = 0.1
PAPER_EXPERT_NOISES = (0.0, 0.05, 0.1, 0.15, 0.2)
MOST_CHARACTERS = 100  # Of a world's name in the name of a file,
MOST_BYTES = 200  # and of its bytes: file systems take 255, for the whole name.


@dataclasses.dataclass(frozen=True)
class Theory(LogOptions, WorldOptions):
    """Say and draw what the theory guarantees if the worlds of learner and expert differ.

    As in

        robustirl theory gridworld-1 --expert-noise 0.1 --out drawn
        robustirl theory world.npz --demos walks.csv
        robustirl theory world.npz --occupancy found
    """

    environment: Annotated[str, tyro.conf.Positional, tyro.conf.arg(help=f"Which world: {WORLDS}.")] = "three-state"
    noise_model: str | None = None
    """Which kernel the noise means; the environment's default if omitted."""
    learner_noise: float = 0.0
    """The learner's noise."""
    expert_noise: float | None = None
    """The expert's noise; 0.1 if omitted."""
    occupancy: Path | None = None
    """An expert's state occupancy in place of an expert's world: a text file, one number a state, or what `robustirl
    fit` wrote: its folder, its model.npz or its reward.csv."""
    demos: Path | None = None
    """Demonstrations in place of an expert's world: whatever `robustirl fit` reads."""
    tail: Literal["chain", "hold", "renormalize", "renormalise"] | None = None
    """What follows the last state of a truncated episode; chain (the empirical transition rates) if omitted."""
    guarantee: bool = False
    """With --demos: bound how much less than the expert a fitted policy can earn, from the demonstrations alone."""
    radius: float | None = None
    """With --guarantee: how far, in l1, every row of the expert's world may be from the learner's; 0 if omitted. States
    that are never left are taken as they are."""
    alpha: Literal["auto"] | float = "auto"
    """The player's chance of control. For two worlds auto is the rule 1 - d/2; with --guarantee it is what `robustirl
    fit` would choose from the demonstrations."""
    discount: float | None = None
    """The discount; the environment's if omitted."""
    expert: Literal["soft", "optimal"] | None = None
    """The expert's policy for the true reward; optimal if omitted, which is what the theorems are about."""
    steps: int | None = None
    """Parameter updates per fit; the paper's 200 if omitted."""
    sweep: tuple[float, ...] | None = None
    """The expert's noises along the figure's axis; the paper's if omitted."""
    out: Path | None = None
    """The folder for the figure; none is drawn if omitted."""


def run_theory(command: Theory) -> int:
    """Run the `theory` command."""
    environment = command.find(command.environment, command.discount)
    if command.tail is not None and command.demos is None:
        raise InvalidInputError(
            f"--tail {command.tail} is for demonstrations; give some with --demos, or leave it out."
        )
    if command.guarantee and command.demos is None:
        raise InvalidInputError("--guarantee needs demonstrations; give some with --demos.")
    if command.radius is not None and not command.guarantee:
        raise InvalidInputError(f"--radius {command.radius:g} is for a guarantee; ask for one with --guarantee.")
    if command.occupancy is not None or command.demos is not None:
        _require_no_expert(command)
        return _from_occupancy(command, environment) if command.demos is None else _from_demos(command, environment)
    if command.sweep is not None and command.out is None:
        raise InvalidInputError("--sweep is for the figure; name a folder for it with --out.")
    if command.out is None:
        _report_pairs(command, environment)
        return 0
    with reserved_folder(command.out, empty=False) as place:
        _draw(_report_pairs(command, environment), command, environment, place)
    return 0


def _report_pairs(command: Theory, environment: envs.Environment) -> list[PairReport]:
    """Print what the theory says of the two worlds; return reports of all that are to be drawn."""
    noise = EXPERT_NOISE if command.expert_noise is None else command.expert_noise
    axis = PAPER_EXPERT_NOISES if command.sweep is None else command.sweep
    noises = list(dict.fromkeys([noise, *(axis if command.out else ())]))
    reports = report_pairs(
        environment,
        command.noise_model,
        command.learner_noise,
        noises,
        alpha=None if isinstance(command.alpha, str) else command.alpha,
        expert=command.expert or "optimal",
        steps=PAPER_STEPS if command.steps is None else command.steps,
    )
    _print_report(environment.name, reports[0])
    first = reports[0]
    answer(
        distance=first.distance,
        matchable="yes" if first.matching.feasible else "no",
        returns={"standard": _return(first.standard), "robust": _return(first.robust), "best": first.optimal_return},
        alpha=first.robust.alpha,
    )
    return reports


def _draw(reports: list[PairReport], command: Theory, environment: envs.Environment, place: OutputFolder) -> None:
    """Write the figure."""
    from robustirl import plotting  # Here, so that only a figure loads matplotlib.

    model = command.noise_model or environment.noise_models[0]
    note = f"noise model: {model}, γ = {float(reports[0].learner.discount):g}"
    figure = plotting.figure_theory(environment, reports, note)
    try:
        written = plotting.save_figure(figure, place.folder / f"theory-{_file_name(environment.name)}")
    except OSError as error:
        raise InvalidInputError(
            f"{place.out} cannot be written to ({error.strerror or one_line(error)}); choose another --out."
        ) from None
    for path in written:
        console.print(f"wrote {place.out / path.name}")


def _file_name(world: str) -> str:
    """Return the name of a world for a file's name, whatever its length and characters.

    Example:
        >>> _file_name("ALE/Pong-v5"), len(_file_name("x" * 245))
        ('ALE-Pong-v5', 100)
    """
    whole = "".join("-" if character in "/\0" else character for character in world[:MOST_CHARACTERS])
    return os.fsencode(whole)[:MOST_BYTES].decode(errors="ignore")


def _return(learned: Learned) -> float:
    return float(learned.certificate.nominal_return)


def _require_no_expert(command: Theory) -> None:
    """Refuse what only an expert's world could answer, rather than pass over it."""
    given = "--occupancy" if command.demos is None else "--demos"
    if command.demos is not None and command.occupancy is not None:
        raise InvalidInputError("--occupancy and --demos both stand for the expert; give one of them.")
    alpha = () if command.guarantee else ("alpha",)
    for field in (*alpha, "out", "expert_noise", "expert", "steps", "sweep"):
        if (value := getattr(command, field)) not in (None, "auto"):
            name, shown = field.replace("_", "-"), " ".join(map(str, value)) if isinstance(value, tuple) else value
            raise InvalidInputError(
                f"--{name} {shown} is for fits and bounds, which need the expert's world and its true reward, not"
                f" {given}; leave one of the two out (`robustirl fit` learns from demonstrations)."
            )


def _from_occupancy(command: Theory, environment: envs.Environment) -> int:
    """Print what an occupancy alone tells: whether it can be matched, and if not, how nearly."""
    path = command.occupancy
    assert path is not None
    learner = environment.mdp(command.learner_noise, command.noise_model)
    occupancy = np.asarray(as_occupancy(read_occupancy(path), learner))
    matching, closest = find_matching_policy(learner, occupancy), closest_occupancy(learner, occupancy)
    _say(f"{environment.name}, learner's noise {command.learner_noise:g}, occupancy from {path}")
    _print_existence(matching, closest)
    answer(matchable="yes" if matching.feasible else "no", smallest_gap=float(closest.gap))
    return 0


def _from_demos(command: Theory, environment: envs.Environment) -> int:
    """Return the same from demonstrations, whose occupancy is an estimate with an error."""
    assert command.demos is not None
    given, understood = read_demonstrations(command.demos, command.table_options(), environment)
    learner = environment.mdp(command.learner_noise, command.noise_model)
    tail = command.tail or "chain"
    if command.guarantee:
        radius = command.radius or 0.0
        found, alpha = report_guarantee(learner, given, radius=radius, alpha=command.alpha, tail=tail)
        _say(f"{environment.name}, learner's noise {command.learner_noise:g}, demonstrations from {command.demos}")
        chosen = ", chosen from the demonstrations" if command.alpha == "auto" else ""
        _say(f"the policy is that of a fit with α = {alpha:g}{chosen}")
        _say(found.summary())
        return 0
    report = report_demonstrations(learner, given, tail=tail)
    _say(f"{environment.name}, learner's noise {command.learner_noise:g}, demonstrations from {command.demos}")
    _say(understood)
    _say(given.describe())
    _print_evidence(report)
    answer(
        matchable=report.verdict,
        smallest_gap=list(report.gap_interval),
        error=report.estimate.error,
        alpha=report.alpha.alpha,
    )
    return 0


def _print_evidence(report: DemonstrationsReport) -> None:
    estimate, (low, high) = report.estimate, report.gap_interval
    share = f"{estimate.confidence:.0%}".replace("%", " %")
    _say(
        f"their occupancy at γ = {estimate.discount:g} is within {estimate.error:.3g} of the expert's in l1 ({share}),"
        f" and truncated episodes may add {estimate.bias:.3g}"
    )
    _print_existence(report.matching, report.closest)
    own = f"the smallest occupancy gap to the expert's own occupancy is between {low:.3g} and {high:.3g} ({share})"
    if report.verdict == "no":
        _say(f"{own}: it cannot be matched")
    else:
        _say(f"{own}: these demonstrations leave open whether it can be matched")
    alpha = report.alpha
    _say(f"which α: the demonstrations suggest {alpha.alpha:.3g} (between {alpha.low:.3g} and {alpha.high:.3g});")
    _say(f"  {alpha.note}")


def _say(line: str) -> None:
    console.print(line)


def _print_report(name: str, report: PairReport) -> None:
    learner = report.learner
    console.print(
        f"{name}: {learner.num_states} states, {learner.num_actions} actions, γ = {float(learner.discount):g}",
    )
    console.print(
        f"mismatch d_dyn = {report.distance:.4g}, |R|max = {report.magnitude:.4g}, κ = {report.kappa:.4g}",
    )
    _print_existence(report.matching, report.closest)
    choice = report.choice
    console.print(
        f"which α: 1 - d/2 gives {choice.half_distance:.4g}; the corollary's rule {choice.corollary:.4g}"
        " (its bound, corrected, is smallest at 1: docs/theory.md)",
    )
    table = Table(title="what was learned, and what is guaranteed (discounted returns)", title_justify="left")
    table.add_column("")
    table.add_column(f"standard, α = {report.standard.alpha:g}", justify="right")
    table.add_column(f"robust, α = {report.robust.alpha:.4g}", justify="right")
    labels = _labels(report)
    for row in zip(labels, *(_column(learned, report) for learned in (report.standard, report.robust)), strict=True):
        table.add_row(*row)
    console.print(table)


def _labels(report: PairReport) -> tuple[str, ...]:
    names = dict.fromkeys((report.standard.bound.name, report.robust.bound.name))
    return (
        "return in the learner's world",
        "best return there",
        "gap to learning without mismatch",
        f"bound: {' / '.join(names)}, if matched",
        f"bound: {report.robust.infeasible.name}",
        "occupancy gap reached",
        "certificate: worst return within d_dyn",
        "certificate: best return within d_dyn",
    )


def _column(learned: Learned, report: PairReport) -> tuple[str, ...]:
    certificate = learned.certificate
    return (
        f"{float(certificate.nominal_return):.4g}",
        f"{report.optimal_return:.4g}",
        f"{learned.gap:.4g}",
        _bound(learned.bound.value, report),
        _bound(learned.infeasible.value, report),
        f"{float(learned.fit.verdict.occupancy_gap):.3g}",
        f"{float(certificate.worst_return):.4g}",
        f"{float(certificate.best_return):.4g}",
    )


def _print_existence(matching: Matching, closest: Closest) -> None:
    if matching.feasible:
        verdict = "yes: a policy of the learner has the expert's occupancy"
    else:
        verdict = (
            f"no: the flow equations are off by at least {matching.violation:.3g} in l1,"
            f" and no policy comes closer than an occupancy gap of {closest.gap:.3g}"
        )
    console.print(f"can it be matched: {verdict}")


def _bound(value: float, report: PairReport) -> str:
    return f"{value:.4g}" + (" (vacuous)" if value >= report.trivial else "")
