"""Read graphs from files as they are published: DIMACS and edge lists, plain or compressed."""

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from robustirl._runtime import as_path, excess, one_line, read_regular, short_repr
from robustirl.errors import InvalidInputError

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
DIGITS = 9  # Of the largest number of nodes or edges: what is counted is kept in arrays.
CHUNK = 2**24  # Bytes unpacked between two looks at the memory.


def read_graph(path: str | os.PathLike[str]) -> tuple[np.ndarray, int]:
    r"""Return the edges of a file, `[E, 2]` from 0, and the number of nodes.

    The file is one of the DIMACS challenges: a line `p NAME nodes edges`, then one edge a line, `u v`, `e u v` or
    `a u v length`, nodes from 1. Lines that begin with c are comments. It may be compressed (.xz, .gz, .bz2).

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(f"{folder}/path.gr").write_text("p tw 3 2\n1 2\n2 3\n")
        ...     edges, nodes = read_graph(f"{folder}/path.gr")
        >>> edges.tolist(), nodes
        ([[0, 1], [1, 2]], 3)
    """
    file = as_path(path)
    try:
        text = _unpacked(read_regular(file), file.suffix).decode("ascii")
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        raise InvalidInputError(f"{path} cannot be read ({reason}); give the path of a DIMACS graph.") from None
    rows = [line.split() for line in text.splitlines() if not line.startswith("c") and line.strip()]
    if not rows or rows[0][0] != "p" or len(rows[0]) < 4:
        raise InvalidInputError(f"{path} does not begin with a line 'p NAME nodes edges', as DIMACS graphs do.")
    skip = 1 if len(rows) > 1 and not rows[1][0].isdigit() else 0
    kinds = {row[0] for row in rows[1:]} if skip else set()
    if len(kinds) > 1 or not kinds <= {"a", "e"}:
        raise InvalidInputError(
            f"{path} has lines that begin with {short_repr(', '.join(sorted(kinds)), 60)}, but edges are all written in"
            " one way, 'u v', 'e u v' or 'a u v length'."
        )
    what = "nodes", "edges"
    nodes, count = (_count(path, f"the number of {name}", word) for name, word in zip(what, rows[0][2:4], strict=True))
    try:
        edges = np.array([row[skip : skip + 2] for row in rows[1:]], dtype=np.int64).reshape(-1, 2)
    except (ValueError, OverflowError):
        raise InvalidInputError(f"{path} has a line that is no edge: two numbers of nodes are needed.") from None
    if len(edges) != count:
        raise InvalidInputError(f"{path} has {len(edges)} edges, but its first line says {count}; it was cut off.")
    if edges.size and not (edges.min() >= 1 and edges.max() <= nodes):
        raise InvalidInputError(
            f"{path} names node {int(edges.max() if edges.max() > nodes else edges.min())}, but nodes are numbered from"
            f" 1 to {nodes}."
        )
    return edges - 1, nodes


def _count(path: str | os.PathLike[str], name: str, word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= DIGITS):
        raise InvalidInputError(
            f"the first line of {path} says {short_repr(word)} for {name}, but a whole number of at most {DIGITS}"
            " digits is needed."
        )
    return int(word)


def _unpacked(content: bytes, suffix: str) -> bytes:
    """Return what a compressed file holds, as long as memory holds it; other content as it is."""
    if suffix not in OPENERS:
        return content
    parts, size = [], 0
    with OPENERS[suffix](io.BytesIO(content)) as file:
        while part := file.read(CHUNK):
            parts.append(part)
            size += len(part)
            if reason := excess(2 * size):  # The parts, and the whole.
                raise ValueError(f"unpacked, it would hold more than {reason}")
    return b"".join(parts)
