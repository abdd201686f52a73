"""Markup is safe by construction, and so is Markdown."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pytest

from wakebook.service.page import assets
from wakebook.service.page.html import h, is_safe, join, raw
from wakebook.service.page.written import body, written

HOSTILE = '<script>alert("x")</script> & \x1b[31m \u202eevil\u200b'


def test_text_and_attributes_are_escaped_and_made_visible() -> None:
    made = str(h.p("said ", h.b(HOSTILE), title=HOSTILE))
    assert "<script" not in made and '"x"' not in made
    assert "\x1b" not in made and "\u202e" not in made and "\\u202e" in made and "\\u001b" in made
    assert made.count("&lt;script&gt;") == 2


def test_only_raw_markup_stays_as_it_is() -> None:
    assert str(join("<i>", raw("<i>"), None, False, ["a", 1])) == "&lt;i&gt;<i>a1"


def test_what_the_policy_would_stop_cannot_be_made() -> None:
    for wrong in ({"onclick": "x()"}, {"style": "color: red"}):
        with pytest.raises(ValueError):
            h.p("a", attributes=wrong)
    with pytest.raises(ValueError):
        h.script("alert(1)")


@pytest.mark.parametrize(
    ("address", "safe"),
    [("/page/", True), ("https://example.org/a", True), ("#a", True), ("?q=1", True),
     ("javascript:alert(1)", False), (" javascript:alert(1)", False), ("data:text/html,x", False),
     ("//example.org", False), ("JaVaScRiPt:x", False), ("/\\example.org", False)],
)  # fmt: skip
def test_links_lead_here_or_to_the_web(address: str, safe: bool) -> None:
    assert is_safe(address) == safe
    assert (f'href="{address}"' in str(h.a("x", href=address))) == safe


def test_a_field_of_a_form_comes_back_as_it_is() -> None:
    assert str(h.textarea("\na<\u202eb")) == "<textarea>\n\na&lt;\u202eb</textarea>"
    assert "\u200b" in str(h.input(value="a\u200b"))


def test_markdown_has_no_raw_html_and_no_scripts() -> None:
    source = (
        "# T\n\n<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> [a](javascript:alert(1)) "
        "![p](http://tracker.example/x.png) [b](https://example.org) [[people/ada|Ada]] [[x<y]]\n"
    )
    made = str(written(source, {"people/ada": "/page/notes/ada"}, lambda line, box: (None, None)))
    assert "<script" not in made and "<img" not in made and 'href="javascript' not in made
    assert '<a href="/page/notes/ada">Ada</a>' in made and "x&lt;y" in made
    assert 'href="https://example.org" rel="noreferrer noopener"' in made


def test_the_lines_of_a_note_keep_their_numbers() -> None:
    source = "---\na: 1\n---\n# T\n<!-- wakebook:begin x -->\n- one\n- [ ] two\n"
    source += "<!-- wakebook:sum 00 -->\n<!-- wakebook:end x -->\n"
    seen: list[tuple[int, str]] = []

    def beside(line: int, box: str) -> tuple[None, None]:
        seen.append((line, box))
        return None, None

    made = str(written(body(source), {}, beside))
    assert seen == [(6, ""), (7, " ")]
    assert "wakebook:" not in made and "a: 1" not in made and "[ ]" not in made


def test_what_others_wrote_is_what_it_was() -> None:
    folder = Path(assets.__file__).parent
    known = tomllib.loads((folder / "vendored.toml").read_text())
    ours = {"find.js", "page.css", "page.js", "plots.js", "icon.svg"}
    assert known.keys() == assets.ALL.keys() - ours
    for name, about in known.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == about["sha256"], name
        assert (folder / about["licence"].split(", ")[1]).is_file()
