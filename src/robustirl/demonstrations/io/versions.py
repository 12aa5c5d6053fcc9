"""Check the schema of demonstration files: one number, raised when their content changes."""

from robustirl._runtime import short_repr
from robustirl.errors import InvalidInputError

NAME = "robustirl.demonstrations"
SCHEMA = 1


def require_schema(path: str, found: object) -> None:
    """Refuse a schema that this release cannot read."""
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise InvalidInputError(
            f"{path} names the schema {short_repr(found)}, but a whole number from 1 to {SCHEMA} is needed."
        )
    if found > SCHEMA:
        raise InvalidInputError(
            f"{path} is of schema {short_repr(found)}, but this release of robustirl reads up to {SCHEMA};"
            " upgrade robustirl."
        )
