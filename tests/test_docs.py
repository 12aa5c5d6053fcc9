"""The documentation runs: its programs, its commands, its links, its table of the paper, its page of the API."""

import ast
import contextlib
import dataclasses
import importlib
import inspect
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import robustirl
from robustirl import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
SLOW = {
    "choosing-alpha.md",
    "continuous.md",
    "cost.md",
    "faq.md",
    "first-fit.md",
    "guarantee.md",
    "large-worlds.md",
    "physics.md",
    "roads.md",
    "several-experts.md",
    "sweeps.md",
}  # Pages whose programs take longer than the fast suite allows.
SILENT = {"continuous.md"}  # Pages that print what is not promised.
ROOMS = [info.name for info in pkgutil.iter_modules(robustirl.__path__, "robustirl.") if info.ispkg]
# Other rooms are for the command line or for the library itself.
DOCUMENTED = {room for room in ROOMS if hasattr(importlib.import_module(room), "DOCUMENTED")}
PHYSICS = "robustirl.envs.physics"
WITH_PAGE = DOCUMENTED | {PHYSICS}  # This one is within a room, and all of its names are on a page of its own.


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the comment in front of it (`slow: why` or `not run: why`)."""

    language: str
    text: str
    comment: str


def blocks(page, *languages):
    found = re.finditer(r"(?:^<!-- ([^\n]*?) -->\n+)?^```(\w*)[^\n]*\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    return [Block(m[2], m[3], m[1] or "") for m in found if m[2] in languages]


def identity(value):
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else None


PROGRAMS = [
    pytest.param(page, marks=[pytest.mark.slow] if page.name in SLOW else [])
    for page in PAGES
    if blocks(page, "python")
    and page.name not in ("README.md", "theory.md")  # Those two: tests/test_readme.py.
    and page.parent.name != "examples"  # And those: tests/test_examples.py.
]


@pytest.mark.parametrize("page", PROGRAMS, ids=identity)
def test_programs_run_and_print_what_they_promise(page, tmp_path, monkeypatch):
    """All programs of a page in one namespace; lines `# → ...` promise what is printed."""
    monkeypatch.chdir(tmp_path)
    program = "\n".join(block.text for block in blocks(page, "python") if block.comment[:7] != "not run")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, str(page), "exec"), {"__name__": "__page__"})
    promised = re.findall(r"^\s*# → (.*)$", program, re.M)
    if page.name not in SILENT:
        assert printed.getvalue().splitlines() == promised


def commands(page):
    """Every `robustirl ...` line of the page's shell blocks, with the block's comment."""
    for block in blocks(page, "sh", "bash", ""):
        for line in block.text.replace("\\\n", " ").splitlines():
            if line.startswith("robustirl "):
                yield shlex.split(line.split("  #")[0])[1:], block.comment


SESSIONS = [
    pytest.param(page, kind, marks=[pytest.mark.slow] if kind == "slow" else [])
    for page in PAGES
    for kind in ("fast", "slow")
    if any((comment[:4] == "slow") == (kind == "slow") and comment[:7] != "not run" for _, comment in commands(page))
]


@pytest.mark.parametrize(("page", "kind"), SESSIONS, ids=identity)
def test_commands_run(page, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words, comment in commands(page):
        if comment[:7] == "not run" or (kind == "fast" and comment[:4] == "slow"):
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                status = cli.main(words)
            except SystemExit as ended:  # Help and completion scripts end that way.
                status = ended.code or 0
        assert status == 0, words


def test_commands_that_are_not_run_can_be_parsed_and_say_why_they_are_not():
    for page in PAGES:
        for words, comment in commands(page):
            if comment[:7] == "not run":
                assert len(comment) > 12, f"{page.name}: {words}"
                assert cli.parse(words) is not None


def test_targets_of_make_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    for page in PAGES:
        text = page.read_text("utf-8")
        for named in re.findall(r"^make ([\w-]+)", text, re.M) + re.findall(r"`make ([\w-]+)[^`]*`", text):
            assert named in targets, f"{page.name}: make {named}"


def anchors(page):
    """What the headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


def test_no_page_is_long_outside_the_paper():
    paper = {"paper", "reproduction", "theory", "existence", "alpha", "cost", "studies", "continuous", "physics-study"}
    for page in DOCS.rglob("*.md"):
        if page.stem not in paper and page.parent.name != "data":
            assert len(page.read_text("utf-8").split()) <= 1500, page.name


@pytest.mark.parametrize("page", PAGES, ids=identity)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        aim = page.parent / path if path else page
        assert aim.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(aim), f"{page.name}: {target}"


def links_left_out(pages, published):
    """Links of pages to files below docs/ that the built site does not have; hooks.py makes other links plain text."""
    found = []
    for page in pages:
        for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", page.read_text("utf-8")):
            aim = (page.parent / target).resolve()
            if not target.startswith("https://") and aim.is_relative_to(DOCS) and aim not in published:
                found.append(f"{page.relative_to(DOCS)}: {target}")
    return found


def test_links_of_the_site_lead_to_files_of_the_site():
    """MkDocs says of a link to an excluded file only that it is one, and --strict accepts it."""
    config = pytest.importorskip("mkdocs.config").load_config(str(ROOT / "mkdocs.yml"))
    files = importlib.import_module("mkdocs.structure.files").get_files(config)
    published = {Path(file.abs_src_path) for file in files if file.inclusion.is_included()}
    pages = [page for page in DOCS.rglob("*.md") if page in published]
    assert len(pages) > 40
    assert not links_left_out(pages, published)
    assert links_left_out([DOCS / "index.md"], published - {DOCS / "concepts.md"}) == ["index.md: concepts.md"]


def cases(path):
    return set(re.findall(r"^def (test_\w+)", (ROOT / path).read_text("utf-8"), re.M))


def resolve(name):
    """The object that a dotted name below robustirl means."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        with contextlib.suppress(ModuleNotFoundError):
            found = importlib.import_module(".".join(parts[:cut]))
            for part in parts[cut:]:
                found = getattr(found, part)
            return found
    raise AssertionError(name)


def rows(page):
    """The rows of a page's tables, cell by cell, without heads and rules."""
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if "---" not in line]


def test_every_answer_of_the_faq_has_a_program_and_a_test_that_exists():
    parts = re.split(r"^## ", (DOCS / "faq.md").read_text("utf-8"), flags=re.M)[1:]
    assert len(parts) >= 16
    for part in parts:
        question = part.splitlines()[0]
        assert "```python" in part, question
        assert "](https://github.com/" in part, question
        held = re.findall(r"\[`(test_\w+)`\]\(\.\./(tests/[\w/]+\.py)\)", part)
        assert held, question
        for test, path in held:
            assert test in cases(path), f"{question}: {path} has no {test}"


def exports(room):
    """What a room documents: its main names, `__all__`, and then the further ones of `DOCUMENTED`."""
    module = importlib.import_module(room)
    main = getattr(module, "__all__", [])
    return [*main, *(name for name in getattr(module, "DOCUMENTED", []) if name not in main)]


@pytest.mark.parametrize("room", ["robustirl", *ROOMS, PHYSICS])
def test_no_public_name_is_without_a_docstring(room):
    module = importlib.import_module(room)
    assert (module.__doc__ or "").strip()
    for name in exports(room):
        value = getattr(module, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            assert (value.__doc__ or "").strip(), f"{room}.{name}"


def test_the_main_names_are_few_and_are_those_of_the_rooms():
    """The first page of the API names about fifty, and these are what the rooms list in `__all__`."""
    names = re.findall(r"^\| `([\w.]+)` \|", (DOCS / "api" / "index.md").read_text("utf-8"), re.M)
    assert 40 <= len(names) == len(set(names)) <= 55
    for name in names:
        room, _, own = name.rpartition(".")
        module = importlib.import_module("robustirl" if room == "robustirl" else f"robustirl.{room}")
        assert own in module.__all__, name
    shown = {name.rpartition(".")[2] for name in names}
    listed = {name for room in DOCUMENTED for name in importlib.import_module(room).__all__}
    assert listed <= shown, "a main name stands on docs/api/index.md; other names belong into DOCUMENTED"


def used_names(text):
    """The names of rooms that a program uses, each with the module that it takes it from."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("robustirl."):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute):
            for above in ("robustirl", "robustirl.envs"):  # mdp.MDP, physics.make
                if (module := f"{above}.{ast.unparse(node.value)}") in WITH_PAGE:
                    yield module, node.attr


def test_pages_and_examples_use_documented_names():
    """What a page shows is kept: a renamed name warns for one version."""
    programs = [(page, block.text) for page in PAGES for block in blocks(page, "python")]
    programs += [(path, path.read_text("utf-8")) for path in sorted((ROOT / "examples").glob("*.py"))]
    own = {"robustirl.errors", "robustirl.types", "robustirl.cli"}
    culprits = [
        f"{path.name}: {module}.{name}"
        for path, text in programs
        for module, name in used_names(text)
        if module not in own and name not in exports(module) and f"{module}.{name}" not in own | WITH_PAGE
    ]
    assert not culprits
    assert list(used_names("from robustirl.mdp.mdp import MDP\nirl.fit\nphysics.make")) == [
        ("robustirl.mdp.mdp", "MDP"),
        ("robustirl.irl", "fit"),
        (PHYSICS, "make"),
    ]


def test_every_room_has_a_page_of_the_api():
    assert {
        "control",
        "demonstrations",
        "envs",
        "irl",
        "mdp",
        "planning",
        "plotting",
        "rewards",
        "sweeps",
        "theory",
    } <= {room.split(".")[1] for room in DOCUMENTED}
    for room in WITH_PAGE:
        page = DOCS / "api" / f"{room.split('.')[-1]}.md"
        assert f"<!-- every name of {room} -->" in page.read_text("utf-8")


def test_the_pages_of_the_api_find_what_they_document():
    hooks: dict[str, Any] = {"__file__": str(DOCS / "hooks.py")}
    exec(compile((DOCS / "hooks.py").read_text("utf-8"), "hooks.py", "exec"), hooks)
    for room in WITH_PAGE:
        found = hooks["names"](room)
        assert [name.rpartition(".")[2] for name in found] == exports(room)
        assert all(resolve(name) is not None for name in found)


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_needs_no_network(tmp_path):
    pytest.importorskip("mkdocs")
    # Not --quiet: it keeps --strict from seeing the warnings.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # Material's note about its own future.
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=quiet, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    for room in WITH_PAGE:
        shown = (tmp_path / "site" / "api" / f"{room.split('.')[-1]}.html").read_text("utf-8")
        for name in exports(room):
            assert re.search(rf'id="{re.escape(room)}\.[\w.]*\b{name}"', shown), f"{room}.{name}"
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text("utf-8")
        loads = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?(?:https?:)?//[^\s>]+", text)
        assert not loads, f"{page.name}: {loads[:3]}"
        for target in re.findall(r"<a\b[^>]*?\bhref=\"([^\"#]+)", text):
            # The page of unknown addresses links from the root of the site.
            aim = tmp_path / "site" / target.lstrip("/") if target.startswith("/") else page.parent / target
            assert target.startswith("https://") or aim.exists(), f"{page.name}: {target}"
