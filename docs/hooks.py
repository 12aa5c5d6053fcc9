"""What MkDocs is told beyond `mkdocs.yml`: pages without a place in the menu, links that leave the site, the API."""

import re
from pathlib import Path

OUTWARD = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#\s]+)(?:#[^)]*)?\)")
"""A link to a file of the repository that is no page: a test, the README."""

EVERY_NAME = re.compile(r"<!-- every name of ([\w.]+) -->")
"""Stands for the documentation of all that a room shows, so that no list of it has to be kept."""


IN_PARTS = (".RobustIRL",)
"""Classes whose methods stand in several files."""


def on_config(config):
    """Give every page a place in the menu: those that `mkdocs.yml` does not name stand under Development."""
    named = set(re.findall(r"'([^']+\.md)'", str(config.nav)))
    for page in sorted(Path(config.docs_dir).glob("*.md")):
        if page.name not in named:
            title = page.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
            development = next(part["Development"] for part in config.nav if "Development" in part)
            development.append({title: page.name})
    return config


SHIM = re.compile(r'<script src="https://[^"]*iframe-worker/shim"></script>')
"""What the theme would fetch from a network so that its search works on a site opened from disk."""


def on_post_page(output, page, **_):
    """Put our own stand-in for workers, `worker.js`, in the place of the theme's."""
    root = "../" * page.file.src_uri.count("/")
    return SHIM.sub(f'<script src="{root}worker.js"></script>', output)


def on_post_template(output, template_name, **_):
    """Do the same for the page of an address that does not exist."""
    return SHIM.sub('<script src="/worker.js"></script>', output) if template_name == "404.html" else output


def on_page_markdown(markdown, page, **_):
    """Name the files of the repository that links lead to, and bring in the API; keep tables out of the search."""
    if page.file.src_uri.startswith("data/"):
        page.meta["search"] = {"exclude": True}
    depth = page.file.src_uri.count("/")
    markdown = OUTWARD.sub(lambda m: m[0] if _inside(m[0], depth) else f"{m[1]} (`{m[2]}`)", markdown)
    return EVERY_NAME.sub(lambda m: "\n\n".join(f"::: {name}{_options(name)}" for name in names(m[1])), markdown)


def _options(name: str) -> str:
    """Return the options of one entry: a class in parts is shown with what it has from them."""
    return "\n    options:\n      inherited_members: true" if name.endswith(IN_PARTS) else ""


def names(room: str) -> list[str]:
    """Return what a room documents, the main names first, each by where it is defined."""
    source = Path(__file__).parents[1].joinpath("src", *room.split("."), "__init__.py").read_text(encoding="utf-8")
    main, documented = (_listed(source, name) for name in ("__all__", "DOCUMENTED"))
    places = {name: place for place, name in re.findall(r"^from (\S+) import (\w+) as \w+$", source, flags=re.M)}
    return [f"{places[name]}.{name}" for name in [*main, *(name for name in documented if name not in main)]]


def _listed(source: str, name: str) -> list[str]:
    """Return the strings of a list in a module."""
    found = re.search(rf"^{name} = \[(.*?)\]", source, flags=re.M | re.S)
    return re.findall(r'"(\w+)"', found[1]) if found else []


def _inside(link: str, depth: int) -> bool:
    """Return whether a link's steps upwards stay within the pages."""
    return link.count("../") <= depth
