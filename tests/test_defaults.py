"""Defaults and constants of all modules are those that were decided: a changed one is a decision, too.

`python -m tests.test_defaults` writes them anew. The table has, module by module, the defaults of functions, methods
and the fields of classes, the constants at the top of a module, and the attributes and flags of classes.
"""

import ast
import dataclasses
import enum
import importlib
import inspect
import itertools
import json
import logging
import pkgutil
import re
import sys
import weakref
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

import robustirl

GOLDEN = Path(__file__).parent / "golden" / "defaults.json"
CONSTANT = re.compile("(?!DOCUMENTED)_?[A-Z][A-Z0-9_]+")  # Other tests look at the names that are documented.
LONGEST = 4000  # Characters of a value: longer ones are data that other tests look at.


def text_of(value: Any) -> str | None:
    """A value as it is written in the table; None for what has no text of its own, or changes while it is used."""
    if isinstance(value, itertools.count | weakref.WeakSet):
        return None
    if isinstance(value, Path):
        return None if value.is_absolute() else f"Path({value.as_posix()!r})"
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return text_of(value.tolist())
    if isinstance(value, re.Pattern):
        return value.pattern
    if isinstance(value, Mapping):
        parts = [f"{text_of(key)}: {text_of(each)}" for key, each in value.items()]
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, Set):
        return "{" + ", ".join(sorted(str(text_of(each)) for each in value)) + "}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = {field.name: text_of(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return f"{type(value).__name__}({', '.join(f'{name}={text}' for name, text in given.items())})"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(str(text_of(each)) for each in value) + ")"
    if isinstance(value, float):
        return f"{value:.12g}"
    if callable(value):
        return "a function"  # Which may be renamed without a decision.
    text = repr(value)
    return None if " at 0x" in text or isinstance(value, logging.Logger | TypeVar) else text


def of_signature(function: Any) -> Iterator[tuple[str, str]]:
    """The defaults of a function's arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    for one in parameters:
        if one.default is not inspect.Parameter.empty and (text := text_of(one.default)) is not None:
            yield one.name, text


def assigned(body: list[ast.stmt]) -> Iterator[str]:
    """The names that a module or a class assigns a value to at its top."""
    for line in body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and _is_registry(line.value):
            continue
        if isinstance(line, ast.Assign):
            for node in [node for target in line.targets for node in ast.walk(target)]:
                if isinstance(node, ast.Name):
                    yield node.id
        elif isinstance(line, ast.AnnAssign) and line.value is not None and isinstance(line.target, ast.Name):
            yield line.target.id


def _is_registry(value: ast.expr | None) -> bool:
    """Whether a value is empty in the source: others fill it, and which of them depends on what is imported."""
    return (isinstance(value, ast.Dict) and not value.keys) or (isinstance(value, ast.List) and not value.elts)


def of_module(module: ModuleType) -> Iterator[tuple[str, str]]:
    """All of a module, by name."""
    for line in (body := ast.parse(inspect.getsource(module)).body):
        if isinstance(line, ast.FunctionDef):
            yield from ((f"{line.name}({name})", text) for name, text in of_signature(vars(module)[line.name]))
        elif isinstance(line, ast.ClassDef):
            yield from of_class(vars(module)[line.name], line)
    for name in assigned(body):
        # A constant has capital letters; other names hold a state, or stand for a type.
        if CONSTANT.fullmatch(name) and (text := text_of(vars(module).get(name))) is not None:
            yield name, text


def of_class(thing: type, source: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Of a class: its arguments, what it assigns, and its methods."""
    arguments = dict(of_signature(thing))
    yield from ((f"{thing.__name__}({name})", text) for name, text in arguments.items())
    for name in assigned(source.body):
        if name not in arguments and name in vars(thing) and (text := text_of(vars(thing)[name])) is not None:
            yield f"{thing.__name__}.{name}", text
    for field in dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ():
        if field.default_factory is not dataclasses.MISSING and (text := text_of(field.default_factory())) is not None:
            yield f"{thing.__name__}.{field.name}", text
    if dataclasses.is_dataclass(thing):
        yield f"class {thing.__name__}", flags_of(thing)
    for line in source.body:
        if isinstance(line, ast.FunctionDef) and line.name != "__init__":
            member = vars(thing).get(line.name)
            function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            yield from ((f"{thing.__name__}.{line.name}({name})", text) for name, text in of_signature(function))


def flags_of(thing: Any) -> str:
    """How instances of a dataclass are compared, and which fields are not data of a JAX program or not shown."""
    flags = [name for name in ("eq", "order") if getattr(thing.__dataclass_params__, name)]
    fields = dataclasses.fields(thing)
    static = [field.name for field in fields if field.metadata.get("static")]
    hidden = [field.name for field in fields if not field.repr or not field.init or field.compare is False]
    return f"{' '.join(flags) or 'by identity'}; static: {', '.join(static)}; apart: {', '.join(hidden)}"


def defaults() -> dict[str, dict[str, str]]:
    """All defaults and constants, by module; of modules that need a library that is not installed, none."""
    found = {}
    for one in sorted(pkgutil.walk_packages(robustirl.__path__, "robustirl."), key=lambda one: one.name):
        if one.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(one.name)
        except ImportError:
            continue
        found[one.name] = {name: text for name, text in sorted(of_module(module)) if len(text) <= LONGEST}
    return {name: given for name, given in found.items() if given}


def test_defaults_and_constants_are_those_that_were_decided():
    golden, now = json.loads(GOLDEN.read_text(encoding="utf-8")), defaults()
    changed = [
        f"{place}: {name} is {now[place][name]}, and was {text}"
        for place, given in golden.items()
        for name, text in given.items()
        if now.get(place, {}).get(name, text) != text
    ]
    assert changed == [], "if this is meant, run python -m tests.test_defaults, and say it in CHANGELOG.md"
    assert len(golden) > 200


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(defaults(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {GOLDEN}\n")
