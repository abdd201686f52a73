"""The verdict on a draft: the rules of the sift, in the order of their weight."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

from wakebook.base.home import Home
from wakebook.base.text import one_line
from wakebook.base.words import names_in as names
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft
from wakebook.learn.judge.grounds import Ground, days, ground, specifics, squeeze, telling, tongue
from wakebook.learn.judge.passages import Parted, cues, harms, normal, parted
from wakebook.learn.judge.worth import agrees, generic, meta
from wakebook.learn.phrases import cues as phrases
from wakebook.learn.phrases import pattern, signs

UNTOLD = "Where this session stopped was not written down: see its transcript"
Kind = Literal["ungrounded", "generic", "poisoned", "meta"]
NEAR = 2  # messages before and after the evidence that belong to it
SHARE = 1 / 3  # of a draft's telling words that must have been said nearby
LOOSE = 0.2  # ... if half of them were said anywhere; and of a handoff's
TAINT = 0.3  # of the words that only a suspect passage has
SAID = 0.6  # of the words of a harmful draft that the user must have said


class Refusal(NamedTuple):
    kind: Kind
    reason: str  # short, for a trace and a human


def why_refused(
    draft: Draft, messages: Sequence[Message], anchors: Collection[str] = ()
) -> Refusal | None:
    """Why a draft is not to be kept, or None.

    `messages` are all that the model was shown, `anchors` the names of known subjects. What has
    no turn (an entry that the draft replaces) lends words to it, but does not vouch for it.
    """
    scene = _Scene(draft, messages)
    reason = scene.harmful() or scene.tainted()
    if reason:
        return Refusal("poisoned", reason)
    reason = meta(draft, messages)
    if reason:
        return Refusal("meta", reason)
    reason = scene.ungrounded()
    if reason:
        return Refusal("poisoned" if scene.near_suspects() else "ungrounded", reason)
    if draft.type == "decision" and not scene.users():
        return Refusal("ungrounded", "only the agent says it")
    reason = generic(draft, scene.evidence, messages, anchors)
    return Refusal("generic", reason) if reason else None


def tainted(text: str, messages: Sequence[Message]) -> str:
    """Why a subject or a title comes out of a suspect passage, or ""."""
    text = text.replace("-", " ")
    draft = Draft(type="handoff", content=text, source="", evidence=())
    scene = _Scene(draft, messages)
    return scene.harmful() or scene.tainted()


def suspicious(text: str, by_user: bool) -> str:
    """Why a text should not be quoted: it gives orders to its reader, or does harm."""
    reason, always = harm(text)
    if reason and (always or not by_user) and not (by_user and reason == OVERRIDES):
        return reason  # a user may take back what they have said
    return "it gives orders to its reader" if parted(text, by_user).suspect else ""


def quotable(draft: Draft) -> Draft:
    """Without lines that give orders to its reader. What a user said last may: it is quoted."""
    said = ((line, line.partition(": ")[2] or line) for line in draft.detail.split("\n"))
    lines = [it for it, text in said if not suspicious(text, it.startswith("User last: "))]
    content = UNTOLD if suspicious(draft.content, True) else draft.content
    return draft.with_(content=content, detail="\n".join(lines))


def harmless(home: Home, drafts: Iterable[Draft]) -> list[Draft]:
    """The drafts that may be kept: what is quoted must not give orders to a later reader."""
    kept: list[Draft] = []
    for draft in drafts:
        if why := suspicious(f"{draft.content}\n{draft.detail}", True):
            reason = f"{why}: {one_line(draft.content, 100)!r}"
            home.trace("refused", where="rules", kind="poisoned", reason=reason)
        else:
            kept.append(draft)
    return kept


class _Scene:
    """A draft with the ground that it may stand on."""

    def __init__(self, draft: Draft, messages: Sequence[Message]) -> None:
        self.draft = draft
        self.words = telling(draft.content)
        places = [at for at, message in enumerate(messages) if message.turn in draft.evidence]
        near = {other for at in places for other in range(at - NEAR, at + NEAR + 1)}
        mixed = set(places)
        if draft.type == "handoff":  # it is about all of them
            places = list(range(len(messages)))
            near = set(places)
        parts = [_parted(message) for message in messages]
        lent = {at for at, message in enumerate(messages) if not message.turn}
        self.evidence = [messages[at] for at in places]
        self._after = messages[max(places) + 1 :][:1] if places else []
        self.said = _grounds(part for at, part in enumerate(parts) if at not in lent)
        self.lent = _grounds(parts[at] for at in lent)
        self.around = _grounds(part for at, part in enumerate(parts) if at in near - lent)
        self.all = self.said + self.lent
        self.near = self.around + self.lent
        self.suspects = [ground(block) for part in parts for block in part.suspect]
        self.told = [block for at in places for block in parts[at].trusted]
        self.own = [
            block
            for part, message in zip(parts, messages, strict=True)
            if message.role == "user"
            for block in part.trusted
        ]
        self.mixed = any(parts[at].suspect for at in mixed)

    def harmful(self) -> str:
        """What harm the draft would do, unless the user may and does ask for it."""
        for text in (self.draft.content, self.draft.detail):
            reason, always = harm(text)
            if reason and (always or not self._said_by_user(text)):
                return reason
        return ""

    def tainted(self) -> str:
        """Whether the draft says what only a suspect passage says."""
        if not self.suspects:
            return ""
        for text in (self.draft.content, self.draft.detail):
            reason = self._specific_taint(text) or self._worded_taint(text)
            if reason:
                return reason
        if self.draft.type == "handoff" or len(self.words) < 3:
            return ""
        worst = max(_covered(self.words, [one]) for one in self.suspects)
        best = max((_covered(self.words, [one]) for one in self.said), default=0.0)
        return "a suspect passage says it" if worst > 0.6 and worst - best >= 0.3 else ""

    def ungrounded(self) -> str:
        """What of the draft was not said."""
        if self.draft.type == "handoff":
            if not self._worded(LOOSE):
                return "the messages do not say it"
            return self._invented(self._foreign())
        if not self.evidence:
            return "its evidence was not among the messages"
        foreign = self._foreign()
        if self.mixed and (foreign or self.lent) and not _covered(self.words, self.around):
            return "its evidence holds a suspect passage"
        if not foreign:
            every = _covered(self.words, self.all)
            if not self._worded(LOOSE if every >= 0.5 else SHARE):
                return "its evidence does not say it"
        return self._invented(foreign)

    def users(self) -> bool:
        """Whether the user says it, or agrees right after the agent has."""
        own = (one for one in self.evidence if one.role == "user")
        if any(not pattern(phrases.HOST).match(one.text) for one in own):
            return True
        return any(one.role == "user" and agrees(one.text) for one in self._after)

    def near_suspects(self) -> bool:
        """Whether what was not said may come from a suspect passage."""
        return self.mixed or _covered(self.words, self.suspects) >= SHARE

    def _specific_taint(self, text: str) -> str:
        identifiers, values = specifics(text)
        for one in identifiers:
            if not _holds(self.said, one) and _holds(self.suspects, one):
                return f"only a suspect passage has {one}"
        for value in values:
            if not _counts(self.said, value) and _counts(self.suspects, value):
                return f"only a suspect passage has {max(value):g}"
        for name in names(text[1:]):
            word = name.lower()
            if word not in signs.PERSON and not _has(self.said, word) and _has(self.suspects, word):
                return f"only a suspect passage names {name}"
        return ""

    def _worded_taint(self, text: str) -> str:
        words = telling(text)
        new = {word for word in words if not _has(self.lent, word)}
        for some in (words, new):
            bad = sum(not _has(self.said, word) and _has(self.suspects, word) for word in some)
            if bad and (bad >= len(some) / 2 or (bad > 1 and bad >= TAINT * len(some))):
                return "only a suspect passage says it"
        return ""

    def _worded(self, least: float) -> bool:
        """Whether enough of the draft's words were said. Of two, one is enough."""
        if not self.words:
            return True
        share = _covered(self.words, self.near)
        return share >= least or (share > 0 and len(self.words) < 3)

    def _invented(self, foreign: bool) -> str:
        """An identifier or number that was not said. Few of another language's are digits."""
        identifiers, values = specifics(f"{self.draft.content}\n{self.draft.detail}")
        for one in identifiers:
            if not _holds(self.all, one):
                return f"{one} was not said"
        for value in values:
            if not _counts(self.all, value) and not (foreign and max(value) < 100):
                return f"{max(value):g} was not said"
        if self._undated():
            return "that day was not named"
        words = telling(self.draft.detail)
        if len(words) > 3 and not foreign and not _covered(words, self.all):
            return "what its detail says was not said"
        return ""

    def _undated(self) -> bool:
        """Whether it names a day out of nowhere. Known for English only.

        A model is told to write "on 13 March" for "next Friday", so a date may be new. But then the
        messages must speak of time at all, or it is the day of one of them or the one beside it.
        """
        named = [day for day in days(self.draft.content) if not _counts(self.all, frozenset({day}))]
        if not named or tongue(" ".join(self.told)) not in ("", "en"):
            return False
        if any(map(signs.RELATIVE.search, [*self.told, *(one.text for one in self.evidence)])):
            return False
        said = [one.at for one in self.evidence if one.at]
        beside = {(at + timedelta(days=off)).day for at in said for off in (-1, 0, 1)}
        return not beside.issuperset(named)

    def _said_by_user(self, text: str) -> bool:
        grounds = [ground(block) for block in self.own]
        identifiers, _ = specifics(text)
        return _covered(telling(text), grounds) >= SAID and all(
            _holds(grounds, one) for one in identifiers
        )

    def _foreign(self) -> bool:
        """Whether the draft is in another language than its evidence."""
        said = tongue(" ".join(self.told)) or tongue(" ".join(self.own))
        written = tongue(self.draft.content)
        return bool(said) and said != written and (bool(written) or said != "en")


@lru_cache(maxsize=1024)
def _parted(message: Message) -> Parted:
    """A message with its tool calls, which are shown by a line each, in two parts."""
    found = parted(message.text, message.role == "user")
    for tool in message.tools:
        for text in (tool.summary, tool.result or ""):
            more = parted(text, False)
            found = Parted(found.trusted + more.trusted, found.suspect + more.suspect)
    return found


def _grounds(parts: Iterable[Parted]) -> list[Ground]:
    return [ground(block) for part in parts for block in part.trusted]


def _covered(words: Collection[str], grounds: Sequence[Ground]) -> float:
    return sum(_has(grounds, word) for word in words) / len(words) if words else 0.0


def _has(grounds: Sequence[Ground], word: str) -> bool:
    return any(one.has(word) for one in grounds)


def _holds(grounds: Sequence[Ground], identifier: str) -> bool:
    return any(one.holds(identifier) for one in grounds)


def _counts(grounds: Sequence[Ground], values: frozenset[float]) -> bool:
    if any(values & one.numbers for one in grounds):
        return True
    digits = squeeze(f"{max(values):.0f}")
    return len(digits) > 3 and _holds(grounds, digits)


# An entry is read by agents later on, and may be obeyed. Some must not be kept no matter who said
# them. Others are harmful unless the user said them: a user may well want raw errors hidden from
# the users of a product, or all invoices sent to an address.

OVERRIDES = "it overrides instructions"
_QUOTED = re.compile(r"[\"“„«'`‘][^\"”“»'`’]{3,80}[\"”“»'`’]")


@lru_cache(maxsize=4096)
def harm(text: str) -> tuple[str, bool]:
    """What harm a draft would do, or "", and whether it does so even if the user said it."""
    text = normal(text)
    for reason, found, always in harms():
        if found.search(text):
            return reason, always
    plain = _QUOTED.sub(" ", text)
    overrides = (cue.found for cue in cues() if cue.name == "override")
    if not signs.TALKED.search(plain) and any(one.search(plain) for one in overrides):
        return OVERRIDES, True
    return "", False
