"""Needles: texts that must not be anywhere, found in bytes in whatever form they stand there.

A text is found as it is, in other case, wrapped over lines, escaped once or more for JSON, quoted
for YAML or HTML, as UTF-16, joined to a slug, and cut short with an ellipsis. What is not found:
a text in other words, split by other words, or inside something compressed or encrypted.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property

LEAST = 4  # characters: a shorter text is everywhere
HEAD = 12  # characters that stand before an ellipsis, at least
_GAP = rb"(?:\s|\\+[nrt ]?|%20|\+|\xc2\xa0|[>*|])+"
_GAP16 = rb"(?:[ \t\r\n]\x00)+"
_SPECIAL = {
    '"': rb"(?:\\*\"|&quot;|%22|\\+u0022)",
    "'": rb"(?:\\*'|''|&#39;|\\+u0027|\xe2\x80\x99|\\+u2019)",
    "\N{RIGHT SINGLE QUOTATION MARK}": rb"(?:'|\xe2\x80\x99|\\+u2019)",
    "\\": rb"\\+",
    "/": rb"(?:\\*/|%2f)",
    "<": rb"(?:<|&lt;|\\+u003c)",
    ">": rb"(?:>|&gt;|\\+u003e)",
    "&": rb"(?:&amp;|&|\\+u0026)",
}
_DOTS = re.compile(rb"\s*(?:\xe2\x80\xa6|\\+u2026|\.\.\.)")
_SLUG = re.compile(rb"[a-z0-9._-]+")
_WORD = re.compile(rb"[a-z0-9]{3,}")


class Needle:
    """One text. `exact`: only in its own case, as a secret is."""

    def __init__(self, text: str, exact: bool = False) -> None:
        self.text = " ".join(unicodedata.normalize("NFC", text).split())
        flags = re.DOTALL if exact else re.DOTALL | re.IGNORECASE
        self._units = [_unit(char) for char in self.text]
        self._steps = [re.compile(unit, flags) for unit in self._units]
        words = re.findall(r"[a-z0-9]+", self.text.lower())
        forms = [b"".join(self._units)]
        wide = self.text.split(" ")
        for code in ("utf-16-le", "utf-16-be"):
            gap = _GAP16 if code == "utf-16-le" else rb"(?:\x00[ \t\r\n])+"
            forms.append(gap.join(re.escape(word.encode(code)) for word in wide))
        if len(words) > 1 and not exact:
            forms.append(rb"[-_]".join(word.encode() for word in words))
        self._whole = re.compile(b"|".join(forms), flags)
        self._head = None
        if len(self._units) > HEAD:
            self._head = re.compile(b"".join(self._units[:HEAD]), flags)
        start = self.text[:HEAD] if self._head else self.text
        runs = _WORD.findall(start.lower().encode("ascii", "replace"))
        self._anchor = max(runs, key=len, default=b"")

    def spans(self, data: bytes, low: bytes) -> list[tuple[int, int]]:
        """Where it stands. `low`: the same bytes in lower case."""
        anchor = self._anchor
        if anchor and anchor not in low and _widened(anchor) not in low:
            return []
        found = [match.span() for match in self._whole.finditer(data)]
        starts = {start for start, _ in found}
        for match in self._head.finditer(data) if self._head else ():
            if match.start() not in starts and (end := self._cut_short(data, match.start())):
                found.append((match.start(), end))
        return found

    def _cut_short(self, data: bytes, start: int) -> int:
        """Where a beginning of it ends, if an ellipsis follows; 0 if none does."""
        end = start
        for step in self._steps:
            match = step.match(data, end)
            if match is None:
                break
            end = match.end()
        return end if _DOTS.match(data, end) else 0


def _unit(char: str) -> bytes:
    if char.isspace():
        return _GAP
    if char in _SPECIAL:
        return _SPECIAL[char]
    if char.isascii():
        return re.escape(char.encode())
    cases = dict.fromkeys((char, char.lower(), char.upper(), unicodedata.normalize("NFD", char)))
    forms = [re.escape(case.encode("utf-8", "surrogatepass")) for case in cases]
    for case in dict.fromkeys((char, char.lower(), char.upper())):
        wide = case.encode("utf-16-be", "surrogatepass")
        codes = [wide[at : at + 2].hex().encode() for at in range(0, len(wide), 2)]
        forms.append(b"".join(rb"\\+u(?i:" + code + b")" for code in codes))
    return b"(?:" + b"|".join(forms) + b")"


def _widened(anchor: bytes) -> bytes:
    """As UTF-16, without the zero at either end: of both byte orders."""
    return b"\0".join(bytes([one]) for one in anchor)


class Needles:
    """Several texts, and what stands in their place.

    `names`: exact names that become others (ids, paths), whatever stands around them.
    """

    def __init__(
        self,
        texts: Iterable[str],
        placeholder: str = "[erased]",
        *,
        exact: bool = False,
        names: dict[str, str] | None = None,
    ) -> None:
        self.placeholder, self._exact = placeholder, exact
        self.names = dict(names or {})
        kept = dict.fromkeys(" ".join(text.split()) for text in texts)
        self.all = [Needle(text, exact) for text in sorted(kept, key=len, reverse=True) if text]

    @cached_property
    def slug(self) -> str:
        """What stands in the place of a text in a name."""
        return re.sub(r"[^a-z0-9]+", "-", self.placeholder.lower()).strip("-") or "erased"

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where any of them stands, joined where they overlap."""
        low = data.lower()
        every = sorted(span for one in self.all for span in one.spans(data, low))
        found: list[tuple[int, int]] = []
        for start, end in every:
            if found and start < found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
        return found

    def found(self, data: bytes) -> bool:
        low = data.lower()
        named = any(name.encode() in data for name in self.names)
        return named or any(one.spans(data, low) for one in self.all)

    def swapped(self, data: bytes, *, padded: bool = False) -> bytes:
        """With the placeholder in their place. `padded`: every byte stays at its place."""
        for old, new in self.names.items():
            if old.encode() in data:
                data = data.replace(old.encode(), _fitting(new.encode(), len(old.encode()), padded))
        parts: list[bytes] = []
        last = 0
        for start, end in self.spans(data):
            instead = self._instead(data[start:end])
            parts += [data[last:start], _fitting(instead, end - start, padded)]
            last = end
        return b"".join([*parts, data[last:]]) if parts else data

    def _instead(self, found: bytes) -> bytes:
        if b"\0" in found:
            return self.placeholder.encode("utf-16-le" if found[0] else "utf-16-be")
        # a slug stays a slug, so that names go on to fit
        slug = not self._exact and _SLUG.fullmatch(found)
        return (self.slug if slug else self.placeholder).encode()

    def renamed(self, name: str) -> str:
        """A file's name without them."""
        data = name.encode("utf-8", "surrogateescape")
        for old, new in self.names.items():
            data = data.replace(old.encode(), new.encode())
        for start, end in reversed(self.spans(data)):
            data = data[:start] + self.slug.encode() + data[end:]
        return data.decode("utf-8", "surrogateescape")


def _fitting(new: bytes, size: int, padded: bool) -> bytes:
    if not padded or len(new) == size:
        return new
    return new.ljust(size) if len(new) < size else b"*" * size
