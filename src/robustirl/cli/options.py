"""Options that several commands share: what to print, which world, how a table is to be read."""

import dataclasses
import importlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from robustirl.errors import InvalidInputError

WORLDS = (
    "an environment (such as gridworld-1, frozen-lake, sepsis), a file (world.npz with an array kernel [S, A, S], or a"
    " sparse matrix saved by SciPy, [S * A, S]), a Gymnasium id with a table, as FrozenLake-v1, or module:function of"
    " your own"
)
"""What `--env` may be, for help texts."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Output:
    """Options of every command."""

    quiet: bool = False
    """Print errors only."""
    json: bool = False
    """Print one JSON object in place of text."""
    answers: tyro.conf.Suppress[dict[str, Any]] = dataclasses.field(default_factory=dict)

    def say(self, text: str) -> None:
        """Print text for a person."""
        if not (self.quiet or self.json):
            print(text)

    def answer(self, **fields: Any) -> None:
        """Add to the JSON object."""
        self.answers.update(fields)

    @property
    def shows_progress(self) -> bool:
        """Return whether long work shows a bar, on standard error."""
        return not self.quiet


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """Options of every command that needs a world."""

    env: Annotated[str, tyro.conf.arg(help=f"The world: {WORLDS}.")]
    env_arg: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An argument of whatever makes the environment, as is_slippery=false; repeat it for more."""
    allow_import: bool = False
    """Let `--env module:function` import that module, which runs its code."""
    noise: float = 0.0
    """The noise of the world."""
    noise_model: str | None = None
    """Which kernel the noise means; the environment's default if omitted."""
    discount: float | None = None
    """The discount; the environment's if omitted."""

    def environment(self) -> Any:
        """Return the environment."""
        return find_environment(self.env, self.discount, self.allow_import, parse_pairs("--env-arg", self.env_arg))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """Options of every command that reads demonstrations."""

    columns: tuple[str, ...] = ()
    """The table's own names of columns, by ours: episode=trip state=link. Ours are episode, state, and if there are
    any step, action, terminated."""
    state_names: Path | None = None
    """A text file with the name of every state, a line each, in the order of their numbers."""
    action_names: Path | None = None
    """The same for actions."""

    def load(self, path: Path, environment: Any = None) -> tuple[Any, str]:
        """Return demonstrations in an environment, and the line that says what was understood."""
        from robustirl.demonstrations.formats import load_with_note
        from robustirl.demonstrations.tables import TableOptions

        columns = parse_columns(self.columns)
        names = {kind: read_names(getattr(self, kind)) for kind in ("state_names", "action_names")}
        known = {kind: getattr(environment, kind, None) for kind in names}
        given = {kind: words or known[kind] for kind, words in names.items()}
        world = None if environment is None else environment.name
        demonstrations, note = load_with_note(path, TableOptions(columns, world=world, **given))
        for kind, own in demonstrations.names.items():
            if world is not None and own is not None and known[kind] is None and names[kind] is None:
                raise InvalidInputError(
                    f"{path} has {kind.replace('_', ' ')}, as {own[0]!r}, but {world} has none; number them from 0, or"
                    f" save the world with an array {kind!r}."
                )
        used = {kind: known[kind] for kind, own in demonstrations.names.items() if own is not None and known[kind]}
        return demonstrations.renumber(**used), note


def parse_columns(words: Sequence[str]) -> dict[str, str] | None:
    """Return the names of columns in `episode=trip state=link`, or in one word with commas.

    Example:
        >>> parse_columns(["episode=trip", "state=link"]) == parse_columns(["episode=trip, state=link"])
        True
    """
    pairs = [part.partition("=") for word in words for part in word.split(",")]
    if any(not (name.strip() and own.strip()) for name, _, own in pairs):
        raise InvalidInputError(f"--columns is {' '.join(words)!r}, but pairs as episode=trip are needed.")
    named = {name.strip(): own.strip() for name, _, own in pairs}
    if len(named) < len(pairs):
        raise InvalidInputError(f"--columns is {' '.join(words)!r}, which names a column twice; name each once.")
    return named or None


def parse_pairs(option: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments in words such as `is_slippery=false`; values are JSON or text.

    Example:
        >>> parse_pairs("--env-arg", ["is_slippery=false", "map_name=8x8", "size=3"])
        {'is_slippery': False, 'map_name': '8x8', 'size': 3}
    """
    result: dict[str, Any] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name.isidentifier() or name in result:
            raise InvalidInputError(f"{option} has {word!r}, but name=value is needed, each name once.")
        try:
            result[name] = json.loads(text.lower() if text in ("True", "False") else text)
        except (ValueError, RecursionError):
            result[name] = text
    return result


def parse_numbers(option: str, words: Sequence[str]) -> dict[str, float]:
    """Return parameters in words such as mass=0.2.

    Example:
        >>> parse_numbers("--physics", ["mass=0.2"])
        {'mass': 0.2}
    """
    pairs = parse_pairs(option, words)
    for name, value in pairs.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
            raise InvalidInputError(f"{option} has {name}={value}, but name=number is needed, such as mass=0.2.")
    return {name: float(value) for name, value in pairs.items()}


def read_names(path: Path | None) -> list[str] | None:
    """Return the lines of a text file; the number of a name is the number of its line."""
    if path is None:
        return None
    try:
        words = [line.strip() for line in path.read_text(encoding="utf-8-sig").rstrip().split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read ({error}); give a text file of names.") from None
    if "" in words or len(set(words)) < len(words):
        raise InvalidInputError(f"{path} must hold different names, one a line; it holds {len(words)} lines.")
    return words


def find_environment(name: str, discount: float | None, allow_import: bool, arguments: Mapping[str, Any]) -> Any:
    """Return the environment of a name or a file, or the one that Gymnasium or a function makes.

    A name of the form `module:function` imports that module, which runs it, so that it is refused unless
    `allow_import` says that the module can be trusted.
    """
    from robustirl import envs
    from robustirl.envs.registry import FixedWorld, recorded_names

    options: dict[str, Any] = dict(arguments) | ({} if discount is None else {"discount": discount})
    if name in (*envs.names(), *recorded_names()):
        return envs.make(name, **options)
    if name.endswith(".npz"):
        return envs.from_file(name, **options)
    if ":" in name and os.sep not in name:
        if not allow_import:
            raise InvalidInputError(
                f"--env {name} would import and run the module {name.partition(':')[0]!r}; pass --allow-import if you"
                " trust it."
            )
        made = _call(name, arguments)
        if isinstance(made, envs.Environment):
            return made
        if hasattr(made, "kernel"):
            return FixedWorld(name, made)
        return envs.from_gymnasium(name if made is None else made, **options)
    try:
        return envs.from_gymnasium(name, **options)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"there is no environment {name!r} ({', '.join(envs.names())}), and as a Gymnasium id it will not do:"
            f" {error}"
        ) from None


def _call(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return what a function of a module makes; None if the module only registers ids of Gymnasium."""
    module, _, function = name.partition(":")
    try:
        make = getattr(importlib.import_module(module), function, None)
        return None if make is None else make(**arguments)
    except Exception as error:
        raise InvalidInputError(f"--env {name} failed ({type(error).__name__}: {error}).") from None
