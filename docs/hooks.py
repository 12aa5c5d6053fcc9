"""What MkDocs is told beyond `mkdocs.yml`: pages without a place in the menu, links that leave the site, the API."""

import importlib
import re

OUTWARD = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#\s]+)(?:#[^)]*)?\)")
"""A link to a file of the repository that is no page: a test, the README."""

EVERY_NAME = re.compile(r"<!-- every name of ([\w.]+) -->")
"""Stands for the documentation of all that a room shows, so that no list of it has to be kept."""


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
    return EVERY_NAME.sub(lambda m: "\n\n".join(f"::: {name}" for name in names(m[1])), markdown)


def names(room: str) -> list[str]:
    """Return what a room shows, each by where it is defined."""
    module = importlib.import_module(room)
    places = {name: getattr(getattr(module, name), "__module__", room) for name in module.__all__}
    return [f"{place if place.startswith('robustirl') else room}.{name}" for name, place in places.items()]


def _inside(link: str, depth: int) -> bool:
    """Return whether a link's steps upwards stay within the pages."""
    return link.count("../") <= depth
