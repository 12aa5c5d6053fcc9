"""Pages write shares in percent, and escape what is foreign."""

from robustirl.reports.html import render


def test_pages_write_shares_in_percent_and_escape_what_is_foreign(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    (tmp_path / "page.css").write_text("p { color: red }\n")
    (tmp_path / "page.jinja").write_text(
        "<style>{{ style }}</style>{% if share %}\n{{ share|percent }}{% endif %}{{ name }}"
    )
    assert render("x", "page.jinja", share=0.1234, name="<b>") == "<style>p { color: red }</style>12.3 %&lt;b&gt;"
