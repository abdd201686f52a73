"""Html: markup that is safe by construction.

Elements are calls: `h.p("said ", h.b(words), class_="said")`. Every text and every value of an
attribute is escaped, and what cannot be seen in it (control, zero-width and direction characters)
is written out. `raw` is the only way around it, for markup that this package has made itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from typing import TypeAlias

from wakebook.base.text import visible, whole

EMPTY = frozenset("area br col hr img input link meta".split())
ADDRESSES = frozenset(("href", "src", "action", "formaction"))
SCHEMES = ("http://", "https://", "mailto:")


class Html:
    """Markup that may be sent as it stands."""

    __slots__ = ("markup",)

    def __init__(self, markup: str) -> None:
        self.markup = markup

    def __str__(self) -> str:
        return self.markup

    def __bool__(self) -> bool:
        return bool(self.markup)


Child: TypeAlias = "Html | str | int | float | Iterable[Child] | None"
Value = str | int | float | bool | None


def raw(markup: str) -> Html:
    """Markup that is known to be safe: made here, of escaped parts."""
    return Html(markup)


def join(*children: Child) -> Html:
    """Several things, one after the other."""
    return Html("".join(_child(one) for one in children))


def verbatim(value: object) -> str:
    """As it comes back in a form: escaped, and nothing else."""
    return escape(whole(str(value)))


def text(value: object) -> str:
    """As it is shown: whole, visible, escaped."""
    said = str(value)
    return escape(said if said.isprintable() else visible(whole(said)))


def _child(value: Child) -> str:
    if isinstance(value, Html):
        return value.markup
    if isinstance(value, str):
        return text(value)
    if value is None or value is False:
        return ""
    if isinstance(value, Iterable):
        return "".join(_child(one) for one in value)
    return text(value)


def is_safe(address: str) -> bool:
    """Whether a link may lead there: here, or to a page of the web. Never a script or data."""
    if address.startswith(("/", "#", "?")):
        return not address.startswith("//") and "\\" not in address
    return address.lower().startswith(SCHEMES)


@cache
def _named(name: str) -> str:
    """The attribute that a word of Python stands for."""
    name = name.rstrip("_").replace("_", "-")
    if name.startswith("on") or name == "style":
        raise ValueError(f"{name} is not for this page: its policy would stop it")
    return name


def _attribute(name: str, value: Value) -> str:
    name = _named(name)
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if name in ADDRESSES and not is_safe(str(value)):
        value = "#"
    shown = verbatim(value) if name == "value" else text(value)
    return f' {name}="{shown}"'


class Element:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(
        self, *children: Child, attributes: Mapping[str, Value] | None = None, **more: Value
    ) -> Html:
        """`class_` is class, `data_live` is data-live; None and False leave an attribute out.
        `attributes`: with names that are no words of Python."""
        name = self._name
        given = "".join(
            _attribute(key, value) for key, value in (more | dict(attributes or {})).items()
        )
        if name in EMPTY:
            return Html(f"<{name}{given}>")
        if name in ("script", "style") and any(children):
            raise ValueError(f"no text in <{name}>: its policy would stop it")
        if name == "textarea":  # a parser drops the first line end
            return Html(f"<{name}{given}>\n{''.join(map(verbatim, children))}</{name}>")
        return Html(f"<{name}{given}>{join(*children)}</{name}>")


class Elements:
    def __getattr__(self, name: str) -> Element:
        made = Element(name.rstrip("_"))
        setattr(self, name, made)
        return made


h = Elements()
