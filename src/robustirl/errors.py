"""The few exception types of the library.

Every message is one sentence that names the culprit, its value, and what to do about it.
"""

MAX_LENGTH = 2_000
"""The longest message in characters; of a longer one, which quotes foreign data, the middle is cut."""


def _shortened(text: str) -> str:
    if len(text) <= MAX_LENGTH:
        return text
    half = (MAX_LENGTH - 5) // 2
    return f"{text[: MAX_LENGTH - 5 - half]} ... {text[-half:]}"


class RobustIRLError(Exception):
    r"""The base of every error this library raises on purpose.

    Messages quote names from files. Control characters, which a terminal would obey, are written out.

    Example:
        >>> len(str(RobustIRLError("x" * 10**6)))
        2000
        >>> print(RobustIRLError("there is no state 'a\x1b[2Jb'."))
        there is no state 'a\x1b[2Jb'.
    """

    def __str__(self) -> str:
        text = _shortened(super().__str__())
        if text.isprintable():
            return text
        return _shortened("".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text))


class InvalidInputError(RobustIRLError, ValueError):
    """Data, a parameter or a request that cannot be accepted."""


class ConvergenceError(RobustIRLError, RuntimeError):
    """A solver ended before it reached the accuracy that was asked of it."""
