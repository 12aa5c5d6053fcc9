"""`fit.json`: what a page about one fit needs and the saved model does not hold: world, demonstrations, α's curves.

A record is plain data. Whatever is read back is checked against the model beside it, since files get mixed up.
"""

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robustirl._runtime import __version__, from_dict, one_line, read_regular
from robustirl.demonstrations import Demonstrations
from robustirl.envs import Environment
from robustirl.errors import InvalidInputError
from robustirl.irl import AlphaSelection
from robustirl.mdp import MDP, absorbing_states

NAME = "fit.json"
SCHEMA = 1
MOST_EPISODES = 12  # That are kept to be walked through.
MOST_STEPS = 400  # Of each of them.
MOST_ENDS = 1000  # And as many starts.
COMPASS = {(-1, 0): "up", (0, 1): "right", (1, 0): "down", (0, -1): "left", (0, 0): "stay"}
AGREEMENT = 0.9  # Share of the cells in which an action must lead the same way to be drawn as an arrow.


@dataclasses.dataclass(frozen=True)
class WorldRecord:
    """The learner's world, as far as a page draws it.

    Attributes:
        name: What it is called.
        states: How many states there are.
        actions: The name of every action.
        shape: Rows and columns, if the first states are the cells of a grid.
        directions: The step of every action on a grid, down and right, if actions lead the same way everywhere.
        positions: x and y of every state, if the world is small enough to be drawn as a graph.
        targets: The likeliest successor of every state and action, likewise.
        ends: States that are never left.
        starts: States in which episodes begin, the likeliest first; empty in records that do not say.
        start_shares: How likely each of them is.
        state_names: The name of every state, if there are names.
    """

    name: str
    states: int
    actions: tuple[str, ...]
    shape: tuple[int, ...] | None = None
    directions: tuple[tuple[int, ...], ...] | None = None
    positions: tuple[tuple[float, ...], ...] | None = None
    targets: tuple[tuple[int, ...], ...] | None = None
    ends: tuple[int, ...] = ()
    state_names: tuple[str, ...] | None = None
    starts: tuple[int, ...] = ()
    start_shares: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class DemonstrationsRecord:
    """What was learned from.

    Attributes:
        file: The name of the file.
        understood: What was understood of it, in a sentence.
        terminated: How many episodes ended for good.
        lengths: The least, the median and the largest number of transitions of an episode.
        samples: The states of the first episodes.
    """

    file: str
    understood: str
    terminated: int
    lengths: tuple[float, ...]
    samples: tuple[tuple[int, ...], ...]


@dataclasses.dataclass(frozen=True)
class AlphaRecord:
    """The curves that chose α; see `robustirl.irl.AlphaSelection`.

    A number that is not finite is None.
    """

    candidates: tuple[float, ...]
    explained: tuple[float | None, ...]
    missed: tuple[float | None, ...]
    most_missed: tuple[float | None, ...]
    gain: tuple[float | None, ...]
    gain_error: tuple[float | None, ...]
    admissible: tuple[bool, ...]


@dataclasses.dataclass(frozen=True)
class FitRecord:
    """All of `fit.json`.

    Attributes:
        schema: The version of this format.
        version: The version of robustirl that wrote it.
        command: The words of the command that made the fit.
        interrupted: Whether the fit was interrupted, and this is the best so far.
        world, demonstrations: What was learned in and from.
        alpha: The curves, if α was chosen by comparing fits.
        player_occupancy: How often the player alone visits every state, discounted.
    """

    schema: int
    version: str
    command: tuple[str, ...]
    interrupted: bool
    world: WorldRecord
    demonstrations: DemonstrationsRecord
    alpha: AlphaRecord | None
    player_occupancy: tuple[float | None, ...]


def describe_world(environment: Environment, world: MDP) -> WorldRecord:
    """Return a world as a page draws it.

    Example:
        >>> from robustirl import envs
        >>> grid = envs.make("gridworld-4")
        >>> found = describe_world(grid, grid.mdp(0.1))
        >>> found.shape, found.actions, found.directions
        ((6, 6), ('up', 'right', 'down', 'left'), ((-1, 0), (0, 1), (1, 0), (0, -1)))
        >>> chain = envs.make("three-state")
        >>> describe_world(chain, chain.mdp(0.1)).targets
        ((1, 2), (1, 1), (2, 2))
        >>> describe_world(chain, chain.mdp(0.1)).starts
        (0,)
    """
    from robustirl.plotting import layout_of  # Here, since it loads matplotlib.

    layout = layout_of(world, world.num_states, getattr(environment, "shape", None))
    directions = _directions(layout) if layout.kind == "grid" else None
    names = environment.action_names
    if names is None:
        words = [f"action {a}" for a in range(world.num_actions)]
        if directions is not None and len(set(directions)) == len(directions):
            words = [COMPASS.get(step, word) for step, word in zip(directions, words, strict=True)]
        names = tuple(words)
    drawn = layout.kind == "graph"
    initial = np.asarray(world.initial, dtype=float)
    starts = np.argsort(-initial, kind="stable")[: min(MOST_ENDS, int(np.count_nonzero(initial)))]
    return WorldRecord(
        name=environment.name,
        states=world.num_states,
        actions=tuple(names),
        shape=layout.shape,
        directions=directions,
        positions=_rows(np.round(layout.positions, 4)) if drawn and layout.positions is not None else None,
        targets=_rows(layout.targets) if drawn and layout.targets is not None else None,
        ends=tuple(np.flatnonzero(absorbing_states(world))[:MOST_ENDS].tolist()),
        state_names=None if environment.state_names is None else tuple(environment.state_names),
        starts=tuple(starts.tolist()),
        start_shares=tuple(float(f"{share:.6g}") for share in initial[starts]),
    )


def _directions(layout: Any) -> tuple[tuple[int, int], ...] | None:
    """Return the step of every action, or None if one leads different ways in different cells."""
    if layout.targets is None:
        return None
    found = []
    for steps in np.rint(layout.directions()).astype(int).swapaxes(0, 1):
        moved = [tuple(step) for step in steps.tolist() if step != [0, 0]]
        usual = max(set(moved), key=moved.count) if moved else (0, 0)
        if usual not in COMPASS or moved.count(usual) < AGREEMENT * len(moved):
            return None
        found.append(usual)
    return tuple(found)


def describe_demonstrations(demonstrations: Demonstrations, world: MDP, file: Path, understood: str) -> Any:
    """Return what a page says about demonstrations."""
    ended = demonstrations.in_world(world)
    lengths = demonstrations.lengths - 1
    samples = [episode.states[:MOST_STEPS].tolist() for episode in demonstrations[:MOST_EPISODES]]
    return DemonstrationsRecord(
        file=Path(file).name,
        understood=understood,
        terminated=int(ended.terminated.sum()),
        lengths=(float(lengths.min()), float(np.median(lengths)), float(lengths.max())),
        samples=tuple(map(tuple, samples)),
    )


def describe_alpha(selection: AlphaSelection | None) -> AlphaRecord | None:
    """Return the curves that chose α."""
    if selection is None:
        return None
    names = ("explained", "missed", "most_missed", "gain", "gain_error")
    curves = {name: tuple(_finite(x) for x in getattr(selection, name)) for name in names}
    admissible = tuple(bool(x) for x in selection.admissible)
    return AlphaRecord(candidates=tuple(selection.candidates.tolist()), admissible=admissible, **curves)


def make_record(
    environment: Environment,
    world: MDP,
    demonstrations: DemonstrationsRecord,
    selection: AlphaSelection | None,
    player_occupancy: Any,
    *,
    command: Sequence[str] = (),
    interrupted: bool = False,
) -> FitRecord:
    """Return the record of a fit."""
    return FitRecord(
        schema=SCHEMA,
        version=__version__,
        command=tuple(command),
        interrupted=interrupted,
        world=describe_world(environment, world),
        demonstrations=demonstrations,
        alpha=describe_alpha(selection),
        player_occupancy=tuple(_finite(float(f"{x:.6g}")) for x in np.asarray(player_occupancy, dtype=float)),
    )


def encode_record(record: FitRecord) -> str:
    """Return a record as JSON."""
    return json.dumps(dataclasses.asdict(record), allow_nan=False, ensure_ascii=False) + "\n"


def read_record(path: Path, states: int, actions: int) -> FitRecord | None:
    """Read a record that belongs to a model of this size; None if there is no file.

    Args:
        path: The file.
        states: The number of states of the model.
        actions: The number of its actions.
    """
    try:
        content = read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); fit again.") from None
    try:
        record = _decode(json.loads(content.decode("utf-8")))
        _require_consistent(record, states, actions)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidInputError(
            f"{path} is not the record of the model beside it ({one_line(error)}); fit again, or remove the file to see"
            " the model alone."
        ) from None
    return record


def _decode(note: Any) -> FitRecord:
    if not isinstance(note, dict) or note.get("schema") != SCHEMA:
        raise ValueError(f"schema {SCHEMA} is needed")
    fields = {name: _tuples(value) for name, value in note.items()}
    kinds = {"world": WorldRecord, "demonstrations": DemonstrationsRecord, "alpha": AlphaRecord}
    for name, kind in kinds.items():
        if fields.get(name) is not None:
            fields[name] = from_dict(kind, fields[name])
    return from_dict(FitRecord, fields)


def _require_consistent(record: FitRecord, states: int, actions: int) -> None:
    """Refuse a record whose parts do not go together, or with the model."""
    world, alpha = record.world, record.alpha
    counts = {
        "states": (world.states, states),
        "actions": (len(world.actions), actions),
        "player_occupancy": (len(record.player_occupancy), states),
        "start_shares": (len(world.start_shares), len(world.starts)),
    }
    counts |= {
        name: (len(getattr(world, name)), size)
        for name, size in {"positions": states, "targets": states, "state_names": states, "directions": actions}.items()
        if getattr(world, name) is not None
    }
    if alpha is not None:
        counts |= {f.name: (len(getattr(alpha, f.name)), len(alpha.candidates)) for f in dataclasses.fields(alpha)}
    for name, (given, needed) in counts.items():
        if given != needed:
            raise ValueError(f"{name} counts {given}, but {needed} are needed")
    rows = {"positions": (world.positions, 2), "targets": (world.targets, actions), "directions": (world.directions, 2)}
    for name, (table, width) in rows.items():
        if any(len(row) != width for row in table or ()):
            raise ValueError(f"{name} needs {width} numbers a row")
    shape = world.shape
    if shape is not None and (len(shape) != 2 or min(shape) < 1 or shape[0] * shape[1] > states):
        raise ValueError(f"shape is {shape}")
    if any(step not in COMPASS for step in world.directions or ()):
        raise ValueError("directions holds a step to no neighbor")
    named = [
        *world.ends,
        *world.starts,
        *(s for row in (world.targets or ()) + record.demonstrations.samples for s in row),
    ]
    if any(not 0 <= state < states for state in named):
        raise ValueError(f"a state is not among the {states}")
    if len(record.demonstrations.lengths) != 3:
        raise ValueError("lengths needs three numbers")


def _tuples(value: Any) -> Any:
    """Return JSON with tuples in place of lists."""
    if isinstance(value, list):
        return tuple(map(_tuples, value))
    return {name: _tuples(item) for name, item in value.items()} if isinstance(value, dict) else value


def _rows(array: Any) -> tuple[tuple[Any, ...], ...]:
    return tuple(map(tuple, np.asarray(array).tolist()))


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
