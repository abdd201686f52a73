"""Withhold: the sentences of conversations that say what an entry says are marked, and a
transcript that is called after one of them gets another name.

A file has both names until the log has the new one: killed in between, nothing points nowhere, and
forgetting once more does the rest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from wakebook.base import words
from wakebook.base.errors import TranscriptError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture import state as states
from wakebook.capture.archive import Turn
from wakebook.capture.withheld import MARK, Mark
from wakebook.learn.select.speech import split
from wakebook.log import forgotten, keyed
from wakebook.log.entry import Entry
from wakebook.log.forgotten import HALF, LEAST

Span = tuple[int, int]  # of a turn's text


def sentences(home: Home, entry: Entry) -> list[str]:
    """What the entry's own conversation says of it, sentence by sentence."""
    if not entry.transcript:
        return []
    try:
        turns = archive.read(home, entry.transcript).turns
    except TranscriptError:
        return []
    return [turn.text[start:end] for turn, (start, end) in behind(turns, entry)]


def behind(turns: Sequence[Turn], entry: Entry) -> Iterator[tuple[Turn, Span]]:
    """Where turns say what an entry says. At the turns that it came from, a sentence with half of
    its words will do, and if there is none, the whole turn is meant; elsewhere it needs all words.
    """
    if entry.type == "handoff":
        return  # it sums up a whole conversation
    wanted = words.terms(entry.content)
    for turn in turns:
        parts = list(_parts(turn.text))
        if turn.number in entry.evidence:
            near = [one for one in parts if _share(wanted, turn.text, one) >= HALF]
            whole = [(0, len(turn.text))] if turn.role == "user" and turn.text else []
            yield from ((turn, span) for span in near or whole)
        elif len(wanted) >= LEAST:
            yield from ((turn, one) for one in parts if _share(wanted, turn.text, one) == 1)


def _share(wanted: frozenset[str], text: str, span: Span) -> float:
    """How many of the words a sentence has; or how many of its own words are among them, where an
    entry is made of several sentences."""
    said = words.terms(text[span[0] : span[1]])
    if not wanted or not said:
        return 0.0
    both = len(wanted & said)
    return max(both / len(wanted), both / len(said) if both >= LEAST else 0.0)


def _parts(text: str) -> Iterator[Span]:
    """The sentences of a text, by their places."""
    start = 0
    for line in text.split("\n"):
        at = start
        for part in split(line):
            place = text.find(part, at, start + len(line))
            if place < 0:  # its spaces were put together
                place, end = start, start + len(line)
            else:
                end = place + len(part)
            yield place, end
            at = end
        start += len(line) + 1


# --- forgetting ----------------------------------------------------------------------------
def marked(
    home: Home, entries: Sequence[Entry], likely: Iterable[str]
) -> tuple[list[Mark], dict[str, str]]:
    """What is told no more of the entries' conversations, and where others say it word for word;
    and transcripts that get another name: from, to."""
    marks: list[Mark] = []
    moved: dict[str, str] = {}
    own = (entry.transcript for entry in entries if entry.transcript)
    for path in dict.fromkeys([*own, *likely]):
        try:
            turns = archive.read(home, path).turns
        except TranscriptError:
            continue
        mine = [one for one in entries if one.transcript == path]
        found = [place for one in mine for place in behind(turns, one)]
        found += [place for one in entries for place in _verbatim(turns, one)]
        for turn, (start, end) in found:
            marks.append(Mark(transcript=path, turn=turn.number, start=start, end=end))
        if found and (name := _name(path, turns, found)):
            moved[path] = name
    return _joined(marks) + [Mark(transcript=new, was=old) for old, new in moved.items()], moved


def _verbatim(turns: Sequence[Turn], entry: Entry) -> Iterator[tuple[Turn, Span]]:
    wanted = " ".join(entry.content.casefold().split()).rstrip(".!")
    if len(wanted.split()) < 3:
        return
    for turn in turns:
        for start, end in _parts(turn.text):
            if wanted in " ".join(turn.text[start:end].casefold().split()):
                yield turn, (start, end)


def _joined(marks: Iterable[Mark]) -> list[Mark]:
    """Each place once."""
    found: list[Mark] = []
    for one in sorted(set(marks), key=lambda m: (m.transcript, m.turn, m.start, -m.end)):
        last = found[-1] if found else None
        same = last and (last.transcript, last.turn) == (one.transcript, one.turn)
        if last is None or not same or one.start >= last.end:
            found.append(one)
        elif one.end > last.end:
            found[-1] = Mark(
                transcript=one.transcript, turn=one.turn, start=last.start, end=one.end
            )
    return found


def _name(path: str, turns: Sequence[Turn], found: Sequence[tuple[Turn, Span]]) -> str:
    """What a transcript is called without the words that are meant; nothing if it stays."""
    first = turns[0]
    text = first.text
    for start, end in sorted((span for turn, span in found if turn == first), reverse=True):
        text = text[:start] + MARK + text[end:]
    return renamed(path, first.text, text)


def renamed(path: str, before: str, after: str) -> str:
    """The name of a transcript whose first words are others now; nothing if it stays."""
    old, new = (archive.slug_and_title(text or "untitled")[0] for text in (before, after))
    stem = Path(path).stem
    match = re.fullmatch(rf"(.*)-{re.escape(old)}((?:-\d+)?)", stem)
    if old == new or match is None:
        return ""
    return f"{path.removesuffix(stem + '.md')}{match[1]}-{new}{match[2]}.md"


def linked(home: Home, moved: Mapping[str, str]) -> None:
    """Give transcripts their new names, beside the old ones."""
    for old, new in moved.items():
        if (home.root / old).exists() and not (home.root / new).exists():
            os.link(home.root / old, home.root / new)


def relinked(line: bytes, moved: Mapping[str, str]) -> bytes:
    for old, new in moved.items():
        line = line.replace(old.encode(), new.encode())
    return line


def settled(home: Home, moved: Mapping[str, str]) -> list[Path]:
    """Take the old names away, when nothing uses them any more. The files that have changed."""
    if not moved:
        return []
    waiting = home.root / "waiting.jsonl"
    for path in (home.state, waiting):
        data = path.read_bytes() if path.exists() else b""
        if (after := relinked(data, moved)) != data:
            home.replace(path, after)
    secret = keyed.key(home)
    hashes = {
        keyed.hashed(secret, "transcript", old): keyed.hashed(secret, "transcript", new)
        for old, new in moved.items()
    }
    known = forgotten.load(home).all
    after_ = [forgotten.moved(one, hashes.get(one.transcript, one.transcript)) for one in known]
    if after_ != list(known):
        forgotten.write(home, after_)
    states.load(home)  # it is still what it was
    for old in moved:
        (home.root / old).unlink(missing_ok=True)
    names = (name for pair in moved.items() for name in pair)
    return [waiting, *(home.root / name for name in names)]
