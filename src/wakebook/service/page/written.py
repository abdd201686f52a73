"""Markdown that people and Wakebook have written, as safe markup.

Raw HTML in it is shown as text, links lead to notes of this memory or to the web, pictures are
links. Each line that stands for entries has a link to why it is there, and each open task a box.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from wakebook.base import markdown
from wakebook.base.text import visible, whole
from wakebook.service.page.html import Html, h, is_safe, raw, text

_WIKI = re.compile(r"\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]")
_BOX = re.compile(r"\[([ xX])\] ")
Beside = Callable[[int, str], tuple[Html | None, Html | None]]  # line, box: before and after it


@cache
def _parser() -> MarkdownIt:
    return (
        MarkdownIt("commonmark", {"html": False})
        .enable(["table", "strikethrough"])
        .disable("image")
    )


def body(source: str, begins: bool = True) -> str:
    """A note without frontmatter and markers; its lines keep their numbers. `begins`: it is no
    later part of one."""
    front = markdown.read_front(source) if begins else markdown.Front()
    lines = source.split("\n")
    gone = (
        set(range(1, source.count("\n", 0, front.body) + 1)) if front.values is not None else set()
    )
    gone |= {number + 1 for number in markdown.marker_lines(lines)}
    gone |= {at for at, line in enumerate(lines, 1) if line.strip().startswith("<!-- wakebook:")}
    return "\n".join("" if at in gone else line for at, line in enumerate(lines, 1))


def written(source: str, links: Mapping[str, str], beside: Beside, before: int = 0) -> Html:
    """`links`: what a link to a note may name -> its address. `beside`: what stands before and
    after a line. `before`: lines of the note that this is only a part of."""
    tokens = _parser().parse(visible(whole(source)))
    for at, token in enumerate(tokens):
        if token.type == "inline" and token.children is not None:
            _linked(token, links)
            _beside(tokens, at, beside, before)
        elif token.map and token.nesting == 1:
            token.attrSet("id", f"L{token.map[0] + 1 + before}")
    return raw(_parser().renderer.render(tokens, _parser().options, {}))


def _beside(tokens: list[Token], at: int, beside: Beside, earlier: int) -> None:
    """Put what belongs beside a line of a list into it."""
    token, children = tokens[at], tokens[at].children or []
    if at < 2 or tokens[at - 2].type != "list_item_open" or token.map is None:
        return
    box = ""
    if children and children[0].type == "text" and (found := _BOX.match(children[0].content)):
        box, children[0].content = found[1].lower(), children[0].content[found.end() :]
    before, after = beside(token.map[0] + 1 + earlier, box)
    if before:
        children.insert(0, _made(before))
    if after:
        children.append(_made(after))


def _made(markup: Html) -> Token:
    return Token("html_inline", "", 0, content=str(markup))


def _linked(token: Token, links: Mapping[str, str]) -> None:
    """Links as they may be followed; [[links]] between notes, too."""
    found: list[Token] = []
    for child in token.children or []:
        if child.type == "link_open":
            address = str(child.attrGet("href") or "")
            child.attrSet("href", _address(address, links))
            child.attrSet("rel", "noreferrer noopener")
        if child.type == "text" and "[[" in child.content:
            found += _wiki(child.content, links)
        else:
            found.append(child)
    token.children = found


def _address(given: str, links: Mapping[str, str]) -> str:
    known = links.get(given.lower().removeprefix("./").partition("#")[0].removesuffix(".md"))
    if known:
        return known
    return given if is_safe(given) and not given.startswith("/") else "#"


def _wiki(content: str, links: Mapping[str, str]) -> list[Token]:
    made, at = [], 0
    for match in _WIKI.finditer(content):
        made.append(Token("text", "", 0, content=content[at : match.start()]))
        name, label = match[1].strip(), (match[2] or "").strip()
        to = links.get(name.lower().partition("#")[0].removesuffix(".md"))
        shown = label or name.rpartition("/")[2]
        markup = h.a(shown, href=to) if to else raw(text(shown))
        made.append(_made(markup))
        at = match.end()
    made.append(Token("text", "", 0, content=content[at:]))
    return made
