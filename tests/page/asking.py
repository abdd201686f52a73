"""Views and actions, asked without a server: what they show, and what they do."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from wakebook import Memory
from wakebook.capture import archive
from wakebook.capture.transcript import Message
from wakebook.service.page.html import join
from wakebook.service.page.request import Done, Request
from wakebook.service.page.views import ACTIONS, find


def markup(memory: Memory, address: str) -> str:
    """A view's title, lead and body; `address`: below /page, or as a link has it."""
    parts = urlsplit(address)
    path = parts.path.removeprefix("/page")
    found = find(path)
    assert found, f"nothing is at {path}"
    view, varying = found
    request = Request(path, varying, parse_qs(parts.query, True), token="t")
    sheet = view.sheet(request, memory)
    return join(sheet.title, "\n", sheet.lead, "\n", sheet.body).markup


def text(memory: Memory, address: str) -> str:
    """The same as a person reads it."""
    shown = re.sub(r"<[^>]+>", " ", markup(memory, address))
    return " ".join(html.unescape(shown).split())


def links(memory: Memory, address: str) -> list[str]:
    return [html.unescape(one) for one in re.findall(r'\bhref="([^"]+)"', markup(memory, address))]


def forms(memory: Memory, address: str) -> list[dict[str, str]]:
    """The forms of a view: their fields, and `do`, their action."""
    found = []
    for action, body in re.findall(
        r'<form method="post" action="/page/do/([\w-]+)"[^>]*>(.*?)</form>',
        markup(memory, address),
        re.DOTALL,
    ):
        fields = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', body)
        found.append({name: html.unescape(value) for name, value in fields} | {"do": action})
    return found


def do(memory: Memory, action: str = "", **fields: Any) -> Done:
    """An action, or what a form of `forms` does."""
    action = action or fields.pop("do")
    given = {name: [str(value)] for name, value in fields.items()}
    return ACTIONS[action].do(Request(form=given), memory)


def undo(memory: Memory, done: Done) -> Done:
    """What the button beside the message does."""
    assert done.undo, f"no way back from {done.said!r}"
    return do(memory, done.undo, **done.fields)


def talk(memory: Memory, said: Sequence[str]) -> str:
    """A conversation in the archive. Its path."""
    at = datetime(2026, 11, 8, 10, tzinfo=UTC)
    turns = [Message("user", text, f"m{number}", at) for number, text in enumerate(said)]
    path = archive.path_for(memory.home, "long", 1, at, "harbour")
    body, _ = archive.render(turns, archive.Tail())
    front = {"format": 1, "session_id": "long", "topic": "The harbour", "closed": True}
    archive.write(memory.home, path, archive.compose(front, "The harbour", body))
    return path
