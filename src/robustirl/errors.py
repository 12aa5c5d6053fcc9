"""The few exception types of the library.

Every message is one sentence that names the culprit, its value, and what to do about it.
"""


class RobustIRLError(Exception):
    """The base of every error this library raises on purpose."""


class InvalidInputError(RobustIRLError, ValueError):
    """Data, a parameter or a request that cannot be accepted."""


class ConvergenceError(RobustIRLError, RuntimeError):
    """A solver ended before it reached the accuracy that was asked of it."""


class PrecisionWarning(UserWarning):
    """Not given any more: single precision is had by name only, in `robustirl.single_precision()`."""


class DamagedStoreWarning(UserWarning):
    """Some of a store's files are damaged, so that their runs are missing from what is read."""
