"""ModelExtractor: a chat model reads the messages, and plain code checks every line it writes.

The model is shown the new messages, numbered, some before them as context, the subjects, and the
known entries that the messages may be about, each within limits. It answers with lines, which
become drafts if they keep the rules (`AnswerReader.line`), are not refused by the judge, and are
not known already. It never names an entry by its id, only by a reference that was made up for this
question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wakebook.base import clock, text, words
from wakebook.base.errors import BadModelOutput, NotAsked, TooLong
from wakebook.base.home import Home
from wakebook.base.text import one_line
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft, Extraction, Scene, after, subject
from wakebook.learn.judge.verdict import UNTOLD, tainted, why_refused
from wakebook.learn.judge.whose import origin
from wakebook.learn.select.extractor import Selector, handoff_of
from wakebook.learn.select.ledger import Known, Ledger
from wakebook.learn.shown import (
    CONTEXT_TOKENS,
    context,
    fitting,
    related,
    shown_before,
    shown_entries,
    shown_messages,
    shown_subjects,
    size,
)
from wakebook.log import subjects
from wakebook.log.entry import KINDS, SLUG, STATUSES, TYPES, Entry, slugify
from wakebook.models.chat import Models

CONTENT = 600  # characters of an entry, at most
DETAIL = 2000
LEAST = 400  # tokens: a question that is too long even so cannot be asked
ENDS = "The conversation ends with these messages: write exactly one handoff, as the last line."
TALK = (
    "The conversation ends with these messages. If something was done or decided in it, or is left "
    "to do, write exactly one handoff, as the last line; if it was only talk, write none."
)
GOES_ON = "The conversation goes on after these messages: write no handoff."
MERGED = 4  # entries that one line may replace
# what may take the place of what
_SUCCESSORS = {
    "task": ("task", "decision", "fact"),
    "question": ("fact", "decision", "question", "task"),
    "fact": ("fact", "decision"),
    "decision": ("decision", "fact"),
}


_Line = Draft | None  # None: the model's word for a piece in which nothing is worth keeping


class ModelExtractor:
    def __init__(self, models: Models, home: Home, request_tokens: int) -> None:
        self._models = models
        self._home = home
        self._limit = request_tokens

    @property
    def name(self) -> str:
        return self._models.name("main")

    def read(self, fresh: Sequence[Message], scene: Scene) -> Extraction:
        live = [one for one in fresh if not one.branch and (one.text.strip() or one.tools)]
        human = any(one.role == "user" and not one.branch for one in (*scene.earlier, *fresh))
        if not human or not (live or scene.ends):
            return Extraction(drafts=[], taken=len(fresh))  # nothing that could be remembered
        limit, most = self._limit, len(fresh)
        while True:
            taken = fitting(fresh[:most], limit)
            try:
                return self._ask(fresh[:taken], fresh, scene, limit)
            except TooLong as error:
                if taken > 1:
                    most = taken // 2
                    continue
                limit = min(limit, size(fresh[:1])) // 2
                if limit < LEAST:
                    raise BadModelOutput(str(error)) from None

    def _ask(
        self, taken: Sequence[Message], fresh: Sequence[Message], scene: Scene, limit: int
    ) -> Extraction:
        ends = scene.ends and len(taken) == len(fresh)
        answer = AnswerReader(taken, scene, ends)
        ending = (ENDS if answer.due([]) else TALK) if ends else GOES_ON
        messages = shown_messages(taken, limit)
        later = self._models.later
        key, before = later.key("extract", messages, ending) if later else ("", None)
        if before is not None:
            answer.known, answer.gone = shown_before(before, scene)
        try:
            lines = self._models.lines(
                "extract",
                answer.line,
                60 + 2 * len(taken),
                answer.missing,
                (key, [one.id for one in answer.known.values()]),
                subjects=shown_subjects(taken, scene),
                about=scene.subject or "(none)",
                known=shown_entries(answer.known),
                earlier=shown_messages(answer.earlier, CONTEXT_TOKENS // 3),
                messages=messages,
                ending=ending,
            )
        except NotAsked:
            if not self._models.dry:
                raise
            # what rules find stands for its answer
            found = Selector(self._home).read(taken, msgspec.structs.replace(scene, ends=ends))
            drafts = [one.with_(by=self.name) for one in found.drafts]
            return msgspec.structs.replace(found, drafts=drafts)
        if lines.cut and len(taken) > 1:
            raise TooLong("The answer was cut off")
        if not lines.kept:
            raise BadModelOutput(f"{self.name} was cut off before its first line ended (extract).")
        if lines.cut:
            error = f"{self.name} was cut off: the end of its answer is missing"
            self._home.trace("failure", where="model for extract", error=error)
        drafts = [one.with_(by=lines.by) for one in lines.kept if one]
        lasting = [one for one in drafts if one.type != "handoff"]
        kept = self._judged(lasting, [*answer.earlier, *taken], scene)
        if not ends:
            return Extraction(drafts=kept, taken=len(taken))
        handoff = next((one for one in reversed(drafts) if one.type == "handoff"), None)
        last = self._handoff(handoff, answer.due(kept), answer, lines.by)
        title = answer.titles.get(last[0].content, "") if last else ""
        title = "" if tainted(title, answer.said) else title
        return Extraction(drafts=[*kept, *last], taken=len(taken), title=title)

    def _judged(
        self, drafts: Sequence[Draft], shown: Sequence[Message], scene: Scene
    ) -> list[Draft]:
        """The drafts that are true to the conversation, worth keeping, and new."""
        ledger = Ledger(scene.current)
        by_id = {entry.id: entry for entry in scene.current}
        kept: list[Draft] = []
        for draft in drafts:
            draft = _linked(_about(draft, shown, scene), by_id, ledger)
            # what it replaces may lend it words: "on the 21st, no longer on the 14th"
            before = [_remark(by_id[old]) for old in draft.replaces if old in by_id]
            if not self._refused(draft, [*before, *shown], scene) and not ledger.holds(draft):
                ledger.add(draft)
                kept.append(draft.with_(origin=origin(draft, [*before, *shown])))
        return kept

    def _refused(self, draft: Draft, shown: Sequence[Message], scene: Scene) -> bool:
        refusal = why_refused(draft, shown, tuple(scene.subjects))
        if refusal:
            reason = f"{refusal.reason} ({refusal.kind}): {one_line(draft.content, 100)!r}"
            self._home.trace("refused", where="extract", kind=refusal.kind, reason=reason)
        return refusal is not None

    def _handoff(
        self, draft: Draft | None, ours: Draft | None, answer: AnswerReader, by: str
    ) -> list[Draft]:
        """The model's handoff, or ours if there is none or the judge refuses it. None where nothing
        was done, whatever the model says."""
        if ours is None:
            return []
        said, scene = answer.said, answer.scene
        if draft and not self._refused(draft, said, scene):
            draft = _about(draft, said, scene)
            return [draft.with_(subject=draft.subject or ours.subject)]
        refusal = why_refused(ours, said, tuple(scene.subjects))
        if refusal and refusal.kind == "poisoned":  # it quotes what is harmful
            ours = ours.with_(content=UNTOLD, detail="")
        return [ours.with_(by=f"{by}, rules")]


class AnswerReader:
    """Reads the lines of one answer. A ValueError is meant for the model."""

    def __init__(self, taken: Sequence[Message], scene: Scene, ends: bool) -> None:
        self.scene = scene
        self.earlier = context(scene.earlier)
        self.known = related(taken, self.earlier, scene)
        self.gone: set[str] = set()  # references to what does not hold any more
        self.said = [*scene.earlier, *taken]
        self._by_turn = {message.turn: message for message in taken if not message.branch}
        self._context = {message.turn for message in self.earlier if not message.branch}
        self._last = self.said[-1] if ends else None
        self.titles: dict[str, str] = {}  # of a conversation, by its handoff

    def missing(self, kept: list[_Line]) -> str:
        lines = [line for line in kept if line]
        if any(line.type == "handoff" for line in lines) or not self.due(lines):
            return ""
        return 'there is no handoff: {"type":"handoff","content":"...","detail":"..."}'

    def due(self, drafts: Sequence[Draft]) -> Draft | None:
        """The handoff by rules, with what was found: none if it goes on, or nothing was done."""
        if self._last is None:
            return None
        new = [draft.entry("", clock.now()) for draft in drafts if draft.type != "handoff"]
        scene = msgspec.structs.replace(self.scene, current=after(self.scene.current, new))
        return handoff_of(self.said, scene)

    def line(self, raw: dict[str, Any]) -> _Line:
        kind = raw.get("type")
        if kind == "nothing":
            return None
        if kind not in TYPES:
            raise ValueError(f"type must be one of {', '.join(TYPES)}")
        content = _text(raw, "content", CONTENT)
        if not content:
            raise ValueError("content is empty")
        draft = Draft(type=kind, content=content, source="", evidence=())
        draft = draft.with_(detail=_text(raw, "detail", DETAIL), subject=self._subject(raw))
        what = _text(raw, "subject_type", 40, cut=True).lower()
        if draft.subject and what in subjects.TYPES:
            draft = draft.with_(subject_type=what)
        if kind == "handoff":
            if self._last is None:
                return None
            self.titles[content] = _text(raw, "title", 80, cut=True)
            return draft.with_(source=self._last.id, evidence=(self._last.turn,))
        evidence = self._evidence(raw)
        status = (raw.get("status") or "open") if kind == "task" else None
        if kind == "task" and status not in STATUSES:
            raise ValueError('the "status" of a task is "open" or "done"')
        return draft.with_(
            source=self._by_turn[[turn for turn in evidence if turn in self._by_turn][-1]].id,
            evidence=evidence,
            status=status,
            kind=raw.get("kind") if kind == "fact" and raw.get("kind") in KINDS else None,
            replaces=self._replaces(raw),
        )

    def _evidence(self, raw: dict[str, Any]) -> tuple[int, ...]:
        given = raw.get("evidence")
        numbers = [_number(one) for one in (given if isinstance(given, list) else [given])]
        if not numbers or None in numbers:
            raise ValueError('"evidence" must be a list of message numbers')
        for number in numbers:
            if number not in self._by_turn and number not in self._context:
                raise ValueError(f"there is no message {number}")
        if not any(number in self._by_turn for number in numbers):
            raise ValueError('"evidence" must name at least one of the new messages')
        return tuple(sorted({number for number in numbers if number is not None}))

    def _subject(self, raw: dict[str, Any]) -> str:
        name = _text(raw, "subject", 200, cut=True)
        slug = self.scene.subjects.get(name.lower()) or slugify(name)
        if name and not SLUG.fullmatch(slug):
            raise ValueError(f"subject {name!r} is no slug in lower-case-kebab-case")
        return slug

    def _replaces(self, raw: dict[str, Any]) -> tuple[str, ...]:
        given = raw.get("replaces") or []
        found: list[str] = []
        for name in given if isinstance(given, list) else [given]:
            if name in self.gone:
                continue
            if not isinstance(name, str) or name not in self.known:
                raise ValueError(f"replaces {name!r}: there is no known entry of that reference")
            found.append(self.known[name].id)
        return tuple(dict.fromkeys(found))


def _number(given: object) -> int | None:
    """3, also where a model writes "3" or "[3]"."""
    if isinstance(given, str) and given.strip(" []#").isdecimal():
        return int(given.strip(" []#"))
    return given if type(given) is int else None


def _text(raw: dict[str, Any], name: str, most: int, cut: bool = False) -> str:
    value = raw.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text")
    value = text.printable(value)
    if len(value) > most and not cut:
        raise ValueError(f"{name} has {len(value)} characters; at most {most}")
    return value[:most].rstrip()


def _remark(entry: Entry) -> Message:
    return Message("system", f"{entry.content}\n{entry.detail}", entry.id, entry.timestamp)


_USER = re.compile(r"^(?:the )?user(?:'s)?\b", re.IGNORECASE)


def _about(draft: Draft, shown: Sequence[Message], scene: Scene) -> Draft:
    """Without a new subject that only a suspect passage names, and without the session's project
    where it is about the user and not about the project."""
    if not draft.subject:
        return draft
    if draft.subject == scene.subject:
        wrong = not subject(draft.type, _USER.sub("my", draft.content), scene)
    else:
        known = draft.subject in scene.subjects.values()
        wrong = not known and bool(tainted(draft.subject, shown))
    return draft.with_(subject="", subject_type="") if wrong else draft


def _open_task(ledger: Ledger, terms: frozenset[str]) -> Known | None:
    """The one open task that these terms point to, or None if that is not clear.

    Two shared terms are needed, or one that is half of the shorter side. The newer wins a tie: it
    is of this session, if anything is.
    """
    found: Known | None = None
    top = 0.0
    for known in ledger.near(terms):
        if known.type != "task" or known.status != "open":
            continue
        shared = len(terms & known.terms)
        least = min(len(terms), len(known.terms))
        score = shared + shared / len(known.terms)
        if (shared >= 2 or shared * 2 >= least) and score >= top:
            found, top = known, score
    return found


def _linked(draft: Draft, known: Mapping[str, Entry], ledger: Ledger) -> Draft:
    """With what it replaces put right: related things only, and the task that it finishes."""
    old = [known[name] for name in draft.replaces]
    alike = sorted(old, key=lambda entry: _shared(draft, entry), reverse=True)
    fit = [entry for entry in alike if _succeeds(draft, entry, len(old) == 1)][:MERGED]
    replaces = tuple(entry.id for entry in old if entry in fit)
    if draft.type == "task" and draft.status == "done" and not replaces:
        terms = words.terms(draft.content)
        task = _open_task(ledger, terms)
        clear = task and (len(terms & task.terms) > 1 or task.terms <= terms)
        replaces = (task.id,) if task and clear else ()
    return draft.with_(replaces=replaces)


def _succeeds(draft: Draft, old: Entry, alone: bool) -> bool:
    """Whether a draft can take an entry's place: of a type that may, about the same thing.

    The same subject will do where it replaces nothing else; what a person has pinned or
    written has to be what most of the draft is about.
    """
    if draft.type not in _SUCCESSORS.get(old.type, ()):
        return False
    shared = _shared(draft, old)
    if old.pinned or old.session == "manual":
        return shared >= 0.5
    return shared > 0 or (alone and bool(draft.subject) and draft.subject == old.subject)


def _shared(draft: Draft, old: Entry) -> float:
    """The share of an entry's terms that a draft has as well."""
    terms = words.terms(old.content)
    said = words.terms(f"{draft.content} {draft.detail}")
    return len(terms & said) / len(terms) if terms else 0.0
