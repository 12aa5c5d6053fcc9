"""Standard output and standard error as the commands write to them."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from robustirl._runtime import one_line
from robustirl.errors import RobustIRLError

if TYPE_CHECKING:
    TextStream: TypeAlias = IO[str]
else:
    TextStream = object  # What replaces standard output need not have all attributes of IO, which beartype asks for.


class OutputError(RobustIRLError):
    """Standard output cannot be written to."""


class Stream:
    """A stream that writes out the characters that its encoding lacks.

    A failure to write is ignored if `tolerant`, and otherwise an error in a sentence.

    Args:
        stream: Where to write.
        tolerant: Whether to go on where it cannot be written to: a progress bar must not lose the work it reports.
    """

    def __init__(self, stream: TextStream, *, tolerant: bool):
        self._stream, self._tolerant = stream, tolerant

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            text = text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
        self._try(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Hand on what is buffered."""
        self._try(self._stream.flush)

    def _try(self, action: Callable[..., object], *given: str) -> None:
        try:
            action(*given)
        except BrokenPipeError:
            if not self._tolerant:
                raise
        except (OSError, ValueError) as error:  # A stream that was closed raises a ValueError.
            if not self._tolerant:
                reason = getattr(error, "strerror", None) or one_line(error)
                raise OutputError(
                    f"standard output cannot be written to ({reason}); files that were written are kept."
                ) from None


@contextlib.contextmanager
def guarded_stdout() -> Iterator[None]:
    """Print everything to standard output through a `Stream` that is not tolerant.

    Standard output that was closed before Python has started is None; what is printed then goes nowhere.
    """
    stream = Stream(io.StringIO() if sys.stdout is None else sys.stdout, tolerant=False)
    with contextlib.redirect_stdout(cast(TextStream, stream)):
        try:
            yield
        except SystemExit:  # A parser that has printed its help.
            stream.flush()
            raise
        stream.flush()


# What tables, bars and our own texts use beyond ASCII, for terminals that have no more.
_ASCII = {
    **dict.fromkeys(map(ord, "━─╸╺–—"), "-"),
    **dict.fromkeys(map(ord, "│┃"), "|"),
    **dict.fromkeys(map(ord, "┏┓┗┛┡┩└┘├┤┬┴┼╇╈┳┻╋"), "+"),
    **{ord(letter): name for letter, name in zip("αγεπρ", ("alpha", "gamma", "eps", "pi", "rho"), strict=True)},
    ord("…"): "...",
    ord("±"): "+-",
    ord("×"): "x",
}
