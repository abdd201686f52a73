"""Rules, with the sift behind them.

Rules obey nobody, but they quote. What they quote must not give orders to whoever reads the
memory later, so a draft that does is refused, and a handoff loses such lines.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wakebook.capture.transcript import Message, one_line
from wakebook.derive.extract import Draft, Extraction, Extractor, Scene
from wakebook.derive.rules import RuleExtractor
from wakebook.derive.sift import suspicious
from wakebook.home import Home

UNTOLD = "Where this session stopped was not written down: see its transcript"


def read(
    home: Home, fresh: Sequence[Message], scene: Scene, rules: Extractor | None = None
) -> Extraction:
    """What rules find and may be kept."""
    found = (rules or RuleExtractor()).read(fresh, scene)
    users = {message.id for message in (*scene.earlier, *fresh) if message.role == "user"}
    kept: list[Draft] = []
    for draft in found.drafts:
        if draft.type == "handoff":
            kept.append(_quotable(draft))
            continue
        why = suspicious(f"{draft.content}\n{draft.detail}", draft.source in users)
        if why:
            reason = f"{why}: {one_line(draft.content, 100)!r}"
            home.trace("refused", where="rules", kind="poisoned", reason=reason)
        else:
            kept.append(draft)
    return msgspec.structs.replace(found, drafts=kept)


def handoff(said: Sequence[Message], scene: Scene) -> Draft | None:
    """The handoff of a window as it is now. `scene.current` holds what was found in it."""
    drafts = RuleExtractor().close(said, msgspec.structs.replace(scene, earlier=()))
    found = next((draft for draft in drafts if draft.type == "handoff"), None)
    return _quotable(found) if found else None


def _quotable(draft: Draft) -> Draft:
    """Without lines that give orders. What a user said last may: it is quoted whole."""
    lines = [
        line
        for line in draft.detail.split("\n")
        if not suspicious(line.partition(": ")[2] or line, line.startswith("User last: "))
    ]
    content = UNTOLD if suspicious(draft.content, True) else draft.content
    return msgspec.structs.replace(draft, content=content, detail="\n".join(lines))
