"""Options that every command has, wherever they stand: --quiet, --json, --log-file, --no-cache."""

import contextlib
import dataclasses
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robustirl._runtime import require_appendable
from robustirl.cli.console import console, errors, take_answers
from robustirl.errors import InvalidInputError

HELP = (
    "Every command takes --quiet (print errors only), --json (print one JSON object instead of text), --log-file PATH"
    " (append what is said and logged), and --no-cache (compile anew; compiled programs are kept in the user's cache"
    " directory for the next command)."
)


@dataclasses.dataclass(frozen=True)
class OutputOptions:
    """What to do with what a command says.

    Attributes:
        quiet: Print errors only.
        json: Print one JSON object at the end instead of text.
        log_file: Append what is said and logged to this file.
        cache: Keep compiled programs.
    """

    quiet: bool = False
    json: bool = False
    log_file: Path | None = None
    cache: bool = True


def split_options(words: list[str]) -> tuple[OutputOptions, list[str]]:
    """Return the options that all commands have, and the other words.

    Example:
        >>> split_options(["fit", "--quiet", "--log-file", "x.log", "--env", "e"])
        (OutputOptions(quiet=True, json=False, log_file=PosixPath('x.log'), cache=True), ['fit', '--env', 'e'])
    """
    rest: list[str] = []
    found: dict[str, Any] = {}
    given = iter(words)
    for word in given:
        if word == "--":
            rest += [word, *given]
        elif word in ("--quiet", "--json"):
            found[word.removeprefix("--")] = True
        elif word == "--no-cache":
            found["cache"] = False
        elif word == "--log-file" or word.startswith("--log-file="):
            path = word.partition("=")[2] if "=" in word else next(given, "")
            if not path or "\0" in path:
                raise InvalidInputError("--log-file needs a file to append to, as --log-file run.log.")
            found["log_file"] = Path(path)
        else:
            rest.append(word)
    if "log_file" in found:
        _require_apart(found["log_file"], rest[1:])
    return OutputOptions(**found), rest


def _require_apart(log: Path, words: list[str]) -> None:
    """Refuse a log file that the command names as something else, too.

    Lines of a log would damage it.
    """
    for word in words:
        other = word.partition("=")[2] if word.startswith("--") else word
        if other and _is_same(log, other):
            raise InvalidInputError(
                f"--log-file is {log}, but the command reads or writes {word}, which is the same; choose another file."
            )


def _is_same(path: Path, other: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        if os.path.realpath(path) == os.path.realpath(other):
            return True
        return path.samefile(other)  # Under two names.
    return False


@contextlib.contextmanager
def output(options: OutputOptions, name: str) -> Iterator[None]:
    """Print and log as the options say while a command runs."""
    take_answers()
    before = console.quiet
    with contextlib.ExitStack() as stack:
        if options.log_file is not None:
            stack.enter_context(_log_to(options.log_file, name))
        console.quiet = options.quiet or options.json
        stack.callback(setattr, console, "quiet", before)
        yield


def print_answers(name: str, status: int, error: str | None = None) -> None:
    """Print the JSON object of a command; numbers that JSON does not have are null."""
    found = {"command": name, "exit_status": status} | ({} if error is None else {"error": error}) | take_answers()
    text = json.dumps(_plain(found), ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(_plain(found))  # JSON has its own way to write letters that a terminal lacks.
    print(text, flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


class _Log(logging.FileHandler):
    """A log that fails at its first line or never: a full disk must not end a command."""

    def __init__(self, path: Path, first: logging.LogRecord):
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._begun = False
        try:
            self.emit(first)
        except OSError:
            self.close()
            raise
        self._begun = True

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802
        """Raise what has just happened, at the first line alone."""
        if not self._begun:
            raise

    def close(self) -> None:
        """Close the file, whether or not it takes what is left to write."""
        with contextlib.suppress(OSError, ValueError):
            super().close()


@contextlib.contextmanager
def _log_to(path: Path, name: str) -> Iterator[None]:
    """Append to a file what the library logs, and what the command says, a line each."""
    log = logging.getLogger("robustirl")
    try:
        require_appendable(path)
        handler = _Log(path, log.makeRecord(log.name, logging.INFO, "", 0, f"robustirl {name}", (), None))
    except OSError as error:
        raise InvalidInputError(
            f"--log-file {path} cannot be written ({error.strerror}); choose a place in an existing folder."
        ) from None
    level, said = log.level, [(one, one.print) for one in (console, errors)]
    log.addHandler(handler)
    log.setLevel(min(level or logging.INFO, logging.INFO))

    def copy_of(printed: Any, level: int) -> Any:
        def tee(*words: Any, **options: Any) -> None:
            text = " ".join(word for word in words if isinstance(word, str)).strip()
            if text:
                handler.emit(log.makeRecord(log.name, level, "", 0, text.replace("\n", " | "), (), None))
            printed(*words, **options)

        return tee

    console.print, errors.print = copy_of(console.print, logging.INFO), copy_of(errors.print, logging.ERROR)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        for one, _ in said:
            vars(one).pop("print", None)
        log.removeHandler(handler)
        log.setLevel(level)
        handler.close()
