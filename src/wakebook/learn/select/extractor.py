"""Selector: a fold over the messages of a window that keeps the user's own sentences.

Each message is read with what was said before it and with the ledger of what is known, which
includes the drafts of the messages before. Nothing looks ahead, so it does not matter where a
window was cut.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from wakebook.base.home import Home
from wakebook.base.text import one_line
from wakebook.capture.transcript import Message
from wakebook.learn.about import AMONG, everywhere, introduced
from wakebook.learn.extract import RULES, Draft, Extraction, Heard, Scene, after, subject
from wakebook.learn.judge.verdict import harmless, quotable
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select import closing
from wakebook.learn.select.changes import (
    Change,
    Place,
    bare,
    birthday_of,
    replaced,
    unsettled,
    valued_otherwise,
)
from wakebook.learn.select.handoff import last_words
from wakebook.learn.select.ledger import Known, Ledger
from wakebook.learn.select.pair import Around, slip
from wakebook.learn.select.said import events, lasts_until, read, usual
from wakebook.learn.select.speech import (
    Sentence,
    announced,
    asks,
    fiction,
    fits,
    for_now,
    mocks,
    open_question,
    procedure,
    real,
    sentences,
    tells,
    tells_before,
    unmeant,
    with_before,
)
from wakebook.learn.select.worth import (
    CHANGING,
    Kind,
    beside_order,
    changeable,
    for_later,
    gives_a_value,
    heard,
    idle,
    kind_of,
    live,
    may_change,
    says_enough,
    stated,
    untold,
    worthy,
)
from wakebook.log.entry import DOUBTS, PARTLY, WAS, Entry

LAST = 200  # messages at the end of a window that a handoff looks at
Decide = Callable[[str, Ledger, Place], Change | None]
_EPOCH = datetime.fromtimestamp(0, UTC)  # the selector does not look at the time of an entry


class Selector:
    name = RULES

    def __init__(self, home: Home | None = None, decide: Decide = replaced) -> None:
        """`home`: where a refusal is traced; without one, drafts are not judged. `decide`: says
        what a sentence replaces."""
        self._home, self._decide = home, decide

    def read(self, fresh: Sequence[Message], scene: Scene) -> Extraction:
        drafts = self.extract(fresh, scene)
        if self._home:
            drafts = harmless(self._home, drafts)
        if scene.ends:
            new = [draft.entry(RULES, _EPOCH) for draft in drafts]
            whole = msgspec.structs.replace(scene, current=after(scene.current, new))
            handoff = handoff_of([*scene.earlier, *fresh], whole)
            drafts += [handoff] if handoff else []
        return Extraction(drafts=drafts, taken=len(fresh))

    def extract(self, messages: Sequence[Message], scene: Scene) -> list[Draft]:
        """Drafts from the new messages: facts, decisions, tasks and open questions."""
        reader = _Reader(scene, self._decide)
        for message in live(scene.earlier):
            reader.pass_by(message)
        if scene.earlier:
            reader.listen()
        for message in live(messages):
            if message.role == "user":
                reader.read(message)
            else:
                reader.look_at(message)
            reader.pass_by(message)
        return reader.drafts


class _Pending(NamedTuple):
    """What will be kept, and waits whether the next sentence goes on about it."""

    kind: Kind
    content: str
    detail: str = ""
    replaces: tuple[str, ...] = ()
    about: str = ""  # the subject, where the words do not say it
    old: Heard | None = None  # what it replaces, if that was not kept


class _Reader:
    def __init__(self, scene: Scene, decide: Decide) -> None:
        self._decide = decide
        self.drafts: list[Draft] = []
        self._scene = scene
        self._ledger = Ledger(scene.current, scene.project)
        self._agent: Message | None = None  # what the agent said last
        self._user: Message | None = None  # what the user said, until the agent has done it
        self._last = ""  # the message of the user before
        self._fiction = False
        self._here: set[str] = set()  # ids of what this window has said
        self._beside: set[str] = set()  # and of what this message has
        self._by_turn: dict[int, list[Entry]] = {}  # what was learned from this transcript
        for entry in scene.current:
            for turn in entry.evidence:
                self._by_turn.setdefault(turn, []).append(entry)
        self._pending: _Pending | None = None
        self._others: Callable[[], Iterable[Heard]] | None = scene.heard

    def pass_by(self, message: Message) -> None:
        if message.role == "agent":
            self._agent = message if message.text.strip() else self._agent
            self._user = None if closing.answers(message) else self._user
            return
        self._agent, self._user = None, message
        self._fiction = self._made_up(message)
        ours = self._by_turn.get(message.turn, ())
        self._here |= {one.id for one in ours if closing.of_any(one, [message.id])}

    def _made_up(self, message: Message) -> bool:
        return (self._fiction and not real(message.text)) or fiction(message.text)

    def listen(self) -> None:
        """Take in what this window has said before without its being kept."""
        kept = [one for one in self._scene.current if one.type != "handoff"]
        told = [*self._scene.gone, *(f"{one.content}\n{one.detail}" for one in kept)]
        for one in untold(stated(self._scene.earlier), told):
            self._hear(one)

    def read(self, message: Message) -> None:
        said = sentences(message.text)
        if not said:
            return
        self._beside.clear()
        self._look_back(message, said[0])
        tale = self._made_up(message)
        steps = [] if tale else procedure(message.text)
        for step in steps:
            self._keep(message, _Pending(Kind("fact", "procedure", wanted=True), step))
        if steps:
            said = tuple(it for it in said if not it.heading or it.heading not in steps[0])
        about = ""  # what says that facts follow: "few things about me: ..."
        open_ = False  # whether open questions do
        for sentence, worth, over in zip(said, worthy(said), announced(said), strict=True):
            low = sentence.text.lower()
            begins = lower(cues.INTRODUCES).match(low)
            about = sentence.text[: begins.end()].rstrip(" :.") if begins else about
            about = "" if asks(sentence) else about
            if lower(cues.PRIVATELY).search(low):
                told, self._pending = self._pending, None
                self._forget(self.drafts if told else closing.unsaid(self.drafts))
                continue
            open_ = open_ or lower(cues.QUESTIONS).search(low) is not None
            made_up = tale and (self._fiction or not tells_before(sentence.text, message.text))
            question = "" if made_up else open_question(sentence, open_)
            if question:
                self._settle(message)
                self._pending = _Pending(Kind("question", wanted=True), question)
                continue
            if over and not made_up:
                refers = lower(cues.REFERS).match(low) is not None
                if refers and self._goes_on(sentence, max(worth, 0.0), corrects=False):
                    continue
                self._settle(message)
                rule = Kind("fact", "preference", wanted=True)
                self._pending = _Pending(rule, sentence.text, f"{AMONG}{over}")
            elif not made_up or (lower(cues.FICTIONAL).search(low) and not tells(low)):
                worth = max(worth, 0.0) if about else worth
                self._sentence(message, beside_order(sentence), worth)
            if about and self._pending and not self._pending.detail:
                self._pending = self._pending._replace(detail=f"{AMONG}{about}")
        self._settle(message)

    def _look_back(self, message: Message, first: Sentence) -> None:
        """What the beginning of a message says of those before: "yes, do that", "haha no"."""
        if lower(cues.JOKED).match(message.text.lower()):
            self._laugh_off(self._last)
        self._last = message.id
        if proposal := closing.agreed(first, self._agent):
            kept = _Pending(Kind("decision"), proposal.text, f"Agreed: {one_line(first.text, 120)}")
            self._keep(message, kept, (proposal.turn,))

    def _sentence(self, message: Message, sentence: Sentence, worth: float) -> None:
        text, low = sentence.text, sentence.text.lower()
        back = lower(cues.PUT_BACK).search(low)
        if sentence.asked or text.endswith(":") or (unmeant(text) and not back) or mocks(sentence):
            return
        kind = kind_of(sentence)
        kept = (kind.kind == "preference" and kind.wanted) or for_later(text, self._scene.project)
        worth = max(worth, 0.0) if kept else worth
        corrects = lower(cues.CORRECTS).search(low) is not None
        refers = bool(lower(cues.REFERS).match(low) and not lower(cues.OF_HERE).match(low))
        refers = refers or for_now(sentence)
        if refers and self._goes_on(sentence, worth, corrects):
            return
        self._settle(message)
        if self._closes(message, text):
            return
        here = self._scene.project
        closed = closing.settled(text, self._ledger, here) if kind.type == "fact" else None
        if closed and closed.task:  # and it may say more: "I've reached them, they come at 8"
            self._done(message, closed.task, text)
        changed = self._changed(message, sentence, kind, worth)
        gone = changed.replaces if changed else ()
        open_ = (one for one in closed.perhaps if one.id not in gone) if closed else ()
        perhaps = "\n".join(f"{DOUBTS}{unsettled(one.content, text)}" for one in open_)
        if changed:
            self._pending = changed._replace(detail=f"{changed.detail}\n{perhaps}".strip())
        elif perhaps and fits(text):
            self._pending = _Pending(kind, text, perhaps)
        elif bare(text) and not read(text).values["name"]:
            return  # it corrects something that was never said
        else:
            self._state(message, sentence, kind, worth, refers)

    def _state(
        self, message: Message, sentence: Sentence, kind: Kind, worth: float, refers: bool
    ) -> None:
        """Keep a statement, or hear it. `refers`: it cannot be understood alone."""
        text = with_before(sentence) if refers and kind.type != "decision" else sentence.text
        if not text or not fits(text):
            return
        if (worth >= 0 or kind.wanted) and says_enough(text, kind):
            self._pending = _Pending(kind, text)
        else:
            told = any(sentence.before in one.content for one in self.drafts[-3:])
            text = sentence.text if refers and told else text
            if changeable(text, kind):
                self._hear(heard(message, sentence, text))

    def _closes(self, message: Message, text: str) -> bool:
        tasks = closing.reported(text, self._ledger, self._scene, self._here)
        for task in tasks:
            self._done(message, task, text)
        return bool(tasks)

    def _done(self, message: Message, task: Known, report: str) -> None:
        kept = _Pending(Kind("task", None, "done"), task.content, report, (task.id,))
        self._keep(message, kept)

    def look_at(self, agent: Message) -> None:
        """An agent may say what is left of a list: "then only the lanyards are open". And how it
        has understood the user: "Noted: Tilda drives the round." So the user's words are read once
        more, with its answer; if it has changed something, they may change what they do not
        name."""
        if self._user and closing.laughs(agent):
            self._laugh_off(self._user.id)
        left = self._scene.project and lower(cues.ONLY_LEFT).search(agent.text.lower())
        for sentence in sentences(agent.text) if left else ():
            for task in closing.others_done(sentence.text, self._ledger, self._scene.project):
                self._done(agent, task, f"Agent: {sentence.text}")
        user = self._user
        if not user or not self._scene.project or self._fiction or not closing.answers(agent):
            return
        said = sentences(user.text)
        theirs = [one for one in self._by_turn.get(user.turn, ()) if closing.of_any(one, [user.id])]
        ours: list[Draft | Entry] = [*theirs]
        ours += (one for one in self.drafts if one.source == user.id)
        self._beside |= {one.id for one in ours} | {one.id for one in stated([user])}
        for sentence, worth in zip(said, worthy(said), strict=True):
            kept = next((one for one in ours if sentence.text in one.content), None)
            told = kept and (kept.replaces or kept.detail or kept.type not in CHANGING)
            if told or sentence.asked or slip(sentence.text) or unmeant(sentence.text):
                continue
            kind = kind_of(sentence)
            changed = self._changed(user, sentence, kind, worth, agent)
            if changed:
                gone = (*changed.replaces, *([kept.id] if kept else []))
                self._keep(agent, changed._replace(replaces=gone), (user.turn,))

    def _laugh_off(self, joke: str) -> None:
        """Forget what a message wanted and decided that was a joke."""
        meant = [one for one in self.drafts if one.source != joke or not closing.wants(one)]
        self._forget(meant)

    def _forget(self, kept: list[Draft]) -> None:
        """Leave out all other drafts, so that nothing can replace them."""
        for one in self.drafts:
            if one not in kept:
                self._ledger.forget(one.id)
        self.drafts = kept

    def _hear(self, one: Heard) -> None:
        self._ledger.hear(one)
        self._say(one.id)

    def _say(self, identity: str) -> None:
        self._here.add(identity)
        self._beside.add(identity)

    def _changed(
        self,
        message: Message,
        sentence: Sentence,
        kind: Kind,
        worth: float,
        answer: Message | None = None,
    ) -> _Pending | None:
        """A sentence that replaces something, or answers an open question; one that only gives
        another value, with the sentence before it. `answer`: the agent's to it."""
        found = self._change(message, sentence, kind, worth, answer)
        before = "" if unmeant(sentence.before) else sentence.before
        if found or answer or not before or not gives_a_value(sentence.text):
            return found
        whole = sentence._replace(text=f"{before} {sentence.text}")
        found = self._change(message, whole, kind, worth)
        return found if found and self._beside.isdisjoint(found.replaces) else None

    def _change(
        self,
        message: Message,
        sentence: Sentence,
        kind: Kind,
        worth: float,
        answer: Message | None = None,
    ) -> _Pending | None:
        text = sentence.text
        if kind.type not in CHANGING or (
            kind.kind == "lesson" and "corrects" not in read(text).change
        ):
            return None
        said = read(text)
        here = self._scene.project and (
            changeable(text, kind)
            or said.values["number"]  # "make the whole sum 16500"
            or self._ledger.nearest(said.terms - usual(), 1)
        )
        if not (here or may_change(text, kind, worth) or slip(text)):
            return None
        if self._others is not None:  # what was said in other windows, before it is needed first
            for other in self._others():
                self._ledger.hear(other)
            self._others = None
        agent = answer or self._agent
        worth = max(worth, 0.0) if kind.wanted else worth
        reply = closing.reply_of(answer) if answer else ""
        around = Around(agent.text if agent else "", message.text, worth, reply)
        place = Place(self._here, self._beside, self._scene.project, around)
        change = self._decide(text, self._ledger, place)
        if change is None and answer and closing.confirms(answer):
            change = self._decide(text, self._ledger, place._replace(confirmed=True))
        if change and not kind.wanted and idle(text, change.surely):
            # "now make the worker stop on a signal", "that's me for today"
            old = change.target.content
            ends = any(lasts_until(one, old) for one in events(text))
            change = change if ends or (answer and valued_otherwise(text, old)) else None
        if change and not self._elsewhere(kind, text, change):
            return _corrected(kind, text, change)
        open_ = closing.answered(text, kind.type == "decision", self._ledger, place.project)
        if open_ and not answer and fits(text):
            return _Pending(kind, text, f"Answers: {open_.content}", (open_.id,))
        return None

    def _elsewhere(self, kind: Kind, text: str, change: Change) -> bool:
        """Whether it is about another project than what it would replace."""
        old = change.target.content
        if birthday_of(text):
            return False
        if introduced(text) or introduced(old) or (everywhere(text) and everywhere(old)):
            return False  # somebody else has taken the place, or it holds in every project
        here = self._scene.project and change.target.project == self._scene.project
        ours, theirs = subject(kind.type, text, self._scene), change.target.subject
        unnamed = here and ours == self._scene.subject  # "the app is called Lumo": of this one
        return bool(ours and theirs) and ours != theirs and not unnamed

    def _goes_on(self, sentence: Sentence, worth: float, corrects: bool) -> bool:
        """Whether it goes on about the sentence before, and was put with it."""
        last, low = self._pending, sentence.text.lower()
        if not last or not last.content.endswith(sentence.before):
            return False
        anew = lower(cues.CHANGES).search(low) or lower(cues.ELLIPTIC).match(low)
        if (worth < 0 or corrects) and not (last.replaces and anew):
            return False
        whole = f"{last.content} {sentence.text}"
        self._pending = last._replace(content=whole) if fits(whole) else last
        return True

    def _settle(self, message: Message) -> None:
        """Keep the sentence that waited for the next one."""
        if self._pending:
            waited, self._pending = self._pending, None
            self._keep(message, waited)

    def _keep(self, message: Message, kept: _Pending, turns: tuple[int, ...] = ()) -> None:
        kind = kept.kind
        if kept.old:
            self._keep_old(kept.old)
        person = kind.kind == "relationship" and introduced(kept.content)
        draft = Draft(
            type=kind.type,
            content=kept.content,
            source=message.id,
            evidence=tuple(sorted({*turns, message.turn} - {0})),
            detail=kept.detail,
            subject=subject(kind.type, kept.content, self._scene) or kept.about,
            subject_type="person" if person else "",
            status=kind.status,
            kind=kind.kind,
            replaces=kept.replaces,
        )
        if not self._ledger.holds(draft):
            self._ledger.add(draft)
            self._say(draft.id)
            self.drafts.append(draft)

    def _keep_old(self, heard: Heard) -> None:
        """What was said and is changed now: both are worth keeping."""
        old = Draft(
            type="fact",
            content=heard.content,
            source=heard.source,
            evidence=(heard.turn,) if heard.turn else (),
            heard=heard if heard.transcript else None,
        )
        self._ledger.add(old)
        self.drafts.append(old)


def _corrected(kind: Kind, text: str, change: Change) -> _Pending | None:
    """A correction that says too little alone stands behind what it corrects, or a slip that is put
    right in its place. What may have changed something, or a part of it, says so."""
    old = change.target
    others = "\n".join(f"{DOUBTS}{unsettled(one.content, text)}" for one in change.doubted)
    whole = change.meant or f"{old.content} {text}"
    if change.elliptic and fits(whole) and not old.partly:
        detail = f"{WAS}{old.content}\n{others}".strip()
        return _Pending(kind, whole, detail, (old.id,), old.subject, old.heard)
    if not fits(text):
        return None
    surely = change.surely and not old.partly
    said = old.content if surely else unsettled(old.content, text)
    how = DOUBTS if not surely else WAS if change.wholly else PARTLY
    detail = f"{how}{said}\n{others}".strip()
    return _Pending(kind, text, detail, (old.id,) if surely else (), old.subject, old.heard)


# --- the handoff ------------------------------------------------------------------------------
def handoff_of(
    said: Sequence[Message], scene: Scene, learned: Sequence[Entry] | None = None
) -> Draft | None:
    """The handoff of a window as it is now, whatever later ones have closed or replaced.
    `learned`: what it has left by now, so that its end need not be read again."""
    window = list(live(said))[-LAST:]
    ours: Sequence[Draft | Entry] = learned or ()
    if learned is None:
        by_id = {message.id for message in window}
        place = msgspec.structs.replace(
            scene, earlier=(), current=(), gone=frozenset(), heard=tuple
        )
        silent = Selector(decide=lambda *_: None)  # what replaces what is moot
        alone = silent.extract(window, place)
        theirs = [one for one in scene.current if one.by != RULES and closing.of_any(one, by_id)]
        gone = {old for one in alone for old in one.replaces}
        both: tuple[Draft | Entry, ...] = (*alone, *theirs)
        ours = [one for one in both if one.id not in gone]
    open_ = [one.content for one in ours if one.status == "open" or one.type == "question"]
    decided = [one.content for one in ours if one.type == "decision"]
    found = last_words(window, open_, decided, bool(scene.project))
    if found is None:
        return None
    draft = Draft(
        type="handoff",
        content=found.content,
        source=window[-1].id,
        evidence=(window[-1].turn,) if window[-1].turn else (),
        detail=found.detail,
        subject=subject("handoff", found.content, scene),
    )
    return quotable(draft)
