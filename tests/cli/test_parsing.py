"""What the parser of the command line says in a box is one sentence."""

import pytest

from robustirl.cli.parsing import in_a_sentence, parse_in_words
from robustirl.errors import InvalidInputError

COMMANDS = ["fit", "theory", "demos"]
BOXES = {
    "no command": ("", [], "robustirl needs a command: fit, theory, demos."),
    "a missing option": (
        "│ Missing from robustirl fit: │\n│ --env STR │\n│ The world, as --noise says. │\n│ --out PATH │",
        ["fit"],
        "robustirl fit needs --env and --out; give them. See robustirl fit --help.",
    ),
    "one missing name": (
        "Missing from robustirl demos inspect:\nFILE\nThe file.",
        ["demos", "inspect"],
        "robustirl demos inspect needs FILE; give it. See robustirl demos inspect --help.",
    ),
    "three missing": (
        "Missing from robustirl fit:\n--env STR\n--demos PATH\n--out PATH",
        ["fit"],
        "robustirl fit needs --env, --demos and --out; give them. See robustirl fit --help.",
    ),
    "a word too many": (
        "Unrecognized options: maek\nAvailable subcommands: make, inspect\nFor full helptext, run x",
        ["demos", "maek"],
        "robustirl demos does not understand 'maek'; did you mean make? See robustirl demos --help.",
    ),
    "a value that cannot be read": (
        "Error parsing --noise: invalid float. Argument helptext: x",
        ["fit", "--noise", "much"],
        "--noise is 'much', which cannot be read (invalid float). See robustirl fit --help.",
    ),
    "a value that is not there": (
        "Error parsing --noise: invalid float.",
        ["fit", "--noise"],
        "--noise (invalid float). See robustirl fit --help.",
    ),
    "a choice": (
        "invalid choice 'both' for argument '--tail'. Expected one of ('None', 'hold', 'chain').",
        ["fit"],
        "--tail is 'both', but one of chain, hold is needed. See robustirl fit --help.",
    ),
    "an argument": (
        "Missing value for argument 'store'.",
        ["fit"],
        "robustirl fit needs STORE, which is not there. See robustirl fit --help.",
    ),
    "a subcommand": (
        "Missing subcommand. Expected one of {make,inspect}.",
        ["demos"],
        "robustirl demos needs one of make,inspect after it. See robustirl demos --help.",
    ),
    "something else": ("Odd things. For full helptext, run x", ["fit"], "Odd things. See robustirl fit --help."),
    "nothing": (
        "╭─────╮\n╰─────╯",
        ["fit"],
        "the command line cannot be understood. See robustirl fit --help.",
    ),
}


@pytest.mark.parametrize("name", BOXES)
def test_the_box_of_the_parser_becomes_a_sentence(name):
    box, words, sentence = BOXES[name]
    assert in_a_sentence(box, words, COMMANDS) == sentence


@pytest.mark.parametrize("words", [["--out", ""], ["--out="], ["--out", "  "], ["--out=x", "--out", ""]])
def test_an_empty_out_is_refused_before_anything_is_parsed(words):
    with pytest.raises(InvalidInputError, match=r"^--out is ' *', but a name is needed; give one, as --out found\.$"):
        parse_in_words(lambda: pytest.fail("parsed"), ["fit", *words, "--quick"], COMMANDS)


@pytest.mark.parametrize("words", [["--out", "x", ""], ["--out=x"], ["--", "--out", ""], ["--outer", ""], ["--out"]])
def test_other_empty_words_are_left_to_the_parser(words):
    assert parse_in_words(lambda: 3, ["fit", *words], COMMANDS) == 3
