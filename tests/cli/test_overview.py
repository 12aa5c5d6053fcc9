"""Every command explains itself: with an example that can be parsed, and with the names of environments it takes."""

import re
import shlex

import pytest

from robustirl import envs
from robustirl.cli import COMMANDS, main, parse
from robustirl.cli.overview import EXAMPLES, GROUPS

BELOW = [f"demos {name}" for name in ("make", "inspect", "convert")]
NAMED = {
    "fit": envs.names(),
    "theory": envs.names(),
    "demos make": envs.names(),
    "demos inspect": envs.names(),
    "imitate": ["pendulum", "cart-pole", "acrobot", "hopper"],
}


def shown(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert not ended.value.code
    return capsys.readouterr().out


def examples(text):
    """The commands under "As in", with lines that the box has broken put together again."""
    block = text.partition("As in\n")[2]
    lines = [line.strip("│| ") for line in block.splitlines()]
    found = []
    for line in lines:
        if line.startswith("robustirl "):
            found.append(re.split(r"\s{3,}", line)[0])
        elif line.startswith(("╭", "-", "+")) or (found and not line):
            break
    return found


@pytest.mark.parametrize("command", [*COMMANDS, *BELOW])
def test_help_has_examples_that_can_be_parsed(command, capsys):
    text = shown(command.split(), capsys)
    found = examples(text)
    assert found, text
    for line in found:
        assert line.startswith((f"robustirl {command}", f"robustirl {command.removeprefix('demos ')}"))
        assert parse(shlex.split(line)[1:]) is not None
    said = " ".join(text.split())
    for name in NAMED.get(command, ()):
        assert name in said


def test_the_overview_names_every_command_once(capsys):
    text = shown([], capsys)
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    for name in COMMANDS:
        assert len(re.findall(rf"^  {name} +[A-Z]", text, re.MULTILINE)) == 1
    for line in EXAMPLES:
        assert f"  {line}\n" in text
        assert parse(shlex.split(line)[1:]) is not None
    assert all(name in text for name in envs.names())
