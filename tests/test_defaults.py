"""The defaults of everything public are those that were decided: a changed one is a decision, too.

`python -m tests.test_defaults` writes them anew.
"""

import dataclasses
import importlib
import inspect
import json
import sys
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden" / "defaults.json"
ROOMS = (
    "",
    "control",
    "demonstrations",
    "envs",
    "envs.physics",
    "irl",
    "mdp",
    "planning",
    "plotting",
    "rewards",
    "theory",
)
COMMANDS = (
    "compare",
    "continuous",
    "demo",
    "demos",
    "explore",
    "fit",
    "imitate",
    "layouts",
    "reproduce",
    "serve",
    "theory",
)


def of_signature(thing):
    """The defaults of a function's arguments, as Python writes them."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return {}
    given = {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}
    texts = {name: value.as_posix() if isinstance(value, Path) else repr(value) for name, value in given.items()}
    return {name: text for name, text in texts.items() if " at 0x" not in text}


def of_class(thing):
    """The defaults of a class: of its arguments, of its public methods."""
    found = {"": of_signature(thing)}
    for name, member in vars(thing).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if not name.startswith("_") and inspect.isfunction(function):
            found[f".{name}"] = of_signature(function)
    return found


def defaults():
    """All defaults, by name of what has them."""
    found = {}
    for room in ROOMS:
        module = importlib.import_module(f"robustirl.{room}".rstrip("."))
        for name in dict.fromkeys([*module.__all__, *getattr(module, "DOCUMENTED", ())]):
            thing = getattr(module, name)
            place = f"{room}.{name}".lstrip(".")
            if inspect.isclass(thing):
                found |= {f"{place}{member}": given for member, given in of_class(thing).items()}
            elif callable(thing):
                found[place] = of_signature(thing)
    for command in COMMANDS:
        module = importlib.import_module(f"robustirl.cli.{command}")
        for name, thing in vars(module).items():
            if inspect.isclass(thing) and dataclasses.is_dataclass(thing) and thing.__module__ == module.__name__:
                found[f"command {name}"] = of_signature(thing)
    return {name: found[name] for name in sorted(found) if found[name]}


def test_defaults_are_those_that_were_decided():
    golden, now = json.loads(GOLDEN.read_text(encoding="utf-8")), defaults()
    changed = [
        f"{place}: {name} is {now[place][name]}, and was {text}"
        for place, given in golden.items()
        for name, text in given.items()
        if now.get(place, {}).get(name, text) != text
    ]
    assert changed == [], "if this is meant, run python -m tests.test_defaults, and say it in CHANGELOG.md"
    assert len(golden) > 100


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(defaults(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {GOLDEN}\n")
