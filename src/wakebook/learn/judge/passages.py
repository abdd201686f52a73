"""A message parted in two: what its speaker says, and passages that are not to be believed.

A message is read as blocks: paragraphs, quotes, fences, HTML comments and hidden elements. Where
the cues of an injection add up, a block is suspect from that sentence to its end; a forged role
or end of data makes all the rest of the message suspect. Entries that only wait to be copied are
suspect, and so is text that was hidden but can be read (base64, tag characters).
"""

import base64
import binascii
import re
import unicodedata
from bisect import bisect_right
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple

from wakebook.learn.phrases import pattern, signs

# --- cues: the signs of an injection, as data in signs.json ---------------------------------
# A cue has points, and two points close together are enough. An address to a machine is worth two
# in what another person wrote (a quote, a fence, a pasted page) and little in a user's own words. A
# cue that forges a role or an end of the data also spoils what follows it.
_FLAGS = re.IGNORECASE | re.MULTILINE


class Cue(NamedTuple):
    name: str
    hints: tuple[str, ...]  # one of them is in every text that the pattern fits, in lower case
    text: str
    points: tuple[int, int, int]  # in what the speaker says, seems to paste, and quotes
    spreads: bool = False

    @property
    def found(self) -> re.Pattern[str]:
        return pattern(self.text, _FLAGS)


@cache
def cues() -> tuple[Cue, ...]:
    return tuple(
        Cue(
            one["name"],
            tuple(signs.text([one["hints"]]).split("|")),
            _any(one["texts"]),
            one["points"],
            one.get("spreads", False),
        )
        for one in (*signs.raw["ENGLISH"], *signs.raw["ABROAD"])
    )


@cache
def harms() -> list[tuple[str, re.Pattern[str], bool]]:
    """Reasons and patterns of harm, and whether it counts even if the user said it."""
    every = signs.raw["HARMS"]
    return [(one["reason"], pattern(_any(one["texts"]), _FLAGS), one["always"]) for one in every]


def _any(texts: list[list[str]]) -> str:
    return "|".join(map(signs.text, texts))


REACH = 400  # characters within which cues add up
ENOUGH = 2
LONG = 800  # characters of a user's message that may well be a paste
LIMIT = 200_000  # characters of a message that are read
MOST = 50  # marks of one cue in a block
MENTION = 7  # words of a quote that a user may mention without being suspect

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
_FIRST = pattern(r"\b(?:I|I'm|I've|I'd|I'll|my|me|mine|we|we're|our|us)\b")
_THIRD = pattern(r"\b(?:the|this) (?:user|human|person|customer)\b")


class Parted(NamedTuple):
    trusted: tuple[str, ...]  # blocks, in order
    suspect: tuple[str, ...]


class _Block(NamedTuple):
    text: str
    level: int = 0  # 0: the speaker's own words; 1: perhaps pasted; 2: somebody else's
    set_off: bool = False  # by a quote's or a fence's marks
    hidden: int = 0  # 1: a comment; 2: text that is not to be seen


class _Mark(NamedTuple):
    at: int
    end: int
    points: int
    name: str
    spreads: bool


@lru_cache(maxsize=1024)
def parted(text: str, by_user: bool) -> Parted:
    """The trusted and the suspect blocks of a message."""
    text, suspect = uncovered(text[:LIMIT])
    trusted: list[str] = []
    opened: set[str] = set()
    spoilt = carried = False
    for number, block in enumerate(_blocks(text, by_user)):
        body, ready = without_ready(block.text)
        suspect += ready
        start, spreads = 0, False
        if not (spoilt or carried):
            found, spreads = _suspicion(block._replace(text=body), by_user, number == 0)
            end = closed(body, opened)
            if end is not None:
                found, spreads = min(end, len(body) if found is None else found), True
            if found is None:
                kept, quotes = _without_quotes(body, by_user)
                trusted.append(kept)
                suspect += quotes
                continue
            start = found
        spoilt = spoilt or spreads
        carried = body.rstrip().endswith(":")
        suspect.append(body[start:])
        if start:
            trusted.append(body[:start])
    return Parted(tuple(trusted), tuple(suspect))


def _blocks(text: str, by_user: bool) -> list[_Block]:
    found: list[_Block] = []
    last = 0
    for match in signs.HIDDEN.finditer(text):
        found += _paragraphs(text[last : match.start()])
        found.append(_Block(match.group(), 2, set_off=True, hidden=1 + bool(match.group(1))))
        last = match.end()
    found += _paragraphs(text[last:])
    level = _introduced(found[0].text, by_user) if len(found) > 1 else 0
    if by_user and len(text) > LONG and len(found) > 2:
        level = max(level, 1)
    return found[:1] + [block._replace(level=max(level, block.level)) for block in found[1:]]


def _introduced(text: str, by_user: bool) -> int:
    """How surely the blocks after this one are somebody else's."""
    if not by_user:
        return 2 if signs.CITED.search(text) else 0
    line = text.split("\n")[0]
    return 2 if signs.INTRO.search(line) else 1 if line.rstrip().endswith(("?", ":")) else 0


def _paragraphs(text: str) -> list[_Block]:
    found: list[_Block] = []
    lines: list[str] = []
    fenced = quoted = False

    def flush() -> None:
        body = "\n".join(lines)
        whole = body.strip()[:1] in '"“„«' and body.strip()[-1:] in '"“”»'
        other = fenced or quoted or whole
        if body.strip():
            found.append(_Block(body, 2 * other, set_off=other))
        lines.clear()

    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            flush()
            fenced = not fenced
        elif fenced:
            lines.append(line)
        else:
            sign = bare.startswith((">", "|", "┃"))
            if not bare or sign != quoted:
                flush()
            quoted = sign
            lines.append(bare.lstrip(">|┃ ") if sign else line)
    flush()
    return found


def _suspicion(block: _Block, by_user: bool, first: bool) -> tuple[int | None, bool]:
    """Where a block gets suspect, if it does, and whether that spoils the rest as well."""
    if block.hidden == 2:
        return 0, False
    own = by_user and not block.set_off
    text = block.text
    if own:
        text = signs.QUOTED.sub(lambda match: " " * len(match.group()), text)
    found = _marks(text, block.level, by_user)
    starts = [0, *(match.end() for match in _SENTENCE.finditer(text))] if found else []
    if own:
        found = [_owned(mark, text, starts, first) for mark in found]
        if not block.level and _FIRST.search(text) and not _THIRD.search(text):
            found = [mark for mark in found if mark.spreads]  # a user may give orders
    for index, mark in enumerate(found):
        near: dict[str, int] = {}
        for one in found[index:]:
            if one.at > mark.at + REACH:
                break
            near[one.name] = max(one.points, near.get(one.name, 0))
        if mark.points and sum(near.values()) + block.hidden >= ENOUGH:
            start = starts[bisect_right(starts, mark.at) - 1]
            return start, any(one.spreads and one.points for one in found[index:])
    plain = joined(text)
    if plain != text and _points(plain, by_user) >= ENOUGH:
        return 0, False
    return None, False


def _marks(text: str, level: int, by_user: bool) -> list[_Mark]:
    """The cues in a text."""
    text = unmasked(text)
    found = []
    for cue in cues():
        if not any(hint in text for hint in cue.hints):
            continue
        points = cue.points[level]
        if cue.name == "claim" and level == 2 and not by_user:
            points = ENOUGH  # what an agent quotes has no reason to speak of the user
        for match in islice(cue.found.finditer(text), MOST if points else 0):
            found.append(_Mark(match.start(), match.end(), points, cue.name, cue.spreads))
    return sorted(found)


def _points(text: str, by_user: bool) -> int:
    return sum({mark.name: mark.points for mark in _marks(text, 2, by_user)}.values())


def _owned(mark: _Mark, text: str, starts: list[int], first: bool) -> _Mark:
    """A mark in a user's own words, with the points that it is worth there."""
    place = bisect_right(starts, mark.at)
    start = starts[place - 1]
    end = starts[place] if place < len(starts) else len(text)
    if _own_words(mark, text[start : mark.at], text[mark.at : mark.end + 25], text[start:end]):
        return mark._replace(points=0)
    if first and mark.name == "override" and len(text[: mark.at].split()) < 2:
        return mark._replace(points=1)  # some open every message with it
    if first and mark.name in ("record", "remember") and start == 0:
        return mark._replace(points=0)
    return mark


def _own_words(mark: _Mark, before: str, inside: str, sentence: str) -> bool:
    """Whether what looks like a cue is the user's own business."""
    if mark.name == "override":
        return bool(signs.MENTION.search(before) or signs.MINE.search(unmasked(inside)))
    if mark.name not in ("memory", "record", "remember", "forever"):
        return False
    if signs.ACTOR.search(before) or signs.ACTOR.search(inside[:30].rsplit(None, 1)[0] + " "):
        return True
    return bool(_FIRST.search(sentence)) and not _THIRD.search(sentence)


def _without_quotes(text: str, by_user: bool) -> tuple[str, list[str]]:
    """Text without quoted passages that are suspect, and those. A short quote is a mention."""
    bad: list[str] = []

    def judge(match: re.Match[str]) -> str:
        quote = match.group()
        if (by_user and len(quote.split()) <= MENTION) or _points(quote[1:-1], by_user) < ENOUGH:
            return quote
        bad.append(quote)
        return " "

    return signs.QUOTED.sub(judge, text), bad


# --- disguises taken off: invisible characters, lookalikes, digits for letters, base64 ------
_INVISIBLE = dict.fromkeys(
    [0x00AD, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF]
)
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_LOOKALIKE = str.maketrans("аеорсухіѕјԁһοανικ’‘", "aeopcyxisjdhoavik''")
_ABROAD = re.compile(r"\b[а-яё]{4,}\b|\b[α-ω]{4,}\b")
_LEET = str.maketrans("013457@$", "oieastas")
_SPACED = re.compile(r"(?<!\w)(?:\w[ .*_-]){5,}\w(?!\w)")
_BLOB = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/_-]{32,}={0,2}(?![\w+/=])")


def normal(text: str) -> str:
    """Text as it is compared: one form of each character, and no invisible ones."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(_INVISIBLE)).replace("’", "'")


def uncovered(text: str) -> tuple[str, list[str]]:
    """Text in normal form without what was hidden in it, and that."""
    hidden = ["".join(chr(ord(tag) - 0xE0000) for tag in run) for run in _TAGS.findall(text)]

    def read(match: re.Match[str]) -> str:
        plain = _decoded(match.group())
        if not plain:
            return match.group()
        hidden.append(plain)
        return " "

    return _BLOB.sub(read, normal(_TAGS.sub("", text))), hidden


def _decoded(blob: str) -> str:
    """The text that base64 stands for, or "" if it is none."""
    blob = blob.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        plain = base64.b64decode(blob + "=" * (-len(blob) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return plain if plain.isprintable() and " " in plain else ""


def unmasked(text: str) -> str:
    """Text in lower case, with letters for their lookalikes; of the same length."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = text
    if not lower.isascii() and not _ABROAD.search(lower):
        lower = lower.translate(_LOOKALIKE)
    return str(signs.LEET.sub(lambda match: match.group().translate(_LEET), lower))


def joined(text: str) -> str:
    """Text with words that were s p a c e d  o u t put together."""
    return _SPACED.sub(lambda match: re.sub(r"[ .*_-]", "", match.group()), text)


# --- forged data: entries that wait to be copied, and marks that feign an end of the data ---
def without_ready(text: str) -> tuple[str, list[str]]:
    """Text without entries in JSON, YAML or XML that could be copied as they are, and those."""
    ready = [match.group() for match in signs.READY.finditer(text)]
    return (signs.READY.sub(" ", text), ready) if ready else (text, [])


def closed(text: str, opened: set[str]) -> int | None:
    """Where a mark is closed that was never opened, as if the data ended there.

    `opened` holds the marks that are open, and is kept up to date.
    """
    for match in signs.MARK.finditer(text):
        name = match.group(1).lower()
        if not match.group().startswith("</"):
            opened.add(name)
        elif name not in opened:
            return int(match.start())
    return None
