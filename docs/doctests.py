"""Docstrings here say `Example:`; the reader of Google-style docstrings knows programs by `Examples:` alone."""

import re
from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Show the example of a docstring as the program it is."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Handle every module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"^(\s*)Example:$", r"\1Examples:", obj.docstring.value, flags=re.M)
