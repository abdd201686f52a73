"""Whole: an archived transcript read by itself, from its first turn to its last.

Whoever reads a transcript again (an upgrade, a rebuild) reads it here, so that both see what
the sweep saw: its turns, the log as it was, and the project that it was about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from wakebook import clock
from wakebook.capture.archive import Transcript
from wakebook.capture.transcript import Message
from wakebook.derive import by_rules
from wakebook.derive.entries import Source, project
from wakebook.derive.extract import RULES, Draft, Extraction, Extractor, Scene, after
from wakebook.home import Home
from wakebook.log.entry import Entry


def source_of(transcript: Transcript, now: datetime) -> Source:
    front = transcript.front
    session = str(front.get("session_id") or "")
    return Source(
        ref=f"{front.get('host')}/{session}",
        session=session,
        path=transcript.path,
        number=int(front.get("window") or 1),
        last_at=clock.parse(front.get("ended")) or now,
        turns=transcript.turns,
    )


def subject_of(front: Mapping[str, object], old: Iterable[Entry], cwd: str = "") -> str:
    """The project of a conversation: its working folder, or what an older reading says.

    `cwd`: as far as state.json still knows it; older transcripts do not say it themselves.
    """
    folder = str(front.get("cwd") or cwd)
    if folder:
        return project(folder)
    tags = [entry.subject for entry in old if entry.type == "handoff" and entry.subject]
    return tags[-1] if tags else ""


def read(
    home: Home,
    extractor: Extractor,
    source: Source,
    scene: Scene,
    first: int = 0,
    last: int | None = None,
) -> list[Draft]:
    """What an extractor finds in the turns from `first` on, piece by piece as it takes them.

    `scene` says what is known before; whether the window ends with the last turn, too.
    """
    said = source.messages()
    stop = len(said) if last is None else last
    drafts: list[Draft] = []
    while first < stop or (first == stop == len(said) and scene.ends and not drafts):
        known = [draft.entry(source.session, source.last_at) for draft in drafts]
        seen = Scene(
            earlier=said[:first],
            current=after(scene.current, known) if known else scene.current,
            subjects=scene.subjects,
            subject=scene.subject,
            ends=scene.ends and stop == len(said),
        )
        found = _asked(home, extractor, said[first:stop], seen)
        drafts += found.drafts
        first += max(found.taken, 1)
    return drafts


def _asked(home: Home, extractor: Extractor, fresh: Sequence[Message], scene: Scene) -> Extraction:
    if extractor.name == RULES:  # they obey nobody, but they quote
        return by_rules.read(home, fresh, scene, extractor)
    return extractor.read(fresh, scene)
