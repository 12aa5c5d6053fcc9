"""The rooms are as `docs/architecture.md` draws them, and each is entered by its front door."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "robustirl"
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


@functools.cache
def parsed(path):
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def import_statements(path):
    """Every `from robustirl... import` of a file, and whether it is inside a function, and for type checkers only."""
    found = []

    def visit(node, inside, typing):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ImportFrom) and child.module and child.module.split(".")[0] == "robustirl":
                found.append((child, inside, typing))
            elif isinstance(child, ast.stmt):
                within = inside or isinstance(child, ast.FunctionDef)
                checking = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
                visit(child, within, typing or checking)

    visit(parsed(path), False, False)
    return found


def imports(path):
    """Every `from robustirl... import name` of a file: the module, the name, and the line."""
    for node, _, _ in import_statements(path):
        for alias in node.names:
            yield node.module, alias.name, node.lineno


def room_of(path):
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else None


def crossings():
    """Imports from one room into another: file, room entered, rest of the module, name, line."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for module, name, line in imports(path):
            parts = module.split(".")[1:]
            if not parts and name in ROOMS:  # from robustirl import envs
                parts, name = [name], None
            if parts and parts[0] in ROOMS and room_of(path) not in (None, parts[0]):
                yield path, parts[0], parts[1:], name, line


def bound(room):
    """What the front door of a room binds."""
    tree = parsed(PACKAGE / room / "__init__.py")
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return names | {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def arrows():
    """The drawing: a line a room, with the rooms it imports."""
    seen: dict[str | None, set[str]] = {room: set() for room in ROOMS}
    for path, entered, *_ in crossings():
        seen[room_of(path)].add(entered)
    width = max(map(len, ROOMS))
    return "\n".join(f"{room:{width}} → {' '.join(sorted(seen[room])) or '(none)'}" for room in ROOMS)


def test_the_drawn_arrows_are_the_imports():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    drawn = re.search(r"<!-- arrows -->\n```\n(.*?)\n```", page, re.S)
    assert drawn is not None
    assert drawn[1] == arrows(), "bring the block in docs/architecture.md up to date:\n" + arrows()


def test_rooms_are_entered_by_their_front_doors():
    doors = {room: bound(room) for room in ROOMS}
    culprits = []
    for path, room, deeper, name, line in crossings():
        # The paper is no library but what the command line runs, a module a command: these are its doors.
        public_module = room == "paper" and not any(part.startswith("_") for part in deeper)
        if name is not None and not public_module and (deeper or name not in doors[room]):
            culprits.append(f"{path.relative_to(PACKAGE)}:{line} takes {name} from {'.'.join([room, *deeper])}")
    assert not culprits, "\n".join(culprits)


def test_only_the_command_line_imports_the_paper():
    assert {room_of(path) for path, room, *_ in crossings() if room == "paper"} <= {"cli"}


def test_the_main_names_are_about_fifty_and_the_documented_ones_exist():
    main, documented = set(), set()
    for room in ROOMS:
        tree = parsed(PACKAGE / room / "__init__.py")
        lists = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
        own = {name: set(ast.literal_eval(lists[name])) for name in ("__all__", "DOCUMENTED") if name in lists}
        assert set().union(*own.values()) <= bound(room), room
        if "DOCUMENTED" in own:
            assert own["__all__"] <= own["DOCUMENTED"], room
            main, documented = main | own["__all__"], documented | own["DOCUMENTED"]
    assert 40 < len(main) <= 60
    assert len(documented) < 200


FACADES = {
    ("demonstrations.trajectories", "demonstrations.io.frames"),  # Demonstrations.from_frame
    ("envs.physics.mujoco", "envs.physics.gymnasium_models"),  # mujoco_world("hopper")
}
"""Functions that stand for others in files which are built on theirs."""


def test_no_import_within_a_function_closes_a_circle():
    files = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    every, within = {}, set()
    for name, path in files.items():
        every[name] = set()
        for node, inside, typing in import_statements(path):
            module = node.module.removeprefix("robustirl").removeprefix(".")
            targets = [f"{module}.{alias.name}".removeprefix(".") for alias in node.names if not typing]
            for target in [target if target in files else module for target in targets]:
                every[name].add(target)
                within |= {(name, target)} if inside else set()

    def reached(start):
        found, left = set(), [start]
        while left:
            found |= (new := every.get(left.pop(), set()) - found)
            left += new
        return found

    assert {(name, target) for name, target in within if name in reached(target)} == FACADES
