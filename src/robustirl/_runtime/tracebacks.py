"""Short tracebacks: an error about what was given ends at the call that gave it.

The sentence of an `InvalidInputError` says all there is to know, so that the frames inside the library only hide it.
`ROBUSTIRL_TRACEBACK=1` in the environment keeps them.
"""

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from robustirl.errors import RobustIRLError

KEEP = "ROBUSTIRL_TRACEBACK"
"""The environment variable that keeps whole tracebacks."""

keep_frames: bool = False
"""Whether to keep whole tracebacks without that variable; the tests of this library do."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def short_traceback(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a public function, so that this library's errors leave it without inner frames.

    Example:
        >>> import traceback
        >>> @short_traceback
        ... def refuse():
        ...     def inside():
        ...         raise RobustIRLError("no.")
        ...     inside()
        >>> try:  # doctest: +SKIP
        ...     refuse()
        ... except RobustIRLError as error:
        ...     [frame.name for frame in traceback.extract_tb(error.__traceback__)][1:]
        ['hidden']
    """

    @functools.wraps(function)
    def hidden(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        __tracebackhide__ = True  # For pytest.
        try:
            return function(*args, **kwargs)
        except RobustIRLError as error:
            raise without_frames(error) from None

    return hidden


def without_frames(error: RobustIRLError) -> RobustIRLError:
    """Return an error without its frames so far, unless the environment asks to keep them."""
    return error if keep_frames or os.environ.get(KEEP) else error.with_traceback(None)
