"""The first ten minutes are as they are written down: the file by hand, the commands, and every line they print."""

import itertools
import shlex
from pathlib import Path

import pytest

from robustirl import cli
from tests.test_docs import blocks

PAGE = Path(__file__).parents[1] / "docs" / "newcomer.md"


def sessions():
    """Pairs of commands and what is printed, from the page."""
    found = blocks(PAGE, "sh", "text")
    return [(a, b) for a, b in itertools.pairwise(found) if "test_newcomer" in a.comment]


def plain(text):
    return " ".join(text.split())


@pytest.mark.parametrize(("commands", "printed"), sessions(), ids=[a.text.split()[1] for a, _ in sessions()])
def test_the_commands_print_what_the_page_says(commands, printed, here, capsys):
    (walks,) = blocks(PAGE, "csv")
    (here / "walks.csv").write_text(walks.text)
    for line in commands.text.replace("\\\n", " ").splitlines():
        assert cli.main(shlex.split(line)[1:]) in (0, 1)  # A fit from two walks is not to be relied on.
    shown = plain(capsys.readouterr().out)
    for line in printed.text.splitlines():
        assert plain(line) in shown


def test_the_page_has_such_commands():
    assert len(sessions()) >= 2
