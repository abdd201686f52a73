"""Request and Sheet: what a view is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote, urlencode

from wakebook.service.page.html import Child, Html, h

ROOT = "/page"


class Request(NamedTuple):
    path: str = "/"  # below /page
    parts: Mapping[str, str] = {}  # of the path, that vary
    query: Mapping[str, Sequence[str]] = {}
    form: Mapping[str, Sequence[str]] = {}  # of an action
    theme: str = ""  # dark or light; empty: the system's
    token: str = ""  # that every form sends back

    def get(self, name: str, default: str = "") -> str:
        """A value of the query."""
        found = self.query.get(name)
        return found[0].strip() if found else default

    def number(self, name: str, default: int = 0, most: int = 1_000_000) -> int:
        with suppress(ValueError):
            return max(0, min(most, int(self.get(name, str(default)))))
        return default

    def field(self, name: str, default: str = "") -> str:
        """A value of a form."""
        found = self.form.get(name)
        return found[0] if found else default

    def here(self, **changes: str | int | None) -> str:
        """This address with another query; None takes a value out."""
        kept = {key: list(values) for key, values in self.query.items() if key not in changes}
        kept |= {key: [str(value)] for key, value in changes.items() if value is not None}
        return to(self.path, kept)

    def button(
        self, action: str, label: Child, class_: str = "", press: str = "", **fields: str
    ) -> Html:
        """A form with one button that does something. `press`: the key that presses it, too."""
        button = h.button(label, class_=class_ or None, data_press=press or None)
        return self.form_(action, button, **fields)

    def form_(self, action: str, *children: Child, class_: str = "act", **fields: str) -> Html:
        """A form of an action: it brings the page's token, the address to come back to, and fields
        that nobody sees."""
        hidden = {"token": self.token, "back": self.here()} | fields
        return h.form(
            (h.input(type="hidden", name=key, value=value) for key, value in hidden.items()),
            children,
            method="post",
            action=f"{ROOT}/do/{action}",
            class_=class_,
        )


class Sheet(NamedTuple):
    """A view's answer: what stands in the middle of the page."""

    title: str
    body: Child
    lead: Child = ""
    source: str = ""  # where its data comes from
    command: str = ""  # that says the same in a terminal
    status: int = 200
    wide: bool = False


class Done(NamedTuple):
    """What an action has done."""

    said: str
    to: str = ""  # where to go on; empty: where the form came from
    undo: str = ""  # the action that takes it back ...
    fields: Mapping[str, str] = {}  # ... and its fields


def to(
    path: str, query: Mapping[str, Sequence[str] | str | int] | None = None, at: str = ""
) -> str:
    """The address of a view. `at`: a place in it."""
    asked = urlencode(query, doseq=True) if query else ""
    base = ROOT + quote(path, safe="/:@~") if path != "/" else f"{ROOT}/"
    return base + (f"?{asked}" if asked else "") + (f"#{quote(at)}" if at else "")
