"""Self-contained pages from templates, all in one style."""

import base64
import importlib.resources
from collections.abc import Sequence
from pathlib import Path


def render(package: str, template: str, **content: object) -> str:
    """Return a page made from a package's template, in the library's style."""
    import jinja2  # Here, so that only a page loads it.
    import markupsafe

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["percent"] = lambda value: f"{value:.1%}".replace("%", " %")
    look = importlib.resources.files("robustirl.reports") / "page.css"
    source = importlib.resources.files(package) / template
    style = markupsafe.Markup(look.read_text(encoding="utf-8").rstrip("\n"))
    return environment.from_string(source.read_text(encoding="utf-8")).render(style=style, **content)


def embedded(paths: Sequence[Path]) -> str:
    """Return the SVG among a figure's files, as a page can hold it."""
    return base64.b64encode(_svg(paths).read_bytes()).decode()


def _svg(paths: Sequence[Path]) -> Path:
    return next(path for path in paths if path.suffix == ".svg")
