"""Run the command line: one dataclass a command, whose fields are the options, over the library's own functions.

Exit statuses: 0; 1 if a check of a fit failed; 2 if what was asked for cannot be done, with one sentence; 3 after an
error that no check has foreseen; 130 after Ctrl-C.
"""

import json
import os
import sys
from collections.abc import Sequence

from robustirl.errors import RobustIRLError

TRACEBACK = "ROBUSTIRL_TRACEBACK"
"""Set in the environment, it has an unforeseen error show its traceback."""
INTERRUPTED = 130
CLOSED_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status.

    Args:
        arguments: The words of the command; those of this process if omitted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from robustirl.cli.parser import parse
    except ModuleNotFoundError as error:
        if error.name not in ("tyro", "rich"):
            raise
        print("robustirl: the command line needs tyro; pip install 'robustirl[cli]'.", file=sys.stderr)
        return 2
    request = None
    try:
        request = parse(words)
        status, error = request.run(), None
    except RobustIRLError as refusal:
        status, error = 2, str(refusal)
    except KeyboardInterrupt:
        status, error = INTERRUPTED, "interrupted."
    except BrokenPipeError:  # The reader of the output has closed it, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except Exception as defect:
        if os.environ.get(TRACEBACK):
            raise
        reason = "memory ran out" if isinstance(defect, MemoryError) else f"{type(defect).__name__}: {defect}"
        reason = " ".join(reason.split())
        status = 3
        error = f"{reason}. No check has foreseen this; {TRACEBACK}=1 in the environment shows where it happened."
    if error is not None:
        print(f"robustirl: {error}", file=sys.stderr)
    if request is not None and request.json:
        name = words[0] if words else ""
        answers = {"command": name, "exit_status": status, **({} if error is None else {"error": error})}
        print(json.dumps(answers | request.answers, ensure_ascii=False, allow_nan=False))
    return status
