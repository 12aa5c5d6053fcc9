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
from robustirl.cli.console import answer, console
from robustirl.cli.log_options import LogOptions
from robustirl.cli.world_options import WORLDS, WorldOptions
from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.formats import load_with_note, require_place
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_seed
from robustirl.planning import expert_policy
from robustirl.reports import explain_noise, read_demonstrations

MOST_STATES = 10  # How many of the most visited states are listed.


@dataclasses.dataclass(frozen=True)
class Make(WorldOptions):
    """Let an expert act in its world, and record it.

    As in

        robustirl demos make --env gridworld-1 --noise 0.1 --episodes 200 --out walks.csv
    """

    env: Annotated[str, tyro.conf.arg(help=f"The expert's world, with a reward: {WORLDS}.")]
    out: Path
    """The file to write: .npz, .jsonl, .csv or .parquet, or minari:ID, or imitation:FOLDER."""
    episodes: int = 1000
    """How many episodes."""
    horizon: int = 1000
    """The most transitions of one."""
    noise: float = 0.0
    """The noise of the expert's world."""
    noise_model: str | None = None
    """Which kernel the noise means; the environment's default if omitted."""
    discount: float | None = None
    """The discount; the environment's if omitted."""
    expert: Literal["soft", "optimal"] | None = None
    """The expert's policy for the true reward; that of the published runs if omitted."""
    states_only: bool = False
    """Record no actions."""
    seed: int = 0
    """Decides what is drawn."""


@dataclasses.dataclass(frozen=True)
class Inspect(LogOptions, WorldOptions):
    """Say what demonstrations hold, and whether they go with a world.

    As in

        robustirl demos inspect trips.csv --columns episode=trip state=link --env world.npz
    """

    file: Annotated[Path, tyro.conf.Positional]
    """The file, a folder of imitation's trajectories, or minari:ID."""
    env: Annotated[str | None, tyro.conf.arg(help=f"A world to check them against: {WORLDS}.")] = None


@dataclasses.dataclass(frozen=True)
class Convert(LogOptions):
    """Write demonstrations in another format, which the suffix of the target names.

    Read are .npz, .jsonl, .csv, .parquet, folders of imitation's trajectories and minari:ID; written are the files,
    minari:ID and imitation:FOLDER.

    As in

        robustirl convert trips.csv trips.parquet
        robustirl convert minari:me/lake-v0 lake.csv
        robustirl convert walks.csv imitation:walks
    """

    source: Annotated[Path, tyro.conf.Positional]
    """What to read."""
    target: Annotated[Path, tyro.conf.Positional]
    """What to write."""


@dataclasses.dataclass(frozen=True)
class Demos:
    """Make, inspect and convert files of demonstrations.

    As in

        robustirl demos make --env gridworld-1 --noise 0.1 --episodes 200 --out walks.csv
        robustirl demos inspect walks.csv --env gridworld-1
        robustirl demos convert walks.csv walks.parquet
    """

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
            run_convert(command.action)
    return 0


def run_convert(command: Convert) -> int:
    """Run the `convert` command."""
    _require_new(command.target)
    found, understood = load_with_note(command.source, command.table_options())
    console.print(understood)
    _write(found, command.target)
    return 0


def _make(command: Make) -> None:
    _require_new(command.out)
    _write(_drawn(command), command.out)


def _drawn(command: Make) -> Demonstrations:
    """Let the expert act."""
    as_count("the number of episodes", command.episodes, 1)
    as_count("the horizon", command.horizon)
    environment = command.find(command.env, command.discount)
    size = environment.mdp(0.0).num_states if command.noise else 0
    noise = explain_noise(environment, command.noise, command.noise_model, size)
    if noise is not None:
        console.print(noise)
    policy = expert_policy(
        environment.mdp(command.noise, command.noise_model),
        environment.reward,
        kind=command.expert or environment.expert,
    )
    return demonstrations.sample_demonstrations(
        environment.evaluation_mdp(command.noise, command.noise_model),
        policy,
        episodes=command.episodes,
        horizon=command.horizon,
        key=jax.random.key(as_seed("--seed", command.seed)),
        with_actions=not command.states_only,
    )


def _inspect(command: Inspect) -> None:
    environment = None if command.env is None else command.find(command.env)
    if environment is None:
        found, understood = load_with_note(command.file, command.table_options())
    else:
        found, understood = read_demonstrations(command.file, command.table_options(), environment)
    if command.file.suffix in (".csv", ".tsv", ".parquet"):
        console.print(understood)
    world = None if environment is None else environment.mdp()
    if world is not None:
        found.check_against(world)
    console.print(found.describe())
    console.print(_visits(found))
    answer(
        episodes=len(found),
        transitions=found.num_transitions,
        has_actions=found.has_actions,
        terminated=int(found.terminated.sum()) if found.ends_known else None,
        state_names=found.state_names,
        action_names=found.action_names,
    )
    if world is not None:
        estimate = demonstrations.estimate_occupancy(found, world)
        console.print(
            f"{command.env}: its states{' and actions' if found.has_actions else ''} go with this world of"
            f" {world.num_states} states; the occupancy at γ = {estimate.discount:g} is known to within"
            f" {estimate.error:.3g} in l1 (95 %; 2 is the most possible), to which truncated episodes may add"
            f" {estimate.bias:.3g}.",
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
    console.print(f"wrote {path}: {found.describe()}")
    answer(episodes=len(found), transitions=found.num_transitions, files=[str(path)])


def _require_new(path: Path) -> None:
    """Refuse a path at which something is, or that cannot be written to."""
    with contextlib.suppress(OSError):  # The check of the place says what is wrong with it.
        if path.exists():
            raise InvalidInputError(f"{path} exists already; choose another name, or remove it first.")
    require_place(path)
