"""Rules of the package that import-linter cannot see, read off the syntax trees."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "robustirl"
TESTS = Path(__file__).parent
STORAGE = ("Kernel", "Chain")


def asked_types(tree: ast.AST) -> list[str]:
    """The names in the second arguments of `isinstance`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    asked = [call.args[1] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "isinstance"]
    names = [node for kinds in asked for node in ast.walk(kinds) if isinstance(node, ast.Name | ast.Attribute)]
    return [name.id if isinstance(name, ast.Name) else name.attr for name in names]


def test_only_mdp_asks_how_a_kernel_is_stored():
    files = [path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "mdp")]
    assert len(files) > 100
    culprits = {
        str(path.relative_to(PACKAGE)): found
        for path in files
        if (found := [name for name in asked_types(ast.parse(path.read_text("utf-8"))) if name.endswith(STORAGE)])
    }
    assert not culprits, "ask the kernel (diagonals, rank_one, successor_lists, chain), not for its type"


@pytest.mark.parametrize(
    "question",
    ["isinstance(k, DenseKernel)", "isinstance(k, mdp.ListChain)", "isinstance(k, BandedKernel | SuccessorKernel)"],
)
def test_the_rule_sees_the_question_in_every_form(question):
    assert any(name.endswith(STORAGE) for name in asked_types(ast.parse(question)))


def unbounded_programs(tree: ast.AST) -> list[str]:
    """Functions at the top of a module that keep every program they were ever compiled to."""
    functions = [node for node in ast.iter_child_nodes(tree) if isinstance(node, ast.FunctionDef)]
    return [
        f.name for f in functions if any(ast.unparse(d).endswith(("filter_jit", "jax.jit")) for d in f.decorator_list)
    ]


def test_compiled_functions_of_the_library_keep_a_bounded_number_of_programs():
    rooms = [PACKAGE / room for room in ("planning", "theory", "control", "irl")]
    culprits = {
        str(path.relative_to(PACKAGE)): found
        for room in rooms
        for path in room.rglob("*.py")
        if (found := unbounded_programs(ast.parse(path.read_text("utf-8"))))
    }
    assert not culprits, "use BoundedJit of robustirl._runtime"
    assert unbounded_programs(ast.parse("@eqx.filter_jit\ndef f(x): ...")) == ["f"]


def unchecked_annotations(tree: ast.Module) -> list[str]:
    """What beartype refuses, so that `make test-all` could not import the module."""
    protocols = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)
        and not any(isinstance(d, ast.Name) and d.id == "runtime_checkable" for d in node.decorator_list)
    ]
    imported = [name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names]
    return protocols + [name for name in imported if name == "Self"]


def test_every_annotation_can_be_checked_while_tests_run():
    found = {path.name: unchecked_annotations(ast.parse(path.read_text("utf-8"))) for path in PACKAGE.rglob("*.py")}
    assert not {name: names for name, names in found.items() if names}
    assert unchecked_annotations(ast.parse("from typing import Self\nclass P(Protocol): ...")) == ["P", "Self"]


LONGEST_FIRST_LINE = 90


def long_first_lines(tree: ast.AST) -> list[int]:
    """The lines of functions and classes whose docstrings begin with a line that is too long."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    firsts = {node.lineno: (ast.get_docstring(node) or "").partition("\n")[0] for node in found}
    return [line for line, first in firsts.items() if len(first) > LONGEST_FIRST_LINE]


def test_docstrings_begin_with_a_short_line():
    files = sorted(PACKAGE.rglob("*.py"))
    too_long = [f"{path}:{line}" for path in files for line in long_first_lines(ast.parse(path.read_text("utf-8")))]
    assert too_long == [], f"first lines of docstrings have at most {LONGEST_FIRST_LINE} characters; shorten these"
    for length, found in ((90, []), (91, [1])):
        assert long_first_lines(ast.parse(f'def f():\n    """{"x" * length}\n\n    More.\n    """')) == found
