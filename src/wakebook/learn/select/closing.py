"""What a new sentence closes: a task that it reports as done, a question that it answers, or an
agent's proposal that it agrees to.

A report has to name the task clearly, an answer what was asked. In other words it will do if the
built-in judge is sure, beside the nearest facts; if it is less so, the task or question stays open,
and is told with the sentence beside it.
"""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from wakebook.base import words
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft, Scene
from wakebook.learn.phrases import cues, lower, pattern
from wakebook.learn.select.ledger import Known, Ledger
from wakebook.learn.select.said import clauses_of, read, usual
from wakebook.learn.select.speech import (
    Sentence,
    fits,
    plain,
    requests,
    sentences,
    split,
    with_before,
)
from wakebook.learn.select.worth import lists
from wakebook.log.entry import Entry, derived_id
from wakebook.models.builtin import judge

ASKED = 4  # open tasks and questions that the judge is asked of
LEAST = 4  # words of a report in other words
NAMED = 3  # words of a task that name it
SETTLED = 0.95  # likely enough, as the judge says, that one of them is done ...
MAYBE = 0.5  # ... or may be
READ = 4000  # characters of an agent's message that are looked at
REPORT = 300  # characters of an agent's message that may say what it has changed
PROPOSAL = 1_500  # characters of an agent's message whose proposal a yes may mean
_COMMON = words.terms(
    "send write call ask get make order book pay buy check fix move week day new old people time"
    " remind todo forget promise owe list good last night morning update status raise bump"
    " add create"
)
_PAST = re.compile(r"\b\w{3,}ed\b")
_AND = re.compile(r"(?i)\s(?:and|und|y|et)\s")
_NUMBERED = re.compile(  # "1 and 3 are done"
    r"(?:(?:so|and|ok|okay|btw|und|y|et)[, ]+)*(?:(?:the |die |los |les )?(?:numbers?|nr|points?"
    r"|items?|tasks?|punkte?|aufgaben?|puntos?)\.? )?"
    r"(?P<numbers>#?\d(?:(?:,| and| und| y| et| &| \+)+ ?#?\d)*)"
    r" (?:is|are|ist|sind|está|están|est|sont|have been|has been) "
)
_PROPOSAL = re.compile(
    r"(?i)\b(?:my|the) (?:suggestion|recommendation|proposal)\b|\bmein vorschlag\b"
)
_POINTS = re.compile(
    r"(?i)\b(?:this|that) way\b|\blike (?:this|that)\b|\b(?:do|build|try) (?:it|that)\b"
)
_OPTION = re.compile(r"(?m)^[ *-]*(?:\*\*)?(?:[Oo]ption )?\(?([a-f1-6])[.):]+(?:\*\*)? +(\S.*)$")
_DIGIT = re.compile(r"\d")


class Agreed(NamedTuple):
    text: str
    turn: int


def agreed(first: Sentence, agent: Message | None) -> Agreed | None:
    """ "Yes, do that": the agent's proposal, which the user makes a decision. `first`: of what the
    user says."""
    low = first.text.lower()
    if choice := lower(cues.CHOOSES).match(low):
        return _chosen(choice["choice"], agent)
    yes = lower(cues.YES).match(low)
    rest = low[yes.end() :] if yes else low
    commits = rest.count(" ") < 8 and any(map(lower(cues.COMMIT).match, (rest, low)))
    commits = commits or lower(cues.AMENDS).search(low) is not None
    meant = commits or (yes and not rest.strip(" .!"))
    if not agent or len(agent.text) > PROPOSAL or not meant:
        return None
    told = sentences(agent.text)
    proposed = [one for one in told if lower(cues.PROPOSES).search(one.text.lower())]
    asked = [one for one in told[-1:] if one.asked]
    if asked and not lower(cues.ASKS_ASSENT).search(asked[0].text.lower()):
        return None
    plainly = [one for one in proposed if not one.asked and fits(one.text)]
    named = [one for one in plainly if _PROPOSAL.search(one.text)]  # "My proposal: a jobs table"
    chosen = named or plainly
    if len(chosen) != 1 or not (commits or asked):
        return None
    points = _POINTS.search(chosen[0].text) is not None  # "I'd build it that way."
    text = with_before(chosen[0]) if points else chosen[0].text
    return Agreed(text, agent.turn) if text and fits(text) else None


def _chosen(letter: str, agent: Message | None) -> Agreed | None:
    """The option of an agent's that has this letter or number, beside others."""
    options = dict(_OPTION.findall(agent.text)) if agent else {}
    text = " ".join(options.get(letter, "").split())
    if not agent or len(options) < 2 or len(text.split()) < NAMED or not fits(text):
        return None
    return Agreed(text, agent.turn)


def unsaid(drafts: list[Draft]) -> list[Draft]:
    """Without what was said last, or its longest number: "don't keep that"."""
    last = [one for one in drafts if one.source == drafts[-1].source]
    most = max(last, key=lambda one: _digits(one.content), default=None)
    return [one for one in drafts if one is not most]


def _digits(text: str) -> int:
    """Of its longest number."""
    return max((len(_DIGIT.findall(one)) for one in text.split()), default=0)


def reported(text: str, ledger: Ledger, scene: Scene, here: AbstractSet[str]) -> list[Known]:
    """The open tasks that a sentence clearly reports as done, by their words or their numbers, or
    by what alone is left."""
    if lower(cues.ONLY_LEFT).search(text.lower()):
        return others_done(text, ledger, scene.project)
    task = finished(text, ledger, scene.subject, here)
    return [task] if task else counted(text, ledger, scene.project)


def finished(text: str, ledger: Ledger, subject: str, here: AbstractSet[str]) -> Known | None:
    """The open task that a sentence clearly reports as done, or as no longer wanted.

    It has to be of this session or of the same project; elsewhere nearly all of it is named.
    """
    low = text.lower()
    done, dropped = (lower(cue).findall(low) for cue in (cues.DONE, cues.DROPPED))
    ticked = lower(cues.TICKED).findall(low)
    done += ticked
    past = words.terms(" ".join(_PAST.findall(text)))
    unless = (done or not dropped) and not ticked and lower(cues.NOT_DONE).search(low)
    if not (done or past or dropped) or unless:
        return None
    said = words.terms(text)
    ranked = []
    for known in ledger.near(said if done or dropped else past):
        shared = len(said & known.terms)
        ours = known.id in here or (subject and known.subject == subject)
        if known.status == "open" and (ours or shared >= max(3, 0.6 * len(known.terms))):
            ranked.append((shared, known.order, known))
    ranked.sort(reverse=True)
    if not ranked:
        return None
    shared, _, task = ranked[0]
    named = task.terms - _COMMON - usual() - words.terms(" ".join(read(task.content).values["day"]))
    telling = said & named
    foreign = said - task.terms - _COMMON - words.terms(" ".join(done))
    clear = len(telling) * 2 > len(named) or (len(telling) * 2 == len(named) and not foreign)
    alone = len(ranked) == 1 or ranked[1][0] < shared
    parts = [not said.isdisjoint(it) for it in _things(task)]
    clear = bool(telling) and (clear or bool(ticked) or bool(parts)) and all(parts)
    return task if clear and alone else None


def _things(task: Known) -> list[frozenset[str]]:
    """The words of each of the things that a task names, if there are several: of "renew the pass
    and call the vet", a report that has no word of one of them closes nothing."""
    listed = lists(task.content)  # "to do: renew the pass, call the vet, pay the rent"
    clauses = clauses_of(task.content.partition(": ")[2]) if listed else []
    clauses = clauses or (clauses_of(task.content) if _AND.search(task.content) else [])
    parts = [its for it in clauses if (its := words.terms(it) - _COMMON - usual())]
    return parts if len(parts) > 1 else []


class Closed(NamedTuple):
    """What a sentence settles in other words, and what it may."""

    task: Known | None = None
    perhaps: tuple[Known, ...] = ()


def settled(text: str, ledger: Ledger, project: str) -> Closed:
    """Of the open tasks and questions of a project, what a sentence settles in other words. It has
    a word of theirs, and for a task a third, and beside the nearest facts the judge takes it to be
    meant."""
    low, terms = text.lower(), words.terms(text) - usual() - _COMMON
    idle = len(low.split()) < LEAST or requests(low)
    if not project or idle or lower(cues.STILL_OPEN).search(low):
        return Closed()
    near = (one for one in ledger.near(terms) if one.project == project and _is_open(one))
    open_ = list(near)[-ASKED:]
    if not open_:
        return Closed()
    older = [*open_, *ledger.meant(text, judge.MOST - len(open_))]
    judged = judge.likely([one.content for one in older], text)
    likely = sorted(zip(judged, open_, strict=False), key=lambda it: it[0], reverse=True)
    may, first = likely[0]
    shared = len(words.terms(text) & first.terms)  # what it names more of, `finished` knows
    named = shared < NAMED and shared * 3 >= len(first.terms - usual() - _COMMON)
    surely = may >= SETTLED and may == max(judged) and first.type == "task" and named
    surely = surely and not any(words.terms(text).isdisjoint(it) for it in _things(first))
    perhaps = (one for its, one in likely if its >= MAYBE)
    task = first if surely else None
    return Closed(task, tuple(one for one in perhaps if one is not task))


def _is_open(known: Known) -> bool:
    return known.status == "open" or known.type == "question"


def others_done(text: str, ledger: Ledger, project: str) -> list[Known]:
    """The open tasks of a list, of which a sentence says that only another one is left."""
    only = lower(cues.ONLY_LEFT).search(text.lower())
    if not project or not only:
        return []
    said = words.terms(text) - usual() - _COMMON
    ours = [one for one in ledger.open_tasks() if one.project == project]
    left = {one.id for one in ours if said & one.terms}
    rest = clauses_of(text[only.end() :])
    things = [its for it in rest if (its := words.terms(it) - usual() - _COMMON)]
    if not all(any(its & one.terms for one in ours) for its in things):
        return []  # "the Italian is left": of which one, it does not say
    lists = {one.said_in for one in ours if one.id in left}
    return [one for one in ours if one.said_in in lists and one.id not in left]


def counted(text: str, ledger: Ledger, project: str) -> list[Known]:
    """The tasks that a sentence reports as done by their numbers: "1 and 3 are done", of the last
    list, unless something of it was done before, so that the numbers may be others."""
    low = text.lower()
    numbered = _NUMBERED.match(low) if project else None
    rest = low[numbered.end() :] if numbered else ""
    if not numbered or not lower(cues.DONE).match(rest) or lower(cues.NOT_DONE).search(rest):
        return []
    ours = [one for one in ledger.tasks() if one.project == project]
    newest = max(ours, key=lambda one: one.order, default=None)
    listed = [one for one in ours if newest and one.said_in == newest.said_in]
    places = {int(one) for one in _DIGIT.findall(numbered["numbers"])}
    if any(one.status != "open" for one in listed) or not places <= {*range(1, len(listed) + 1)}:
        return []
    return [listed[place - 1] for place in sorted(places)] if len(listed) > 1 else []


def answered(text: str, decided: bool, ledger: Ledger, project: str) -> Known | None:
    """The open question that a statement clearly answers: it names most of what was asked."""
    new = read(text)
    if new.planned or lower(cues.OPEN).search(new.low):
        return None
    found = []
    for known in ledger.questions():
        if project and known.project and project != known.project:
            continue
        asked = _asked(known.content)
        shared = len(asked & new.terms)
        enough = (
            shared * 3 >= len(asked) if decided else shared > 1 and shared * 5 >= len(asked) * 3
        )
        if shared and enough:
            found.append((shared, known.order, known))
    found.sort(reverse=True)
    clear = len(found) == 1 or (len(found) > 1 and found[0][0] > found[1][0])
    return found[0][2] if clear else None


def _asked(question: str) -> frozenset[str]:
    """What has to be named in an answer: not the day, and not what is said beside the question."""
    first = read(question.partition(";")[0])
    days = words.terms(" ".join((*first.values["day"], *first.values["number"])))
    return first.terms - days - usual() - words.terms(" ".join(cues.ASKING))


# --- what an agent answers --------------------------------------------------------------------
def answers(agent: Message) -> bool:
    """Whether an agent's message answers the user, instead of saying what it is about to do."""
    return bool(reply_of(agent))


def reply_of(agent: Message) -> str:
    """The sentences of an agent's answer, from the beginning of its report."""
    return _reply((agent.report or agent.text)[:READ])


@lru_cache(maxsize=256)  # asked for at each step of one turn
def _reply(text: str) -> str:
    found = ""
    for line in plain(text).split("\n"):
        for one in split(line):
            if not pattern(cues.PROGRESS).match(one):
                found += f" {one}" if found else one
        if len(found) >= REPORT:
            break
    return found[:REPORT]


def laughs(agent: Message) -> bool:
    """Whether an agent takes for a joke what the user said."""
    return lower(cues.JOKED_AT).match(agent.text[:REPORT].lower()) is not None


def wants(draft: Draft) -> bool:
    """Whether it decides, promises or asks for something: "lets rewrite it in cobol"."""
    ordered = requests(draft.content.lower()) or draft.kind == "preference"
    return draft.type != "fact" or ordered


def of_any(entry: Entry, sources: Iterable[str]) -> bool:
    """Whether it was learned from one of these messages."""
    return any(derived_id(one, entry.type, entry.content) == entry.id for one in sources)


def confirms(agent: Message) -> bool:
    """Whether an agent says that it has changed something."""
    return lower(cues.CONFIRMS).search(agent.text[:REPORT].lower()) is not None
