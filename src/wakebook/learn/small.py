"""SmallExtractor: a small model on one's own machine (1 to 8B) reads, one question at a time.

It is shown few messages and asked for one kind of sentence, to be copied. Where the server can, it
has to keep to a JSON schema. What it answers goes through the same checks as a large model's; the
handoff is written by rules, because summing up is what small models are worst at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from wakebook.base.errors import BadModelOutput, ConfigError, NotAsked
from wakebook.base.home import Home
from wakebook.capture.transcript import Message
from wakebook.learn.ask import AnswerReader, ModelExtractor
from wakebook.learn.extract import Draft, Extraction, Scene
from wakebook.learn.select.extractor import Selector
from wakebook.learn.shown import shown_messages
from wakebook.models.chat import Models

TOKENS = 1500  # of messages in one question
LARGEST = 9.0  # billions of parameters
QUESTIONS = {
    "fact": "something about the user, their people, plans, work, machines or habits",
    "decision": "a choice that the user has made",
    "task": "something that the user has to do, or wants to be reminded of",
}
_SIZE = re.compile(
    r"(?:^|[-_:/ ])(?:\d+x)?(?P<number>\d+(?:\.\d+)?)(?P<unit>[bm])\b", re.IGNORECASE
)


def is_small(name: str, setting: str) -> bool:
    """By the setting, or by the size that a local model has in its name: ollama/qwen3:8b."""
    if setting not in ("auto", "yes", "no"):
        raise ConfigError(f'[models] small is {setting!r}: write "auto", "yes" or "no".')
    if setting != "auto" or name.partition("/")[0] not in ("ollama", "compatible"):
        return setting == "yes"
    sizes = [
        float(one["number"]) * (1 if one["unit"] in "bB" else 0.001) for one in _SIZE.finditer(name)
    ]
    return bool(sizes) and max(sizes) <= LARGEST


class SmallExtractor(ModelExtractor):
    def __init__(self, models: Models, home: Home, request_tokens: int) -> None:
        super().__init__(models, home, min(request_tokens, TOKENS))

    def _ask(
        self, taken: Sequence[Message], fresh: Sequence[Message], scene: Scene, limit: int
    ) -> Extraction:
        ends = scene.ends and len(taken) == len(fresh)
        answer = AnswerReader(taken, scene, ends)
        messages = shown_messages(taken, limit)
        found: list[Draft] = []
        by, failed = "", None
        for type_, wanted in QUESTIONS.items():

            def line(raw: dict[str, Any], type_: str = type_) -> Draft | None:
                if raw.get("items") == []:
                    return None  # its word for nothing
                given = {"type": type_, "content": raw.get("sentence")}
                return answer.line(given | {"evidence": [raw.get("message")]})

            try:
                said = self._models.lines(
                    "extract-small", line, 20, wanted=wanted, messages=messages
                )
            except NotAsked:
                if not self._models.dry:
                    raise
                seen = msgspec.structs.replace(scene, ends=ends)
                return Selector(self._home).read(taken, seen)
            except BadModelOutput as error:
                failed = error  # the other questions may do better
                continue
            by = said.by
            found += [one.with_(by=by) for one in said.kept if one]
        if not by and failed:
            raise failed
        kept = _copied(self._judged(found, [*answer.earlier, *taken], scene), taken)
        last = self._handoff(None, answer.due(kept), answer, by) if ends else []
        return Extraction(drafts=[*kept, *last], taken=len(taken))


def _copied(found: Sequence[Draft], taken: Sequence[Message]) -> list[Draft]:
    """What the user has said word for word, each sentence once: small models like to mix."""
    said = [_plain(message.text) for message in taken if message.role == "user"]
    kept: dict[str, Draft] = {}
    for draft in found:
        words = _plain(draft.content)
        if any(words in one for one in said):
            kept.setdefault(words, draft)
    return list(kept.values())


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
