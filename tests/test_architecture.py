"""Rules of the package that import-linter cannot see, read off the syntax trees."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "robustirl"
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
