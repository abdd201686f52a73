"""What a sentence is, as far as it says so itself.

A decision has a deciding verb and its object; a task is what the user commits to do or asks to be
reminded of; a question is one that the user says is open. All else that is kept is a fact.
"""

from __future__ import annotations

from typing import NamedTuple

from wakebook.learn.phrases import cues, pattern
from wakebook.learn.select.speech import Sentence
from wakebook.log.entry import EntryKind, Status, Type


class Kind(NamedTuple):
    type: Type = "fact"
    kind: EntryKind | None = None
    status: Status | None = None
    wanted: bool = False  # it is kept however it scores: the user asks for it, or decides


def kind_of(sentence: Sentence) -> Kind:
    text = sentence.text
    lead = pattern(cues.LEAD).match(text)
    core = text[lead.end() :] if lead and lead.end() < len(text) else text
    if sentence.heading and pattern(cues.TASK_HEADING).match(sentence.heading):
        return Kind("task", None, "open", wanted=True)
    if pattern(cues.OPEN).search(text):
        return Kind("question", wanted=True)
    if pattern(cues.DECIDED).search(core) and not pattern(cues.UNDECIDED).search(core):
        return Kind("decision", wanted=True)
    task = pattern(cues.TASK).search(core)
    if task and not pattern(cues.NO_TASK).search(core) and not pattern(cues.DONE).search(core):
        return Kind("task", None, "open", wanted=task.start() == 0)
    if pattern(cues.LESSON).match(core):
        return Kind("fact", "lesson", wanted=True)
    if pattern(cues.STANDING).match(core):
        return Kind("fact", "preference", wanted=True)
    if pattern(cues.PROCEDURE).match(core):
        return Kind("fact", "procedure", wanted=True)
    noted = any(pattern(cues.NOTED).match(said) for said in (text, core)) or bool(
        pattern(cues.WHO).match(core)
    )
    if pattern(cues.PREFERENCE).search(core):
        return Kind("fact", "preference", wanted=noted)
    return Kind("fact", wanted=noted)
