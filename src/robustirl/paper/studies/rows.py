"""Rows of a study as a CSV file."""

import csv
import dataclasses
import io
from collections.abc import Collection, Iterable
from typing import Any


def to_csv(kind: type, rows: Iterable[Any], *, without: Collection[str] = ()) -> str:
    """Return rows as a CSV file, numbers with four digits.

    Args:
        kind: The dataclass of the rows, whose fields are the columns.
        rows: The rows.
        without: Fields to omit.

    Example:
        >>> from robustirl.paper.published import PublishedReturn
        >>> to_csv(PublishedReturn, [PublishedReturn(-1.23456, 0.5)], without=["deviation"]).splitlines()
        ['mean', '-1.235']
    """
    names = [field.name for field in dataclasses.fields(kind) if field.name not in without]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        cells = [getattr(row, name) for name in names]
        writer.writerow([f"{cell:.4g}" if isinstance(cell, float) else cell for cell in cells])
    return text.getvalue()
