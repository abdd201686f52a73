"""Template: a new topic file, with what it may say."""

from __future__ import annotations

import json
import re
from pathlib import Path

from wakebook.errors import WakebookError
from wakebook.home import Home
from wakebook.models.text import printable, whole
from wakebook.recall.topics.files import FOLDER
from wakebook.recall.topics.topic import UNFILLED

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*(?:/[a-z0-9][a-z0-9-]*)*")
_TEXT = """---
type: topic
description: {about}
triggers:
  - type: keyword            # pattern, keyword, glob, mention, url, code, language, urgency,
    match: [{word}]          # webhook (source, event), cron (schedule)
    scope: input             # input: what is said to the agent; output: what it says; both
subscriptions: []            # notes that come with it, like knowledge/reference/tools.md
activation: gated            # auto: at once; gated: a model is asked first; manual: by name
priority: medium             # low, medium, high, critical
max_context_kb: 4
---

# {title}

{unfilled}
"""


def create(home: Home, name: str, about: str = "") -> Path:
    """Write it. A file that is there already is not touched."""
    if not _NAME.fullmatch(name):
        raise WakebookError(
            f"{name!r} is no name for a topic: small letters, digits and hyphens, like release-day."
        )
    path = home.root / FOLDER / f"{name}.md"
    if path.exists():
        raise WakebookError(
            f"{home.relative(path)} is there already. Edit it, or choose another name."
        )
    last = name.rpartition("/")[2].replace("-", " ")
    text = _TEXT.format(
        about=json.dumps(
            printable(whole(about)) or f"What {last} is about, and when it helps.",
            ensure_ascii=False,
        ),
        word=json.dumps(last),
        title=last.capitalize(),
        unfilled=UNFILLED,
    )
    home.replace(path, text)
    return path
