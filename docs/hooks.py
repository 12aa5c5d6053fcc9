"""What MkDocs is told beyond `mkdocs.yml`: pages without a place in the menu, and links that leave the site."""

import re
from pathlib import Path

OUTWARD = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#\s]+)(?:#[^)]*)?\)")
"""A link to a file of the repository that is no page: a test, the README."""


def on_config(config):
    """Give every page a place in the menu: those that `mkdocs.yml` does not name stand under the library."""
    named = set(re.findall(r"'([^']+\.md)'", str(config.nav)))
    for page in sorted(Path(config.docs_dir).glob("*.md")):
        if page.name not in named:
            title = page.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
            library = next(part["The library"] for part in config.nav if "The library" in part)
            library.append({title: page.name})
    return config


def on_page_markdown(markdown, page, **_):
    """In the repository a link to a test opens it; on the site it names the file."""
    depth = page.file.src_uri.count("/")
    return OUTWARD.sub(lambda m: m[0] if _inside(m[0], depth) else f"{m[1]} (`{m[2]}`)", markdown)


def _inside(link: str, depth: int) -> bool:
    """Whether a link's steps upwards stay within the pages."""
    return link.count("../") <= depth
