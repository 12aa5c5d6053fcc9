"""Rules of the package that import-linter cannot see, read off the syntax trees."""

import ast
import doctest
from collections.abc import Collection
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "robustirl"
TESTS = Path(__file__).parent
STORAGE = ("Kernel", "Chain")

WHOLE = ("reliability", "browser")  # Folders with tests of the whole package, as those beside this file are.
HELD_BY = {  # Modules, and folders of modules, without a test file of their name: where their tests are.
    "_runtime/drawing": "plotting/test_objects.py",
    "demonstrations/io/table_checks": "demonstrations/io/test_tables.py",
    "demonstrations/io/table_options": "demonstrations/io/test_tables.py",
    "demonstrations/io/versions": "demonstrations/io/test_json_lines.py",
    "envs/environment": "envs/test_tabular.py",
    "envs/gymnasium/guard": "demonstrations/test_rollouts.py",
    "envs/physics": "envs/physics/test_equations.py",
    "envs/recorded": "envs/test_buses.py",
    "irl/mce/objective": "irl/mce/test_matching.py",
    "irl/mce/programs": "irl/mce/test_fit.py",
    "mdp/chains": "mdp/test_kernel_interface.py",
    "mdp/listed": "mdp/test_kernel_interface.py",
    "paper/figures": "paper/figures/test_figures.py",
    "paper/finite/report": "paper/test_paper_pages.py",
    "paper/studies/toy_text_results": "paper/test_paper_tables.py",
    "planning/iterates": "planning/solvers/test_newton_krylov.py",
    "planning/methods": "planning/test_deprecated.py",
    "planning/problem": "planning/test_padding.py",
    "planning/solvers/base": "test_extending.py",
    "plotting/fit": "plotting/test_plotting.py",
    "plotting/maps": "plotting/test_plotting.py",
    "plotting/theory": "plotting/test_plotting.py",
    "sweeps/store/tables": "sweeps/test_request.py",
    "theory/attained": "theory/test_guarantee.py",
}


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


def all_modules() -> dict[Path, Path]:
    """The files of all modules, by the place and the name that their tests have: `irl/_batch.py` is `irl/batch`."""
    files = [path for path in PACKAGE.rglob("*.py") if path.stem not in ("__init__", "__main__")]
    return {path.relative_to(PACKAGE).with_name(path.stem.lstrip("_")): path for path in files}


def all_tests() -> list[Path]:
    return sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


def subject(test: Path, modules: Collection[Path]) -> Path | None:
    """What a test file is named after: a module of the folder that it mirrors, else that folder as a whole."""
    words = test.stem.split("_")[1:]
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    found = [test.parent / name for name in names if test.parent / name in modules]
    return found[0] if found else test.parent if test.parent.name.lstrip("_") in names else None


def test_every_test_file_is_named_after_a_module_or_its_folder():
    modules = all_modules()
    below = [test for test in all_tests() if len(test.parts) > 1 and test.parts[0] not in WHOLE]
    assert len(below) > 300
    strays = [str(test) for test in below if subject(test, modules) is None]
    assert not strays, (
        "tests mirror src: call the file test_<module>.py or test_<module>_<aspect>.py, in the folder that mirrors the"
        " module's; or test_<folder>_<aspect>.py if it is about the whole folder"
    )


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("a/test_b.py", "a/b"),
        ("a/test_b_by_hand.py", "a/b"),
        ("a/test_b_c_by_hand.py", "a/b_c"),
        ("a/test_a_files.py", "a"),
        ("a/test_bees.py", None),
        ("test_b.py", None),
        ("a/c/test_b.py", None),
    ],
)
def test_the_rule_of_names_takes_the_longest_name(test, found):
    assert subject(Path(test), {Path("a/b"), Path("a/b_c")}) == (Path(found) if found else None)


def has_examples(tree: ast.Module) -> bool:
    """Whether pytest runs an example of a docstring."""
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    texts = [ast.get_docstring(node) or "" for node in documented]
    found = [example for text in texts for example in doctest.DocTestParser().get_examples(text)]
    return not all(doctest.SKIP in example.options for example in found)


def needs_tests(tree: ast.Module) -> bool:
    """Whether a module does something that no example of its own shows; types and constants do nothing."""
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree)) and not has_examples(tree)


def test_every_module_has_tests_of_its_name_or_examples():
    modules, tests = all_modules(), all_tests()
    named = {subject(test, modules) for test in tests}
    bare = [one for one in modules if one not in named and needs_tests(ast.parse(modules[one].read_text("utf-8")))]
    held = {Path(name) for name in HELD_BY}
    missing = sorted(str(one) for one in bare if not held & {one, one.parent})
    assert not missing, "write tests/<folder>/test_<module>.py or an example, or say in HELD_BY which tests hold it"
    known = {*bare, *(one.parent for one in bare)}
    assert not sorted(str(one) for one in held if one not in known), "these need no line in HELD_BY any more"
    assert not sorted(test for test in HELD_BY.values() if Path(test) not in tests), "HELD_BY names no such test file"


def test_types_constants_and_examples_need_no_tests():
    assert not needs_tests(ast.parse("A = 1\nclass B:\n    b: int"))
    assert not needs_tests(ast.parse('def f():\n    """F.\n\n    >>> f()\n    """'))
    assert needs_tests(ast.parse('def f():\n    """F.\n\n    >>> f()  # doctest: +SKIP\n    """'))
    assert needs_tests(ast.parse("def f(): ..."))


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
