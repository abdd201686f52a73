"""Context: for one message, what an agent needs to know, within a budget of tokens.

    identity                        P0   who it is             fixed: never dropped, cut at a
    memory, projects, handoff,      P1   what it always needs  section if it is too long
      journal
    topics                          P2   playbooks for this message, and what they subscribe to
    recalled                        P3   what was found for this message
    history                         P4   what was said in this session, the newest

The text has the same order, from what seldom changes to what always does, and the same bytes as
long as nothing changes: so that a provider's prompt cache can use its beginning. What the user
wrote as instructions stands in fences of its own; all else is fenced as reference data that
carries none. Nothing is said twice, and what the host loads by itself is not said at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from wakebook.base.echo import fence
from wakebook.base.errors import WakebookError
from wakebook.log.query import EVERYTHING, Scope
from wakebook.models import tokenizer
from wakebook.recall import days, playbooks, recalled
from wakebook.recall import messages as history
from wakebook.recall import slot as slots
from wakebook.recall.gate import is_small_talk
from wakebook.recall.lately import said_after, said_before
from wakebook.recall.messages import Spoke
from wakebook.recall.playbooks import Active
from wakebook.recall.recalled import Around
from wakebook.recall.slot import CALLED_FOR, FOUND, JOINT, KINDS, PUBLIC, SLOTS, Context, Item, Slot
from wakebook.recall.texts import Once, Texts, bare, trim
from wakebook.recall.topics.book import Fired
from wakebook.recall.turn import Handoff
from wakebook.store.chunk import category

if TYPE_CHECKING:
    from wakebook.opened import Opened

LEAST = 400  # tokens: with less, not even the fixed slots can say where they are
FEW = 60  # tokens: less of the observations is not worth a fence
MARGIN = 8  # tokens that may be lost where texts are put together
FENCES = {  # in the order of the text: what is said about them, and what stands in them
    note: ["subscribed"] * (note == FOUND) + [name for name in SLOTS if SLOTS[name].note == note]
    for note in dict.fromkeys(slot.note for slot in SLOTS.values())
}


class Sources(NamedTuple):
    opened: Opened
    texts: Texts
    handoffs: Sequence[Handoff]
    now: datetime  # in the user's time zone
    start: Callable[[Scope], str] = lambda scope: ""  # what a session there is told first

    @property
    def root(self) -> Path:
        return self.opened.home.root

    @property
    def memory_file(self) -> Path:
        return self.opened.memory_file()


class Request(NamedTuple):
    message: str
    budget: int
    kind: str = "main"
    session: str = ""
    transcript: str = ""  # of the session's newest window
    have: frozenset[str] = frozenset()  # slots that the host loads
    skip: frozenset[str] = frozenset()  # slots that were told when the session began
    told: str = ""  # what this session has been told before, and still sees
    history: Sequence[Spoke] = ()
    topics: Sequence[Active] = ()
    scope: Scope = EVERYTHING


def check(budget: int) -> None:
    if budget < LEAST:
        raise WakebookError(
            f"A context of {budget} tokens has room for nothing. Give it {LEAST} or more."
        )


class Compiler:
    def __init__(self, request: Request, sources: Sources) -> None:
        self.request, self.sources = request, sources
        self.settings = sources.opened.config.context
        self.slots: dict[str, Slot] = {}
        self.missed: list[Item] = []
        self.notes: list[str] = []
        self.steps: dict[str, float] = {}
        self.texts: dict[str, str] = {}
        self.flat: dict[str, str] = {}  # path -> words of it that are told, or at the host
        self.fired: list[Fired] = []  # topics that were waiting, and are told
        self.left = request.budget
        left_out = request.have | request.skip
        self._wanted = [name for name in KINDS[request.kind] if name not in left_out]
        self._since = perf_counter()

    def run(self) -> Context:
        check(self.request.budget)
        self._fixed()
        self._topics()
        self._message()
        fences = self._fences()
        while (tokens := sum(map(_counted, fences))) > self.request.budget:  # hardly ever: joints
            self._give_up()
            fences = self._fences()
        self._step("assemble")
        self.notes += self.sources.texts.troubles()
        told = (self.slots[name] for name in SLOTS if name in self.slots)
        return Context(
            text="".join(fences),
            tokens=tokens,
            budget=self.request.budget,
            left=self.request.budget - tokens,
            slots=tuple(replace(slot, tokens=min(slot.tokens, tokens)) for slot in told),
            missed=tuple(sorted(self.missed, key=lambda item: -(item.score or 0.0))),
            notes=tuple(self.notes),
            steps=self.steps,
        )

    def _step(self, name: str) -> None:
        now = perf_counter()
        self.steps[name] = round((now - self._since) * 1000, 3)
        self._since = now

    def _skipped(self, name: str, why: str) -> None:
        self.slots[name] = Slot(name=name, priority=SLOTS[name].priority, note=why)

    def _allowed(self, name: str) -> bool:
        if name in self._wanted:
            return True
        kind, have, skip = self.request.kind, self.request.have, self.request.skip
        why = "told before" if name in skip else f"not for {kind} sessions"
        self._skipped(name, "your host loads it" if name in have else why)
        return False

    # --- P0, P1 --------------------------------------------------------------------------

    def _fixed(self) -> None:
        made = {name: slot.make for name, slot in SLOTS.items() if slot.make}
        have = self.request.have
        told = {*self._wanted, *have}
        parts = {
            name: make(self.sources, self.request) for name, make in made.items() if name in told
        }
        wanted = tuple(
            slots.Wanted(name, part, getattr(self.settings, name), name in have)
            for name, part in parts.items()
        )
        for name in made:
            self._allowed(name)
        told = {one.name for one in wanted if not one.host and one.part.text}
        fences = list(FENCES.items())[:2]
        frames = [_cost(note) for note, names in fences if told.intersection(names)]
        room = int(self.request.budget * self.settings.fixed_share) - sum(frames)
        found = slots.lay(wanted, room)
        self.ruled, self.once = found.ruled.copy(), found.once.copy()
        self.once.add(days.as_said(self.request.told))
        self.texts |= found.texts
        self.slots |= found.slots
        for note, names in fences:  # the marks around a fence count for the first slot in it
            first = next((name for name in names if self.texts.get(name)), "")
            if first:
                slot, frame = self.slots[first], _cost(note)
                more = {"tokens": slot.tokens + frame, "budget": slot.budget + frame}
                self.slots[first] = replace(slot, **more)
        self.left -= sum(slot.tokens for slot in self.slots.values())
        for name in ("memory", "journal"):  # the index knows their long lines in pieces
            part = parts.get(name, slots.Part("", ""))
            text = f"{part.older}\n{part.text}" if name in have else self.texts.get(name, "")
            if text:
                self.flat[part.where] = " ".join(map(bare, text.split("\n")))
        if "journal" in found.slots and not parts["journal"].text:
            self._skipped("journal", "none of today or yesterday")
        self._step("fixed")

    # --- P2 ------------------------------------------------------------------------------

    def _topics(self) -> None:
        if not self._allowed("topics"):
            return
        most = min(self.settings.topics, self.left // 2)
        room = most - _cost(CALLED_FOR) - _cost(FOUND)
        told = playbooks.Told(self.request.topics, room, self._subscription, self.ruled, self.once)
        self.missed += told.missed
        self.fired = told.fired
        if not told.items:
            self._skipped("topics", "no topic is active")
        else:
            ruled, found = map("\n\n".join, (told.instructions, told.reference))
            self.texts |= {"topics": ruled, "subscribed": found}
            texts = ((ruled, CALLED_FOR), (found, FOUND))
            tokens = sum(tokenizer.count(text) + _cost(note) for text, note in texts if text)
            self.left -= tokens
            items = tuple(told.items)
            self.slots["topics"] = Slot(
                name="topics", priority=2, tokens=tokens, budget=most, items=items
            )
        self._step("topics")

    def _subscription(self, name: str) -> str | None:
        """What a file says that a topic subscribes to; None if it is not for this session."""
        home = Path(os.path.realpath(self.sources.root))
        path = Path(os.path.realpath(home / name))  # which knows what to do with a circle of links
        group = self.request.kind == "group"
        if not path.is_relative_to(home):
            return None
        if self.request.kind != "main" and str(path) == os.path.realpath(self.sources.memory_file):
            return None
        inside = path.relative_to(home).as_posix()
        if group and (category(inside)[0] not in PUBLIC or not inside.startswith("knowledge/")):
            return None
        return self.sources.texts.read(path, own=group)

    # --- P3, P4 --------------------------------------------------------------------------

    def _message(self) -> None:
        """What was found for the message, and the session so far. What is in the history is not
        told as found. If less was found than there is room for, more of the history comes in."""
        spoke = self.request.history
        if "history" not in self._wanted:
            for one in spoke:  # the host shows it
                self.once.add(one.text)
            spoke = ()
        told = self.once.copy()
        share = self.settings.history_share if "recalled" in self._wanted else 1.0
        said = history.pack(spoke, int((self.left - self._frame()) * share), told)
        for one in spoke[said.dropped :]:
            self.once.add(one.text)
        self.left -= said.tokens
        self._recalled()
        told.add(self.texts.get("recalled", ""))
        self.left += said.tokens
        self._history(spoke, told)

    def _recalled(self) -> None:
        """Search hits; or, before the first message, what matters most lately."""
        if not self._allowed("recalled"):
            return
        room = self.left - self._frame() - MARGIN
        if is_small_talk(self.request.message):
            self._skipped("recalled", "nothing was asked")
        elif self.request.message.strip():
            self._slot("recalled", self._found(room), room, "nothing was found")
        elif self.request.kind != "main":
            self._skipped("recalled", "no message")
        else:
            self._slot("recalled", self._observed(room), room, "no message, no observations")
        self._step("recalled")

    def _found(self, room: int) -> slots.Packed:
        found = recalled.passages(self.sources.opened, self.request, room)
        self.notes += found.notes
        self._step("search")
        around = Around(
            once=self.once,
            flat=self.flat,
            current=self.request.transcript,
            told=self.request.told,
            words=" ".join(map(bare, days.as_said(self.request.told).split("\n"))),
            zone=self.sources.now.tzinfo,
            rated=self._rated({one.ref for one in found.found}),
            after=partial(said_after, self.sources.opened),
            before=partial(said_before, self.sources.opened),
        )
        boost = self.settings.reference_boost
        if not self.sources.opened.beside:
            packed = recalled.pack(found, room, around, boost)
        else:
            from wakebook.recall.beside import packed_together

            packed = packed_together(self.sources.opened, self.request, found, room, around, boost)
        self.missed += packed.missed
        return packed

    def _rated(self, refs: set[str]) -> Mapping[str, float]:
        home = self.sources.opened.home
        if not (home.root / "feedback.jsonl").exists():
            return {}
        from wakebook.recall.ratings import weighed

        return weighed(home, self.request.message, refs)

    def _observed(self, room: int) -> slots.Packed:
        where = "knowledge/memory/observations.md"
        said = self.sources.texts.read(self.sources.root / where)
        if room < FEW:
            return slots.Packed()
        text, note = trim(self.once.fresh(said), min(room, self.left // 2), where)
        size = tokenizer.count(text)
        item = Item(label=where, tokens=size, reason=note or "no message: what matters lately")
        return slots.Packed(text, size, (item,))

    def _history(self, spoke: Sequence[Spoke], told: Once) -> None:
        if not self._allowed("history"):
            return
        room = self.left - self._frame() - MARGIN
        packed = history.pack(spoke, room, told)
        dropped = f"{packed.dropped} older messages do not fit" if packed.dropped else ""
        self._slot("history", packed, room, "no history was given", dropped)
        self._step("history")

    def _frame(self) -> int:
        """Tokens of the last fence, if nothing stands in it yet."""
        there = any(self.texts.get(name) for name in ("subscribed", "recalled"))
        return 0 if there else _cost(FOUND)

    def _slot(self, name: str, found: slots.Packed, room: int, empty: str, note: str = "") -> None:
        if not found.text:
            self._skipped(name, note or empty)
            return
        frame = self._frame()
        tokens = found.tokens + JOINT + frame
        self.texts[name] = found.text
        self.left -= tokens
        self.slots[name] = Slot(
            name=name,
            priority=SLOTS[name].priority,
            tokens=tokens,
            budget=max(room + JOINT + frame, tokens),
            items=found.items,
            note=note,
        )

    # --- the text ------------------------------------------------------------------------

    def _fences(self) -> list[str]:
        told = (
            (note, "\n\n".join(filter(None, map(self.texts.get, names))))
            for note, names in FENCES.items()
        )
        return [fence(text, note) for note, text in told if text]

    def _give_up(self) -> None:
        """Take the last line of what matters least; of the fixed slots only what is not all."""
        for name in ("history", "recalled", "subscribed", "topics"):
            if text := self.texts.get(name):
                self.texts[name] = text.rpartition("\n")[0]
                return
        name = max(self.texts, key=lambda one: len(self.texts[one]))
        self.texts[name] = tokenizer.cut(
            self.texts[name], tokenizer.count(self.texts[name]) - MARGIN
        )


# tokens of a fence: one never reaches from the end of a fence into the next
_counted = lru_cache(16)(tokenizer.count)


@cache
def _cost(note: str) -> int:
    """Tokens of the marks around a fenced text."""
    return tokenizer.count(fence("x", note)) - 1
