"""Options of studies that no study can use: every option of every study times every fault of its kind."""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from robustirl.paper.studies import Frame, require_options, studies
from robustirl.paper.studies.options import MAY_BE_ZERO
from torture.classes import BadInput
from torture.targets import UnclearError

COUNTS = {"minus one": -1, "10**12": 10**12, "2**63": 2**63}
NUMBERS = {"no number": float("nan"), "infinite": float("inf"), "negative": -0.1, "1e308": 1e308}
WORDS = {"markup": "nonsense[/red]", "escapes": "\x1b[31m", "two lines": "a\nb", "5,000 letters": "x" * 5_000}


def bad_options() -> Iterator[BadInput]:
    """Yield every option of every study with every fault."""
    for name, study in studies().items():
        for field in dataclasses.fields(study):  # pyright: ignore[reportArgumentType]
            for what, value in _faults(field).items():
                given = (value,) if isinstance(field.default, tuple) else value
                change = {field.name: () if what == "no values" else given}
                yield BadInput(f"study {name}, {field.name}: {what}", functools.partial(_begin, study, change))


def _faults(field: "dataclasses.Field[Any]") -> dict[str, Any]:
    usual: Any = field.default
    empty = {}
    if isinstance(usual, tuple) and usual:
        usual, empty = usual[0], {"no values": None}
    if isinstance(usual, bool):
        return {}
    if field.name == "stores":
        return {what: Path(word) for what, word in WORDS.items()} | {"missing": Path("missing")}
    if isinstance(usual, float):
        return empty | NUMBERS
    if isinstance(usual, int) or field.name in ("steps", "expert_steps", "fewer"):
        return empty | COUNTS | ({} if field.name in MAY_BE_ZERO else {"zero": 0})
    return empty | WORDS


class _Idle:
    """An engine that does nothing; what asks for it has begun to work."""

    def connect(self) -> NoReturn:
        refuse_work()


def refuse_work(*_: object) -> NoReturn:
    """Raise where a study reports its progress, prints or computes."""
    raise UnclearError("work was begun")


def _begin(study: Any, change: dict[str, Any]) -> object:
    """Begin a study as the command does, as far as its first work."""
    options = study(**change)
    require_options(options)
    return options.run(Frame(Path("new"), refuse_work, refuse_work, _Idle()))
