"""Requests that cannot be met, in the words of the command line: targets, sources, physics, options of tables."""

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from torture.classes import BadInput, Command

TABLE = "episode,state,action,terminated\n0,1,0,\n0,2,,true\n"
TARGETS = (
    *(
        "imitation:",
        "imitation:full",
        "imitation:file",
        "imitation:/",
        "imitation:.",
        "imitation:..",
        "imitation:a.csv",
    ),
    *("minari:", "minari:a b", "minari:../x-v0", "minari:/etc/x-v0", "minari:x", f"imitation:{'x' * 300}"),
    *(
        "a.csv",
        "./a.csv",
        "full",
        "full/",
        "x.unknown",
        "x",
        "-",
        "/dev/stdout",
        "/dev/null",
        "",
        ".csv",
        "full/../a.csv",
    ),
)
SOURCES = (
    *(
        "imitation:full",
        "minari:nothing-v0",
        "minari:",
        "full",
        "link",
        "http://example.org/a.csv",
        "file:///etc/passwd",
    ),
    *("~/a.csv", "pipe"),
)
OPTIONS = (
    *(("--columns", words) for words in ("episode=", "=x", "episode==x", "", "episode=state,state=state", "x=y")),
    *(("--separator", words) for words in ("", "semi", "ab")),
    *(("--time-step", words) for words in ("nan", "0", "60", "-1")),
    *(("--first-state", words) for words in ("2", "-1", "x")),
    *(("--log-file", words) for words in ("full", "no/such/x.log", "", "a\0b", "pipe")),
)
PHYSICS = (
    *("mass", "mass=", "=1", "mass=nan", "mass=inf", "mass=0", "mass=-1", "mass=1e308", "mass=1_0", "mass=0x10", ""),
    *("nothing=1", "discount=0.5", "self=1"),
)
IMITATE = (
    *(("--env", name) for name in ("nothing", "", "../x.xml", "/etc/passwd", "[/red]")),
    *((option, word) for option in ("--physics", "--expert-physics") for word in PHYSICS),
    ("--physics", "mass=1", "mass=2"),
    *(("--demos", name) for name in ("nothing.npz", "", "minari:", "minari:nothing-v0", ".", "a.csv", "pipe")),
    *(("--steps", word) for word in ("0", "1000000000000000")),
    *(("--expert-steps", word) for word in ("1", "1000000000000000000")),
)


def bad_requests() -> Iterator[BadInput]:
    """Yield every command with everything that it cannot do."""
    for target in TARGETS:
        yield _request("convert", "a.csv", target)
    for source in SOURCES:
        yield _request("convert", source, "b.csv")
    for option in OPTIONS:
        yield _request("convert", "a.csv", "b.csv", *option)
    for words in IMITATE:
        yield _request("imitate", "--out", "new", *words)
    for command in ("explore", "serve"):
        for folder in ("full", "file", "nothing", "", "link", "pipe", "x" * 300, "a\0b"):
            yield _request(command, folder)
    yield _request("study", "buses", "--tail", "backwards", "--out", "new")
    yield _request("study", "transfer", "--families", "--out", "new")


def _request(*words: str) -> BadInput:
    return BadInput(" ".join(words)[:80], functools.partial(_prepared, Command(words)))


def _prepared(command: Command) -> Command:
    """Put a few files here, and return the command."""
    Path("a.csv").write_text(TABLE, encoding="utf-8")
    Path("file").write_text("mine", encoding="utf-8")
    Path("full").mkdir()
    Path("full", "file").write_text("mine", encoding="utf-8")
    Path("link").symlink_to("full")
    os.mkfifo("pipe")
    return command
