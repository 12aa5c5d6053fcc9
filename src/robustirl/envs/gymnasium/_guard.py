"""Import Gymnasium in one place, so that what computes runs where it is not installed."""

from typing import Any

from robustirl.errors import InvalidInputError


def require_gymnasium() -> Any:
    """Return the module `gymnasium`, or refuse with the command that installs it."""
    try:
        import gymnasium
    except ImportError:
        raise InvalidInputError(
            "this needs gymnasium, which is not installed; run `pip install 'robustirl[gymnasium]'`."
        ) from None
    return gymnasium
