"""Change functions where they are: the code of a changed file put into the functions of the module that is loaded.

Loading the package and the tests takes seconds, and most changes are inside of functions. Those need no loading: a
function keeps its identity, whoever has imported it, and gets other code. What is executed while a module is loaded
(constants, defaults, decorators, the bodies of classes) cannot be changed so.
"""

import ast
import collections
import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import NamedTuple

Functions = Mapping[CodeType, Sequence[FunctionType]]


class Patch(NamedTuple):
    """What is different in a changed file: old and new code of functions, and whether it has to be loaded anew."""

    codes: Mapping[CodeType, CodeType]
    at_import: bool


def live_functions(folder: str) -> dict[CodeType, list[FunctionType]]:
    """Return all functions that are defined in files below a folder, by their code."""
    found: dict[CodeType, list[FunctionType]] = collections.defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(folder):
            found[thing.__code__].append(thing)
    return found


def difference(before: ast.Module, after: ast.Module, path: str) -> Patch:
    r"""Compare two versions of a file that have the same functions in the same places.

    Example:
        >>> before, after = (ast.parse(f"a = 1\ndef f(): return {value}") for value in (1, 2))
        >>> patch = difference(before, after, "f.py")
        >>> [code.co_name for code in patch.codes], patch.at_import
        (['f'], False)
    """
    codes: dict[CodeType, CodeType] = {}
    pending = [(compile(before, path, "exec"), compile(after, path, "exec"), False)]
    at_import = False
    while pending:
        old, new, called = pending.pop()
        called = called or bool(old.co_flags & _NEW_LOCALS and old.co_flags & _OPTIMIZED)
        if called and old != new:
            codes[old] = new
        elif not called:
            at_import |= _own(old) != _own(new)
        if len(_inner(old)) != len(_inner(new)):  # A function that is never reached was left out by the compiler.
            at_import |= not called
            continue
        pending += [(*pair, called) for pair in zip(_inner(old), _inner(new), strict=True)]
    return Patch(codes, at_import)


def apply(patch: Patch, functions: Functions) -> None:
    """Give the functions their new code."""
    for old, new in patch.codes.items():
        for function in functions.get(old, ()):
            function.__code__ = new


def reaches(patch: Patch, functions: Functions) -> bool:
    """Return whether every change is in a function that is there, or inside of one."""
    there = [old for old in patch.codes if functions.get(old)]
    inside = {id(code) for old in there for code in _all(old)}
    return all(id(old) in inside for old in patch.codes)


_OPTIMIZED, _NEW_LOCALS = (
    1,
    2,
)  # Flags of functions' code; that of modules and of the bodies of classes lacks the first.


def _own(code: CodeType) -> tuple[object, ...]:
    """Return what a piece of code does, without the functions and classes inside."""
    constants = tuple(repr(value) for value in code.co_consts if not isinstance(value, CodeType))
    return code.co_code, constants, code.co_names


def _inner(code: CodeType) -> list[CodeType]:
    return [value for value in code.co_consts if isinstance(value, CodeType)]


def _all(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in _inner(code):
        yield from _all(inner)


def called_in(calls: Iterable[CodeType], patch: Patch) -> bool:
    """Return whether a changed function is among those that were called."""
    return not patch.codes.keys().isdisjoint(calls)
