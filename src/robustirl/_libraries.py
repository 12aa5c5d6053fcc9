"""Import the libraries that read the environment when they are imported, and raise at what they cannot read."""

import importlib
import os
import signal
import sys
from pathlib import Path

from robustirl.errors import InvalidInputError

READERS = ("jax", "jaxtyping", "equinox")
"""Libraries that have variables of their own; all of them are needed in any case."""


def import_libraries() -> None:
    """Import the libraries; refuse an environment variable that one of them refuses.

    The command `robustirl` then ends with that refusal as its one line. Importing takes a second or more. Ctrl-C in
    that time ends the command without a traceback; `cli.main` changes that.
    """
    if is_command(sys.argv, sys.orig_argv) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    library = READERS[0]
    try:
        for library in READERS:
            importlib.import_module(library)
    except (KeyError, RuntimeError, TypeError, ValueError) as error:  # What they raise at a variable.
        named = [name for name in os.environ if "_" in name and name.lower() in str(error).lower()]
        if not named:
            raise
        name = max(named, key=len)
        value = os.environ[name]
        shown = repr(value if len(value) <= 100 else f"{value[:100]}...")
        refusal = InvalidInputError(
            f"{library} cannot be imported with {name}={shown} in the environment; correct it or unset it."
        )
        if is_command(sys.argv, sys.orig_argv):
            sys.stderr.write(f"robustirl: {refusal}\n")
            raise SystemExit(2) from None
        raise refusal from None


def is_command(argv: list[str], original: list[str]) -> bool:
    """Return whether this process is the command `robustirl`, or `python -m robustirl`.

    Example:
        >>> is_command(["/usr/bin/robustirl", "fit"], ["python", "/usr/bin/robustirl", "fit"])
        True
        >>> is_command(["-m", "fit"], ["python", "-m", "robustirl", "fit"])
        True
        >>> is_command(["script.py"], ["python", "script.py"])
        False
    """
    if not argv or "--multiprocessing-fork" in original:  # A worker has the words of the command that started it.
        return False
    if argv[0] == "-m":
        return "robustirl" in original[: len(original) - len(argv) + 1]
    return Path(argv[0]).stem == "robustirl"
