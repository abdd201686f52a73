"""The start: what a session is told that knows nothing yet.

    About You            what is true of the user everywhere, the most lasting first
    Your Own Notes       what the user wrote into MEMORY.md by hand
    Last Session Handoff where things stand, and sessions that are still open
    To Keep in Mind      how things are done here, what is pinned or was noted by hand
    Open, Decided        what is to be done, what was settled
    Known                the newest facts, as far as there is room left
    Also Said Here       the same of what was not kept as an entry (`lately`)
    Looking further      how to ask for more

All of it within a budget of tokens that does not grow with the memory: each part has a fair share,
the newest lines first. Nothing is said twice, and tasks and questions that were not mentioned for
some weeks are left to the search.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base import words
from wakebook.base.config import Briefing
from wakebook.base.text import one_line
from wakebook.learn.about import FIRST, OWN, Weights, about, forms, is_own, lost, own, vague
from wakebook.learn.extract import RULES
from wakebook.learn.phrases import cues, pattern
from wakebook.learn.select.said import DIGIT, bare_clauses, clauses_of, usual
from wakebook.log.chains import Chains
from wakebook.log.entry import DOUBTS, RETRACTED, Entry, doubts, news_first, present
from wakebook.log.subjects import Registry
from wakebook.models import tokenizer
from wakebook.recall import days
from wakebook.recall.holding import holding, reported
from wakebook.recall.lately import lately
from wakebook.recall.lines import in_part
from wakebook.recall.perhaps import items, lists
from wakebook.recall.slot import Section, fair
from wakebook.recall.stale import Stale, Utterance, once, unmarked
from wakebook.recall.texts import in_confidence, says
from wakebook.store.hits import Replaced

if TYPE_CHECKING:
    from wakebook.recall.turn import Handoff

WIDTH = 240  # characters of a line
EACH = 8  # things to keep in mind, tasks and questions, decisions
MOST = 20  # facts, if there is room
FEW = 40  # tokens: with fewer left, no facts are told
SOME = 2  # tokens of a heading and its line end, beside its words
DAY = timedelta(days=2)
BOTH = 2  # words that a fact shares with one that may have changed it
LEARNED = 2_000  # facts and decisions that are looked at for changes
AGAIN = 2  # spaces of a clause that is known again
MENTIONED, SOME_OF = 0.6, 0.5  # of its words in something newer; of one thing of a list
ABOUT, NOTES = "## About You", "## Your Own Notes"
FURTHER = """## Looking further
- `wakebook search WORDS` finds what was said or learned, in any words (filters: --type, --since)
- `wakebook show ID` gives an entry with its history and the conversation lines behind it
- `wakebook remember "TEXT"` keeps something for the next session"""
_TITLE = re.compile(r"^[^\W\d_][\w ]{2,30}: ")  # "Repo rule: ", which many lines may share
NOTHING = "No session here has left a handoff yet."


class Known(NamedTuple):
    """The log at a moment, and what of it belongs to the place that asks."""

    chains: Chains
    registry: Registry
    now: datetime  # in the user's time zone
    settings: Briefing
    here: Callable[[Entry], bool] = lambda entry: True  # of this project
    ours: Callable[[Entry], bool] = lambda entry: True  # may be told as a truth about the user
    weights: Weights | None = None
    worths: Weights | None = None  # of what was said here
    said: Sequence[Utterance] = ()  # what the user said here lately
    elsewhere: Sequence[Utterance] = ()  # and in other projects, after a wish that is told here
    topic: frozenset[str] = frozenset()  # the terms of the project's name
    near: Callable[[Utterance], list[Utterance]] | None = None  # what was said of the same later


class State:
    """What holds, by what it is for: for the start, and for the briefing of MEMORY.md."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._chains, self._now, settings = known.chains, known.now, known.settings
        held = (one for one in self._chains.current() if not one.extra.get(RETRACTED))
        self.all = [self._with_kind(one) for one in held]
        self.current = [one for one in self.all if one.type != "handoff"]
        self._alive = known.now - timedelta(days=settings.open_days)

    def _with_kind(self, entry: Entry) -> Entry:
        """What replaces a preference is one."""
        old = (self._chains.by_id.get(one) for one in entry.replaces if entry.kind is None)
        wished = entry.type == "fact" and any(one and one.kind == "preference" for one in old)
        return entry.with_(kind="preference") if wished else entry

    @cached_property
    def about(self) -> list[Entry]:
        facts = (one for one in self.current if one.type == "fact")
        known = self._known
        return about(
            facts, known.registry, known.weights, lambda one: self._lasts(one) and known.ours(one)
        )

    @cached_property
    def _here(self) -> dict[str, list[Entry]]:
        """What belongs to this project, by type, the newest first."""
        found = defaultdict[str, list[Entry]](list)
        for one in _newest(filter(self._known.here, self.current)):
            found[one.type].append(one)
        return found

    def kept(self) -> list[Entry]:
        """How things are done here, what is pinned, and what the user has lately noted by hand."""
        since = self._now - timedelta(days=self._known.settings.active_days)
        about_ = {one.id for one in self.about}
        return [
            one
            for one in self._here["fact"]
            if one.id not in about_
            if one.kind == "preference"
            or one.pinned
            or (one.session == "manual" and since <= one.timestamp <= self._now)
        ]

    def facts(self) -> Iterator[Entry]:
        """Without what was true for a while: "ignore it till Friday"."""
        for one in self._here["fact"]:
            if self._lasts(one) and not in_confidence(one.content):
                yield one

    def _lasts(self, entry: Entry) -> bool:
        """Whether it was said lately, or holds for more than some days: "I'll ask Jo" does not."""
        recent = self._now - timedelta(days=self._known.settings.active_days)
        passes = days.passes(entry.content) or pattern(forms.SEES_TO).match(entry.content)
        lately = entry.timestamp >= recent or not passes
        return lately and entry.timestamp <= self._now

    def decisions(self) -> list[Entry]:
        return self._here["decision"]

    def _over(self, text: str, said: date) -> bool:
        """Whether it held until a day that has passed."""
        return days.over(text, said, self._now.date())

    def open(self, *types: str) -> Iterator[Entry]:
        """What is to be done or answered; pinned ones first, then the newest."""
        found = (one for type_ in types for one in self._here[type_] if self._chains.is_open(one))
        for one in _newest(found):
            if one.pinned or self._is_due(one):
                yield one

    def _is_due(self, entry: Entry) -> bool:
        """Whether an open task or question, or most of its words, came up in the last weeks. What
        was for that day is over, and what was said by the way was no promise. "Grab them" helps
        nobody later."""
        by_rules = entry.by == RULES and entry.type == "task"
        if by_rules and pattern(forms.HEDGED).search(entry.content):
            return False
        text = entry.content
        if by_rules and not entry.project and not entry.subject and (lost(text) or vague(text)):
            return False
        if entry.timestamp < self._now - DAY and pattern(forms.EXPIRED).search(entry.content):
            return False
        if entry.timestamp >= self._alive or _message(entry) in self._touched:
            return True
        parts = [words.terms(one) for one, _ in items(text)]
        listed = len(parts) > 2 and any(self._mentioned(one, SOME_OF) for one in parts)
        return listed or self._mentioned(words.terms(text), MENTIONED)

    def _mentioned(self, terms: frozenset[str], share: float) -> bool:
        said, said_in = self._lately_said
        least = ceil(max(2, share * len(terms)))
        # what has so many of the words has one of the rarest
        rarest = sorted(terms, key=lambda term: len(said_in[term]))[: len(terms) - least + 1]
        candidates = {number for term in rarest for number in said_in[term]}
        return any(len(terms & said[number]) >= least for number in candidates)

    @cached_property
    def _touched(self) -> set[tuple[str, tuple[int, ...]]]:
        """The messages of which something was done in the last weeks: their lists are in work."""
        by_id = self._chains.by_id
        recent = (one for one in self._chains.entries if one.timestamp >= self._alive)
        olds = (by_id.get(old) for one in recent for old in one.replaces)
        return {_message(one) for one in olds if one and one.type == "task" and one.evidence}

    @cached_property
    def _lately_said(self) -> tuple[list[frozenset[str]], Mapping[str, list[int]]]:
        """The words of what was said in the last weeks, and where each of them was."""
        recent = (one for one in self._chains.entries if one.timestamp >= self._alive)
        said = [words.terms(f"{one.content} {one.detail}") for one in recent]
        said_in = defaultdict[str, list[int]](list)
        for number, terms in enumerate(said):
            for term in terms:
                said_in[term].append(number)
        return said, said_in

    def holding(self, left: Handoff, above: Collection[str] = ()) -> str:
        """A handoff without what has changed since, was told above, or is an entry of its own."""
        talk = left.transcript
        ours = (one for one in self._chains.entries if talk and one.transcript == talk)
        kept = [one.content for one in ours if one.type != "handoff"]
        since = {
            one.transcript
            for entries in self._here.values()
            for one in entries
            if one.timestamp.timestamp() > left.at
        }
        return holding(left, self._stale, self._known.said, above, kept, since)

    def _doubted(self, entry: Entry) -> bool:
        """Whether a plain fact may have changed, so that it is left to the search."""
        plain = entry.type == "fact" and entry.kind is None and entry.session != "manual"
        return (
            plain and not entry.pinned and self._since(entry).doubted(_spoken(entry), False, BOTH)
        )

    def lasting(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Entries of which something holds, by all that was said since."""
        for entry in entries:
            if self._over(entry.content, self._said(entry)):
                continue
            spoken = _spoken(entry)
            self._look_for(spoken)
            found = self._since(entry).correction(spoken)
            if found is None:
                text = "" if self._doubted(entry) else entry.content
            else:
                text = found.told(entry.content)
            if text == entry.content:
                text = self._undone(spoken, entry.type == "task")
            text = in_part(news_first(text, entry.detail), self._since(entry), spoken)
            if text:
                yield entry.with_(content=text) if text != entry.content else entry

    def _undone(self, task: Utterance, listed: bool = False) -> str:
        """A task without what is done, a list with what was said of its things since."""
        text = self._stale.undone(task, listed)
        if text != task.text or not lists(text):
            return text
        said = self._known.said
        return reported(text, [one for one in said if one.at > task.at and one.talk != task.talk])

    def _since(self, entry: Entry) -> Stale:
        """What was said since that an entry may be about: of a truth about the user, in other
        projects, too."""
        wide = self._known.elsewhere and is_own(entry, self._known.registry)
        return self._stale_elsewhere if wide else self._stale

    @cached_property
    def _stale(self) -> Stale:
        return self._made(())

    @cached_property
    def _stale_elsewhere(self) -> Stale:
        return self._made(self._known.elsewhere)

    def _made(self, elsewhere: Sequence[Utterance]) -> Stale:
        by_id = self._chains.by_id
        pairs = ((by_id[old], by_id[new]) for old, new in self._chains.replaced_by.items())
        booked = [
            Replaced(old.content, new.content, int(new.timestamp.timestamp()))
            for old, new in pairs
            if old.type != "handoff" and old.content != new.content
        ]
        held = {one.id for one in self.current}
        casting = (one for one in self._chains.entries if DOUBTS in one.detail)
        latest = ((one, by_id[self._chains.latest(one.id)]) for one in casting)
        unsettled = [
            Replaced(old, new.content, int(new.timestamp.timestamp()), False)
            for one, new in latest
            if new.id in held
            for old in doubts(one.detail)
        ]
        stale = Stale([*booked, *unsettled])
        stale.learn([*self._later, *self._known.said, *elsewhere], self._known.topic)
        return stale

    @cached_property
    def _later(self) -> list[Utterance]:
        """The newest facts and decisions, which may say that something has changed."""
        ours = (one for one in reversed(self.current) if one.type in ("fact", "decision"))
        near = (one for one in ours if self._known.here(one) or self._known.ours(one))
        return list(map(_spoken, islice(near, LEARNED)))

    def _look_for(self, sentence: Utterance) -> None:
        """Of a large memory only the newest words are learned as a whole; what else may be about an
        older sentence is searched for."""
        older = len(self._later) == LEARNED and sentence.at < self._later[-1].at
        if older and self._known.near:
            self._stale.learn(near := self._known.near(sentence))
            if self._known.elsewhere:
                self._stale_elsewhere.learn(near)

    def lately(self) -> Iterator[tuple[str, str]]:
        """What the user said here that is not kept as an entry, as far as it holds: the words, and
        a line with them. Of what was kept and is replaced, what the new words leave."""
        since = self._now - timedelta(days=self._known.settings.active_days)
        talks = {one.talk for one in self._known.said}
        ours = (one for one in self._chains.entries if one.transcript in talks)
        kept = [f"{one.content}\n{one.detail}" for one in ours if one.type != "handoff"]
        worths = self._known.worths
        found_here = lately(self._known.said, worths.best) if worths else lately(self._known.said)
        for one, before in found_here:
            said = datetime.fromtimestamp(one.at, self._now.tzinfo)
            passing = days.passes(one.text) or pattern(forms.SOME_DAY).search(one.text)
            if (said < since and passing) or self._over(one.text, said.date()):
                continue
            found = self._stale.correction(one)
            if found is None and self._stale.doubted(one):
                continue  # it can be searched for
            if any(one.text in content for content in kept) and not (found and found.rest):
                continue
            text = found.told(one.text) if found else self._undone(one)
            if before and not found and not self._stale.correction(one._replace(text=before)):
                text = f"{before} {text}"
            if text:
                line = days.resolved(_short(text), said.date())
                yield text, f"{said:%Y-%m-%d}: {line}"

    def dated(self, entry: Entry) -> str:
        """Its words, with the day where they speak of "today" or "next week"."""
        return days.dated(_short(entry.content), self._said(entry))

    def told(self, entry: Entry) -> str:
        """Its words after the day on which they were said."""
        text = days.resolved(_short(entry.content), self._said(entry))
        return f"{self.day(entry)}: {text}"

    def _said(self, entry: Entry) -> date:
        return entry.timestamp.astimezone(self._now.tzinfo).date()

    def day(self, entry: Entry) -> str:
        return f"{entry.timestamp.astimezone(self._now.tzinfo):%Y-%m-%d}"


def _short(text: str) -> str:
    """Of a long line its beginning, and no note cut off."""
    return one_line(text, WIDTH + len(text) - len(unmarked(text)))


def _message(entry: Entry) -> tuple[str, tuple[int, ...]]:
    return entry.transcript, entry.evidence


def _newest(found: Iterable[Entry]) -> list[Entry]:
    return sorted(found, key=lambda one: (one.pinned, one.timestamp), reverse=True)


def _spoken(entry: Entry) -> Utterance:
    turn = min(entry.evidence, default=0)
    return Utterance(entry.content, int(entry.timestamp.timestamp()), entry.transcript, turn)


def start(
    known: Known, handoffs: Sequence[Handoff], notes: str, budget: int, loaded: bool = False
) -> str:
    """`handoffs`: of this place. `notes`: what the user wrote into MEMORY.md. `budget`:
    tokens. `loaded`: the host tells what is in MEMORY.md."""
    state = State(known)
    user = list(islice(state.lasting(state.about), FIRST))
    told = _of_user(user)
    vain = {one.id for one in user} - {one.id for one in told}
    kept = islice(state.kept(), EACH)
    above = {unmarked(one.content) for one in (*told, *kept)}
    stand = [state.holding(one, above) for one in handoffs]
    said = _Said(state, notes, *stand, *(one.content for one in told))
    parts = [
        Section(ABOUT, [] if loaded else [state.dated(one) for one in told]),
        Section(NOTES, [], notes),
        *(Section("", [], text) for text in stand or [NOTHING]),
        Section("## To Keep in Mind", said.fresh(state.kept(), _to_do)),
        Section("## Open", said.fresh(state.open("task", "question"), _to_do)),
        Section("## Decided", said.fresh(state.decisions(), _decided)),
    ]
    room = budget - tokenizer.count(f"{FURTHER}\n\n")
    filled = {str(place): part for place, part in enumerate(parts) if part.whole}
    needs = {place: tokenizer.count(part.whole) + SOME for place, part in filled.items()}
    given = fair(needs, room)
    texts = [part.cut(given[place]) for place, part in filled.items()]
    left = room - sum(min(needs[place], given[place]) for place in filled)
    known_ = (one for one in state.facts() if one.id not in vain)
    facts = Section("## Known", said.fresh(known_, _known, MOST))
    for more in (facts, Section("## Also Said Here", said.lately())):
        texts += [more.cut(left - SOME, tells=False)] if left > FEW else []
        left -= tokenizer.count(texts[-1]) + SOME
    return "\n\n".join(filter(None, [*texts, FURTHER]))


def _of_user(found: Iterable[Entry]) -> list[Entry]:
    """What holds, then what may no longer hold; of this, what was said since is told once."""
    told: list[Entry] = []
    said: list[frozenset[str]] = []
    holds = sorted(found, key=lambda one: unmarked(one.content) != one.content)
    for entry in (one for one in holds if not any(_in_vain(one, it) for it in holds)):
        text = once(entry.content, lambda new: any(says(it, words.terms(new)) for it in said))
        told.append(entry.with_(content=text) if text != entry.content else entry)
        said.append(words.terms(text))
    return told


def _in_vain(entry: Entry, other: Entry) -> bool:
    """Whether a line repeats a clause that another one tells of the user, and says no more of them;
    of two such lines, the newer."""
    text, theirs = unmarked(entry.content), words.terms(unmarked(other.content))
    long = (it for it in bare_clauses(text) if it.count(" ") >= AGAIN and words.terms(it))
    clause = next((it for it in long if words.terms(it) <= theirs), "")
    if not clause or entry.id == other.id or own(text.replace(clause, "")) >= OWN:
        return False
    said = words.terms(clause)
    rest = (it for it in clauses_of(unmarked(other.content)) if not said <= words.terms(it))
    return own(" ".join(rest)) >= OWN or entry.timestamp > other.timestamp


def _with_subject(entry: Entry, text: str) -> str:
    return f"{text} ({entry.subject})" if entry.subject else text


def _known(entry: Entry, state: State) -> str:
    return _with_subject(entry, state.told(entry))


def _to_do(entry: Entry, state: State) -> str:
    return _with_subject(entry, f"{'[ ] ' * (entry.type == 'task')}{state.dated(entry)}")


def _decided(entry: Entry, state: State) -> str:
    detail = present(entry.detail)
    said = f"{entry.content.rstrip('.')} — {detail}" if detail else entry.content
    return _with_subject(entry, f"{state.day(entry)}: {_short(said)}")


class _Said:
    """What was told, to tell nothing twice."""

    def __init__(self, state: State, *texts: str) -> None:
        self._state = state
        lines = (line for text in texts for line in text.split("\n"))
        self._told = [words.terms(line) for line in lines]

    def _has(self, text: str, terms: frozenset[str]) -> bool:
        """Whether it was told, with all its clauses; of what says itself that it was said before
        ("again: pnpm in this repo"), something of it."""
        again = pattern(cues.REPEATS).match(text) is not None
        usually = not again and pattern(cues.AS_ALWAYS).search(text) is not None
        shared = (len(terms & it - usual()) for it in self._told if again or usually)
        known = max(shared, default=0) > usually
        parts = [it for it in map(words.terms, clauses_of(unmarked(text))) if len(it) > 1]
        told = (it for it in self._told if says(it, terms))
        return known or any(all(len(it & one) * 2 >= len(it) for it in parts) for one in told)

    def _again(self, text: str) -> bool:
        """Whether its first clause was told, or one beside which the others say little."""
        parts = bare_clauses(text)
        for number, terms in enumerate(map(words.terms, parts)):
            others = " ".join(parts[:number] + parts[number + 1 :]) if number else ""
            if len(terms) > AGAIN and any(terms <= one for one in self._told):
                return not DIGIT.search(others) and len(words.terms(others)) < 2 * len(terms)
        return False

    def _knows(self, text: str) -> bool:
        return self._has(text, words.terms(text))

    def fresh(
        self, entries: Iterable[Entry], line: Callable[[Entry, State], str], most: int = EACH
    ) -> list[str]:
        """The lines of the first entries that still hold and say something new."""
        found: list[tuple[frozenset[str], str]] = []
        for entry in self._state.lasting(entries):
            bare = pattern(cues.AS_ALWAYS).sub("", _TITLE.sub("", unmarked(entry.content)))
            terms = words.terms(bare)
            if not self._has(entry.content, terms):
                entry = entry.with_(content=once(entry.content, self._knows))
                found = [it for it in found if len(it[0]) < 2 or not it[0] < terms]  # says less
                found.append((terms, line(entry, self._state)))
                self._told += [terms, words.terms(entry.content)]
            if len(found) == most:  # the others need not be looked at, which takes its time
                break
        return [text for _, text in found]

    def lately(self) -> list[str]:
        """What was said here and is not kept, as far as it holds."""
        found: list[str] = []
        for text, line in self._state.lately():
            terms = words.terms(unmarked(text))
            if not self._again(unmarked(text)) and not self._has(text, terms):
                line = once(line, self._knows)
                found.append(line)
                self._told += [terms, words.terms(line)]
            if len(found) == EACH:
                break
        return found
