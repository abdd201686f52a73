"""Obsidian: what a note may be called, how plain text is written in it, and where lines go.

What an entry says is plain text, from anybody. In a note it must stay that: no tag, link, comment,
formula or HTML may come of it, and no second line. What stands in a note is a person's: lines
are only put between others, and every byte that was there stays.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

JOURNAL, TOPIC = "wj", "w"  # what a mark begins with: the same entry stands on two pages
NAME_CHARACTERS, NAME_BYTES = 100, 150

_MARK = re.compile(r"(?m)(?:^|[ \t])\^(wj|w)-([A-Za-z0-9-]+)[ \t\r]*$")
_NOT_IN_NAMES = re.compile(
    r'[*"\\/<>:|?#^\[\]`\x00-\x1f\x7f-\x9f\u00ad\u200b\u2028-\u202e\u2066-\u2069\ufeff]'
)
_RESERVED = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")
_URL = re.compile(r"(https?://[^\s<>\"'`]+)")
_SPECIAL = re.compile(
    r"[\\`*\[\]<$]"  # escapes, code, emphasis, links, HTML, formulas
    r"|(?<!\w)#"  # tags and headings
    r"|(?<!\w)_|_(?!\w)"  # emphasis, but not in snake_case
    r"|(?<!\S)\^"  # block ids
    r"|%(?=%)|(?<=%)%|=(?==)|(?<==)=|~(?=~)|(?<=~)~"  # comments, highlights, strikethrough
    r"|&(?=#|\w+;)"  # entities
)
_FIRST = re.compile(r"[-+>]|\d+[.)](?=\s|$)")  # lists, quotations, rules
_IN_URL = {char: f"%{ord(char):02X}" for char in "[]\\^|*$"}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_RULE = re.compile(r" {0,3}(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}")
_LISTED = re.compile(r"\s|[-*+] |\d+[.)] ")


class Unclosed(Exception):
    """A code fence or comment that never ends: what comes after it would not be seen."""


def name(text: str) -> str:
    """Text as the name of a note: for Obsidian, its links, and every file system. Or nothing."""
    known = text.encode("utf-8", "ignore").decode()
    plain = _NOT_IN_NAMES.sub(" ", unicodedata.normalize("NFC", known))
    plain = " ".join(re.sub("%%+", "%", plain).split())[:NAME_CHARACTERS]
    plain = plain.encode()[:NAME_BYTES].decode("utf-8", "ignore").lstrip(". ").rstrip(". ")
    return f"{plain}_" if _RESERVED.fullmatch(plain) else plain


def folded(text: str) -> str:
    """Names that Obsidian, macOS or Windows take for the same one are equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def link(target: str, shown: str) -> str:
    return f"[[{target}]]" if target == shown else f"[[{target}|{shown}]]"


def plain(text: str, limit: int = 0) -> str:
    """Text on one line that reads in a note as it was written, and is nothing but text."""
    known = text.encode("utf-8", "replace").decode()
    line = " ".join(re.sub(r"[\x00-\x08\x0e-\x1b\x7f]", "", known).split())
    if limit and len(line) > limit:
        line = line[: limit - 1].rstrip() + "…"
    parts = _URL.split(line)
    parts[::2] = [_SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    parts[1::2] = [_address(part) for part in parts[1::2]]
    return _at_start("".join(parts))


def _address(url: str) -> str:
    """Still the same address, and nothing that Markdown or Obsidian would take for theirs."""
    whole = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", url)
    coded = "".join(_IN_URL.get(char, char) for char in whole)
    return coded.replace("==", "%3D%3D").replace("~~", "%7E%7E")


def _at_start(line: str) -> str:
    """No list, quotation or rule begins with this line."""
    found = _FIRST.match(line)
    if not found:
        return line
    place = found.end() - 1
    return f"{line[:place]}\\{line[place:]}"


def code(identity: str) -> str:
    """An entry's id with the characters of a block id; no two ids give the same."""
    return identity.replace("-", "-0").replace("_", "-1")


def mark(kind: str, coded: str) -> str:
    return f"^{kind}-{coded}"


def marks(text: str) -> set[tuple[str, str]]:
    """Every mark at the end of a line: what has been written here, and for which kind of page."""
    return {(found[1], found[2]) for found in _MARK.finditer(text)}


def insert(text: str, added: Mapping[str, Sequence[str]]) -> str:
    """The note with lines at the end of its sections; a section that is missing comes last.

    Every byte of the note stays, in its order. Raises Unclosed.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    headings, unclosed = _headings(lines)
    puts: dict[int, str] = {}
    last = ""
    for section, new in added.items():
        if not new:
            continue
        place = _place(lines, headings, section)
        block = newline.join(one.replace("\n", newline) for one in new) + newline
        if place is None:
            last += f"{newline}## {section}{newline}{block}"
        else:
            puts[place] = _apart(lines, headings, place, newline) + block
    furthest = len(lines) if last else max(puts, default=0)
    if unclosed is not None and furthest > unclosed:
        raise Unclosed(f"line {unclosed + 1} begins a code block or comment that never ends")
    return _joined(lines, puts, last, newline)


def _joined(lines: Sequence[str], puts: Mapping[int, str], last: str, newline: str) -> str:
    parts: list[str] = []
    for number, line in enumerate(lines):
        parts += [puts.get(number, ""), line]
    tail = puts.get(len(lines), "") + last
    if tail and lines and not lines[-1].endswith("\n"):
        parts.append(newline)
    if last and not puts.get(len(lines)) and (not lines or not lines[-1].strip()):
        tail = tail.removeprefix(newline)  # there is a blank line already
    return "".join((*parts, tail))


def _headings(lines: Sequence[str]) -> tuple[dict[int, str], int | None]:
    """Line number -> heading, and where something begins that is never closed."""
    found: dict[int, str] = {}
    begun: int | None = None
    until = ""  # what ends the thing that we are in
    for number, line in enumerate(lines):
        bare = line.strip().lstrip("\ufeff")
        fence = _FENCE.match(line.rstrip("\r\n"))
        if until:
            if _ends(until, bare, fence):
                until, begun = "", None
            continue
        if number == 0 and bare == "---" and any(one.strip() == "---" for one in lines[1:]):
            until, begun = "---", number
        elif fence and not ("`" in fence[1] and "`" in fence[2]):
            until, begun = fence[1], number
        elif bare == "%%" or ("<!--" in bare and "-->" not in bare.rpartition("<!--")[2]):
            until, begun = ("%%" if bare == "%%" else "-->"), number
        elif heading := _HEADING.fullmatch(line.rstrip("\r\n")):
            found[number] = heading[1] or ""
    return found, begun


def _ends(until: str, bare: str, fence: re.Match[str] | None) -> bool:
    if until in ("---", "%%"):
        return bare == until or (until == "%%" and bare.endswith("%%"))
    if until == "-->":
        return until in bare
    return bool(fence and fence[1].startswith(until) and not fence[2].strip())


def _place(lines: Sequence[str], headings: Mapping[int, str], section: str) -> int | None:
    """The line before which the section's new lines go."""
    wanted = folded(section)
    start = next((one for one, text in headings.items() if folded(text) == wanted), None)
    if start is None:
        return None
    end = min((one for one in headings if one > start), default=len(lines))
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    rule = end - 1
    if rule > start + 1 and _RULE.fullmatch(lines[rule].strip()) and not lines[rule - 1].strip():
        end = rule
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
    return end


def _apart(lines: Sequence[str], headings: Mapping[int, str], place: int, newline: str) -> str:
    """A blank line, unless a list or the section's heading stands right before."""
    return "" if place - 1 in headings or _LISTED.match(lines[place - 1]) else newline
