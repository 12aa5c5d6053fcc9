"""One sentence for a command line that cannot be understood, in place of the parser's boxes."""

import contextlib
import difflib
import io
import itertools
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from robustirl.cli.commands import parse_command
from robustirl.errors import InvalidInputError

_T = TypeVar("_T")


def parse_in_words(parse: Callable[[], _T], words: Sequence[str], commands: Sequence[str]) -> _T:
    """Return what `parse` makes of a command line; refuse an unreadable one in a sentence.

    Args:
        parse: The parser; it prints to standard error and raises SystemExit.
        words: The command line.
        commands: The names of all commands.
    """
    _require_out(words)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return parse()
    except SystemExit as ended:
        if not ended.code:
            raise
        raise InvalidInputError(in_a_sentence(said.getvalue(), words, commands)) from None


def _require_out(words: Sequence[str]) -> None:
    """Refuse an --out without a name: a path would take it for the current folder."""
    options = words[: words.index("--")] if "--" in words else words
    values = [word.removeprefix("--out=") for word in options if word.startswith("--out=")]
    values += [value for word, value in itertools.pairwise(options) if word == "--out"]
    for value in values:
        if not value.strip():
            raise InvalidInputError(f"--out is {value!r}, but a name is needed; give one, as --out found.")


def in_a_sentence(box: str, words: Sequence[str], commands: Sequence[str]) -> str:
    """Return what a parser's box says, in a sentence that names the culprit and where to look.

    Example:
        >>> in_a_sentence("", ["fti"], ["fit", "theory"])
        "robustirl has no command 'fti'; did you mean fit? There are fit, theory."
    """
    # Frames are drawn in ASCII where the terminal has no other characters.
    lines = [line.strip("│|╭╮╰╯─ \t") for line in box.splitlines()]
    text = " ".join(line for line in lines if line.strip("─-+ "))
    command = words[0] if words and words[0] in commands else None
    if command is None:
        if not words:
            return f"robustirl needs a command: {', '.join(commands)}."
        return f"robustirl has no command {words[0]!r}{_meant(words[0], commands)} There are {', '.join(commands)}."
    action = f"robustirl {command}"
    found = re.search(r"Missing from (robustirl[\w -]*):", text)
    action = found[1].strip() if found else action
    known = sorted(set(re.findall(r"--[a-z][\w-]*", text)))
    unknown = [word.rstrip(",") for word in _section(text, "Unrecognized options:").split()]
    unknown = [word for word in unknown if word in words]
    strange = [word for word in unknown if word.startswith("-")]
    if strange:
        options = _options_of(action)
        return f"{action} has no option {strange[0]}{_meant(strange[0], options or known)} See {action} --help."
    if unknown:
        below = re.findall(r"[\w-]+", _section(text, "Available subcommands:"))
        return f"{action} does not understand {unknown[0]!r}{_meant(unknown[0], below)} See {action} --help."
    # A name stands alone on its line, with what it takes; lines of help are sentences that may name other options.
    named = [re.fullmatch(r"(--[a-z][\w-]*)(?: [A-Z{]\S*)*|([A-Z]+)", line) for line in lines]
    needed = list(dict.fromkeys(match[1] or match[2] for match in named if match))
    if found and needed:
        return f"{action} needs {_and(needed)}; give {'them' if len(needed) > 1 else 'it'}. See {action} --help."
    wrong = re.search(r"Error parsing (\S+): (.*?)(?: Argument helptext| For full helptext|$)", text)
    if wrong:
        value = words[words.index(wrong[1]) + 1] if wrong[1] in words[:-1] else None
        given = f" is {value!r}, which cannot be read" if value is not None else ""
        return f"{wrong[1]}{given} ({wrong[2].rstrip('.')}). See {action} --help."
    choice = re.search(r"invalid choice '(.*?)' for argument '(\S+)'. Expected one of \((.*?)\)", text)
    if choice:
        known = [word for word in re.findall(r"'(.*?)'", choice[3]) if word != "None"]
        return f"{choice[2]} is {choice[1]!r}, but one of {', '.join(sorted(known))} is needed. See {action} --help."
    absent = re.search(r"Missing value for argument '(\S+)'", text)
    if absent:
        return f"{action} needs {absent[1].upper()}, which is not there. See {action} --help."
    choices = re.search(r"Missing subcommand.*? Expected one of \{(.*?)\}", text)
    if choices:
        return f"{action} needs one of {choices[1]} after it. See {action} --help."
    rest = re.split(r" (?:For full helptext|Argument helptext)", text)[0].rstrip(". ")
    return f"{rest or 'the command line cannot be understood'}. See {action} --help."


def _section(text: str, heading: str) -> str:
    """Return what follows a heading up to the next one."""
    _, found, rest = text.partition(heading)
    ends = "Unrecognized options|For full helptext|Perhaps you meant|Available subcommands"
    return re.split(f"(?:{ends})", rest)[0] if found else ""


def _options_of(action: str) -> list[str]:
    """Return the options that a command's help lists."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        parse_command([*action.split()[1:], "--help"], "")
    return sorted(set(re.findall(r"--[a-z][\w-]*", shown.getvalue())))


def _meant(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {close[0]}?" if close else "."


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
