"""Kind: what a sentence is, as far as it says so itself.

A decision has a deciding verb and its object; a task is what the user commits to do or asks to be
reminded of; a question is one that the user says is open. All else that is kept is a fact.
"""

from typing import NamedTuple

from wakebook.learn.about import introduced
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select.speech import ANNOUNCED, Sentence
from wakebook.log.entry import EntryKind, Status, Type

_EXPLICIT: tuple[EntryKind, ...] = ("lesson", "preference", "procedure")


class Kind(NamedTuple):
    type: Type = "fact"
    kind: EntryKind | None = None
    status: Status | None = None
    wanted: bool = False  # it is kept however it scores: the user asks for it, or decides


def kind_of(sentence: Sentence) -> Kind:
    text = sentence.text.lower().replace("’", "'")
    lead = lower(cues.LEAD).match(text)
    core = text[lead.end() :] if lead and lead.end() < len(text) else text
    if sentence.heading and lower(cues.TASK_HEADING).match(sentence.heading.lower()):
        return Kind("task", None, "open", wanted=True)
    if lower(cues.OPEN).search(text):
        return Kind("question", wanted=True)
    if lower(cues.DECIDED).search(core) and not lower(cues.UNDECIDED).search(core):
        return Kind("decision", wanted=True)
    task = lower(cues.TASK).search(core)
    if task and not lower(cues.NO_TASK).search(core) and not lower(cues.DONE).search(core):
        return Kind("task", None, "open", wanted=task.start() == 0)
    if introduced(sentence.text):
        return Kind("fact", "relationship", wanted=True)
    head, _, after = core.partition(": ")  # "for everything you write: never use ..."
    after = after if len(head) <= ANNOUNCED and lower(cues.EVER).search(head) else ""
    for kind, cue in zip(_EXPLICIT, (cues.LESSON, cues.STANDING, cues.PROCEDURE), strict=True):
        if any(map(lower(cue).match, (core, text, after))):  # "no" may lead in, or begin a rule
            return Kind("fact", kind, wanted=True)
    noted = any(map(lower(cues.NOTED).match, (text, core))) or bool(lower(cues.WHO).match(core))
    liked = lower(cues.PREFERENCE).search(core)
    return Kind("fact", "preference" if liked else None, wanted=noted)
