"""`robustirl demos`: make, inspect and convert files of demonstrations."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import jax
import numpy as np
import tyro
from rich.table import Table

from robustirl import demonstrations
from robustirl.cli.console import console
from robustirl.cli.log_options import LogOptions
from robustirl.demonstrations import Demonstrations, require_place
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_seed
from robustirl.planning import expert_policy
from robustirl.reports import find_environment

MOST_STATES = 10  # How many of the most visited states are listed.


@dataclasses.dataclass(frozen=True)
class Make:
    """Let an expert act in its world, and record it."""

    env: str
    """The expert's world: an environment's name, a file of your own with a reward (.npz), or a Gymnasium id."""
    out: Path
    """The file to write: .npz, .jsonl, .csv or .parquet."""
    episodes: int = 1000
    """How many episodes."""
    horizon: int = 1000
    """The most transitions of one."""
    noise: float = 0.0
    """The noise of the expert's world."""
    noise_model: str | None = None
    """Which kernel the noise means; the environment's default when left out."""
    discount: float | None = None
    """The discount; the environment's when left out."""
    expert: Literal["soft", "optimal"] | None = None
    """The expert's policy for the true reward; that of the published runs when left out."""
    states_only: bool = False
    """Record no actions."""
    seed: int = 0
    """Decides what is drawn."""
    allow_import: bool = False
    """Let `--env module:Id` import that module, which runs its code."""


@dataclasses.dataclass(frozen=True)
class Inspect(LogOptions):
    """Say what a file holds, and whether it goes with a world."""

    file: Annotated[Path, tyro.conf.Positional]
    """The file."""
    env: str | None = None
    """A world to check it against, and to estimate the error of its occupancy for."""
    allow_import: bool = False
    """Let `--env module:Id` import that module, which runs its code."""


@dataclasses.dataclass(frozen=True)
class Convert(LogOptions):
    """Write the demonstrations of one file to another, in the format its suffix names."""

    source: Annotated[Path, tyro.conf.Positional]
    """The file to read."""
    target: Annotated[Path, tyro.conf.Positional]
    """The file to write."""


@dataclasses.dataclass(frozen=True)
class Demos:
    """Make, inspect and convert files of demonstrations."""

    action: Annotated[
        Annotated[Make, tyro.conf.subcommand("make")]
        | Annotated[Inspect, tyro.conf.subcommand("inspect")]
        | Annotated[Convert, tyro.conf.subcommand("convert")],
        tyro.conf.arg(name=""),
    ]


def run_demos(command: Demos) -> int:
    """Run the `demos` command."""
    match command.action:
        case Make():
            _make(command.action)
        case Inspect():
            _inspect(command.action)
        case Convert():
            _require_new(command.action.target)
            found, understood = demonstrations.load_with_note(command.action.source, command.action.table_options())
            console.print(understood, highlight=False, markup=False, soft_wrap=True)
            _write(found, command.action.target)
    return 0


def _make(command: Make) -> None:
    _require_new(command.out)
    as_count("the number of episodes", command.episodes, 1)
    as_count("the horizon", command.horizon)
    environment = find_environment(command.env, command.discount, allow_import=command.allow_import)
    policy = expert_policy(
        environment.mdp(command.noise, command.noise_model),
        environment.reward,
        kind=command.expert or environment.expert,
    )
    drawn = demonstrations.sample_demonstrations(
        environment.evaluation_mdp(command.noise, command.noise_model),
        policy,
        episodes=command.episodes,
        horizon=command.horizon,
        key=jax.random.key(as_seed("--seed", command.seed)),
        with_actions=not command.states_only,
    )
    _write(drawn, command.out)


def _inspect(command: Inspect) -> None:
    found, understood = demonstrations.load_with_note(command.file, command.table_options())
    if command.file.suffix in (".csv", ".parquet"):
        console.print(understood, highlight=False, markup=False, soft_wrap=True)
    world = None if command.env is None else find_environment(command.env, allow_import=command.allow_import).mdp()
    if world is not None:
        found.check_against(world)
    console.print(found.describe(), highlight=False, soft_wrap=True)
    console.print(_visits(found))
    if world is not None:
        estimate = demonstrations.estimate_occupancy(found, world)
        console.print(
            f"{command.env}: its states{' and actions' if found.has_actions else ''} go with this world of"
            f" {world.num_states} states; the occupancy at γ = {estimate.discount:g} is known to within"
            f" {estimate.error:.3g} in l1 (95 %; 2 is the most possible), of which {estimate.bias:.3g} is for truncated"
            " episodes.",
            highlight=False,
            soft_wrap=True,
        )


def _visits(found: Demonstrations) -> Table:
    # Not by the number of the state, which a file may choose as large as it likes.
    states, places, counts = np.unique(found.states, return_inverse=True, return_counts=True)
    visited = states.size
    starts = np.bincount(places[found.offsets[:-1]], minlength=visited)
    ends = np.bincount(places[found.offsets[1:] - 1], minlength=visited)
    most = np.argsort(-counts, kind="stable")[:MOST_STATES]
    title = "the states" if visited <= MOST_STATES else f"the {MOST_STATES} most visited of {visited} states"
    table = Table(title=title, title_justify="left")
    for heading in ("state", "visits", "share", "starts", "ends"):
        table.add_column(heading, justify="right")
    for i in most.tolist():
        share = f"{counts[i] / counts.sum():.1%}"
        table.add_row(str(states[i]), str(counts[i]), share, str(starts[i]), str(ends[i]))
    return table


def _write(found: Demonstrations, path: Path) -> None:
    demonstrations.save(found, path)
    console.print(f"wrote {path}: {found.describe()}", highlight=False, soft_wrap=True)


def _require_new(path: Path) -> None:
    with contextlib.suppress(OSError):  # The check of the place says what is wrong with it.
        if path.exists():
            raise InvalidInputError(f"{path} exists already; choose another name, or remove it first.")
    require_place(path)
