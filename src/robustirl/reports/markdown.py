"""Tables as Markdown."""

from collections.abc import Iterable, Sequence


def to_markdown(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; entries are written with `str`.

    Example:
        >>> print(to_markdown(("α", "return"), [(0.9, "-3.1"), (1, "-7.0")]), end="")
        | α | return |
        | --- | --- |
        | 0.9 | -3.1 |
        | 1 | -7.0 |
    """
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
