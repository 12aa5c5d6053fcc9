"""What can be changed in a file: comparisons, operators, numbers, conditions, one at a time.

Left alone are numbers that are there to be tuned (TUNING), the looks of figures (LOOKS), and flags that only guard or
describe (GUARDS): another value of these is as right.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BINARY = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,  # But not the other way: most `|` are those of types.
}
COMPARE = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
# Numbers that decide how fast an answer comes, and not what it is: another value is as right.
TUNING = {
    "mdp/layout": ("LEAST_STATES",),
    "planning/columns": ("LOW_TIES",),
    "planning/linear/krylov": (
        *("REDUCTION", "MOST_INNER", "SWEPT_REDUCTION", "UNROLLED"),
        *("F32_SWEEP_MAX_DISCOUNT", "F32_KRYLOV_MAX_DISCOUNT", "MOST_REFINEMENTS"),
    ),
    "planning/linear/dense": ("LARGEST_MATRIX", "STRAIGHT", "UPDATE_MAX_ERROR"),
    "planning/solve": ("SWEEP_MAX_DISCOUNT", "SPARSE_MIN_DISCOUNT", "LARGEST_INVERTED", "LARGEST_FACTORED"),
    "planning/solvers/base": ("NEWTON_MAX_STEPS",),
    "planning/solvers/newton": ("chord_rate", "ahead_sweeps", "ahead_rounds"),
    "planning/solvers/newton_krylov": (
        *("sweeps", "inner_tol", "max_inner", "f32_tol", "f64_inner_tol", "patience", "doubling"),
    ),
    "planning/solvers/newton_sparse": ("sweeps", "patience"),
}
# Keywords of drawing functions: whether a line is 1.2 or 1.5 points wide is judged by eye.
LOOKS = {
    *("figsize", "fontsize", "linewidth", "linewidths", "lw", "elinewidth", "markersize", "ms", "markerscale", "s"),
    *("alpha", "framealpha", "zorder", "dpi", "pad", "h_pad", "w_pad", "labelpad", "labelsize", "capsize", "shrink"),
    *("width_ratios", "height_ratios", "frameon", "bbox_to_anchor", "linespacing", "xytext", "handlelength", "bbox"),
    *("arrowprops", "columnspacing", "headwidth", "headlength", "headaxislength", "minlength", "markeredgewidth"),
    *("linestyle", "color", "rotation", "width", "layout", "constrained_layout", "aspect"),
}
DRAWING = ("plotting/", "paper/figures/")
GUARDS = {"strict", "maxsize", "stacklevel", "frozen", "kw_only", "slots", "repr", "indent"}


class Mutant(NamedTuple):
    """A change: the place of a node in the walk over a file, where that is in the text, and what happens to it."""

    file: str
    node: int
    line: int
    change: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Return every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    spared = {id(node) for constant in [*tuning(tree, path), *_flags(tree, path)] for node in ast.walk(constant)}
    for place, node in enumerate(ast.walk(tree)):
        if id(node) not in spared and (change := _change(node)) is not None:
            yield Mutant(str(path.relative_to(ROOT)), place, getattr(node, "lineno", 0), change[0])


def sources() -> list[Path]:
    """Return the files whose mutants are drawn: all rooms."""
    found = sorted((ROOT / "src" / "robustirl").rglob("*.py"))
    return [path for path in found if path.name not in ("__init__.py", "__main__.py")]


def place_of(path: Path) -> str:
    """Return where a file is in the package, without its suffix."""
    parts = path.with_suffix("").parts
    return "/".join(parts[parts.index("robustirl") + 1 :])


def tuning(tree: ast.Module, path: Path) -> list[ast.stmt]:
    """Return the constants and the fields of classes that are there to be tuned."""
    names = TUNING.get(place_of(path), ()) if path.is_relative_to(ROOT / "src") else ()
    fields = [line for block in tree.body if isinstance(block, ast.ClassDef) for line in block.body]
    assigned = {line: line.targets[0] for line in tree.body if isinstance(line, ast.Assign)}
    assigned |= {line: line.target for line in fields if isinstance(line, ast.AnnAssign)}
    return [line for line, target in assigned.items() if isinstance(target, ast.Name) and target.id in names]


def _flags(tree: ast.Module, path: Path) -> list[ast.expr]:
    """Return arguments that only guard or describe, and those that decide nothing but the looks of a figure."""
    draws = path.is_relative_to(ROOT / "src") and place_of(path).startswith(DRAWING)
    names = GUARDS | LOOKS if draws else GUARDS
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [keyword.value for call in calls for keyword in call.keywords if keyword.arg in names]


def _change(node: ast.AST):
    """Return what can be done to a node: a name and a function for each."""
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        other = BINARY[type(node.op)]
        return f"{type(node.op).__name__} -> {other.__name__}", lambda: setattr(node, "op", other())
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        return f"{type(node.op).__name__} -> {other.__name__}", lambda: setattr(node, "op", other())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARE:
        other = COMPARE[type(node.ops[0])]
        return f"{type(node.ops[0]).__name__} -> {other.__name__}", lambda: node.ops.__setitem__(0, other())
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        value = node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 1e-3
        return f"{node.value!r} -> {value!r}", lambda: setattr(node, "value", value)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return f"{node.value} -> {not node.value}", lambda: setattr(node, "value", not node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        return f"{type(node.op).__name__} dropped", lambda: setattr(node, "op", ast.UAdd())
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        return f"{node.attr} -> {NAMES[node.attr]}", lambda: setattr(node, "attr", NAMES[node.attr])
    if isinstance(node, ast.If | ast.IfExp) and ast.unparse(node.test) != "TYPE_CHECKING":  # It is for type checkers.
        return "condition negated", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
    return None


def mutate(text: str, mutant: Mutant) -> str:
    """Return the file with the change."""
    return ast.unparse(mutated_tree(text, mutant))


def mutated_tree(text: str, mutant: Mutant) -> ast.Module:
    """Return the syntax tree of the file with the change; everything is in the line where it was."""
    tree = ast.parse(text)
    change = _change(list(ast.walk(tree))[mutant.node])
    assert change is not None
    change[1]()
    return ast.fix_missing_locations(tree)


def changed_line(text: str, mutant: Mutant) -> str:
    """Return the line that the change makes: what a mutant is known by, wherever it moves in its file."""
    lines = zip(_plain(text), mutate(text, mutant).splitlines(), strict=True)
    return next((after.strip() for before, after in lines if after != before), "")


@functools.cache
def _plain(text: str) -> list[str]:
    return ast.unparse(ast.parse(text)).splitlines()
