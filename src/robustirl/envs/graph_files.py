"""Read graphs from files as they are published: DIMACS and edge lists, plain or compressed."""

import array
import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from robustirl._runtime import as_path, excess, one_line, read_regular, require_memory, short_repr
from robustirl.errors import InvalidInputError

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
DIGITS = 9  # Of the largest number of nodes or edges: what is counted is kept in arrays.
CHUNK = 2**24  # Bytes unpacked between two looks at the memory.
EDGE_BYTES = 48  # An edge, read and counted from 0.
WHAT, KINDS = ("nodes", "edges"), (b"a", b"e")


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
        content = _unpacked(read_regular(file), file.suffix)
        if not content.isascii():
            raise ValueError("it holds other characters than those of ASCII")
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        raise InvalidInputError(f"{path} cannot be read ({reason}); give the path of a DIMACS graph.") from None
    lines = _lines(content)
    first = next(lines, [])
    if len(first) < 4 or first[0] != b"p":
        raise InvalidInputError(f"{path} does not begin with a line 'p NAME nodes edges', as DIMACS graphs do.")
    words = [word.decode("ascii") for word in first[2:4]]
    nodes, count = (_count(path, f"the number of {name}", word) for name, word in zip(WHAT, words, strict=True))
    most = min(count, content.count(b"\n") + 1)
    require_memory(float(EDGE_BYTES) * most, f"{path} with its {most} edges", "use a smaller graph")
    edges = _edges(path, lines, count)
    if len(edges) != count:
        raise InvalidInputError(f"{path} has {len(edges)} edges, but its first line says {count}; it was cut off.")
    if edges.size and not (edges.min() >= 1 and edges.max() <= nodes):
        raise InvalidInputError(
            f"{path} names node {int(edges.max() if edges.max() > nodes else edges.min())}, but nodes are numbered from"
            f" 1 to {nodes}."
        )
    return edges - 1, nodes


def _lines(content: bytes) -> Iterator[list[bytes]]:
    """Yield the words of every line but comments and empty ones, one line at a time."""
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    for line in io.BytesIO(content):
        if not line.startswith(b"c") and (words := line.split()):
            yield words


def _edges(path: str | os.PathLike[str], lines: Iterator[list[bytes]], count: int) -> np.ndarray:
    """Return the edges of lines, `[E, 2]`, which may be fewer than `count` but not more."""
    found, kind = array.array("q"), None
    for row in lines:
        if kind is None:
            kind = b"" if row[0].isdigit() else row[0]
        if kind and (row[0] != kind or kind not in KINDS):
            kinds = ", ".join(sorted({word.decode("ascii") for word in (kind, row[0])}))
            raise InvalidInputError(
                f"{path} has lines that begin with {short_repr(kinds, 60)}, but edges are all written in one way,"
                " 'u v', 'e u v' or 'a u v length'."
            )
        if len(found) == 2 * count:
            raise InvalidInputError(f"{path} has more edges than its first line says, {count}; correct that line.")
        try:
            start, end = row[1:3] if kind else row[:2]
            found.append(int(start))
            found.append(int(end))
        except (ValueError, OverflowError):
            raise InvalidInputError(f"{path} has a line that is no edge: two numbers of nodes are needed.") from None
    return np.frombuffer(found, dtype=np.int64).reshape(-1, 2) if found else np.zeros((0, 2), dtype=np.int64)


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
