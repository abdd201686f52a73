"""Small conversations in the hosts' own formats, written line by line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

NOW = "2026-11-09T08:00:00Z"
KEYS = ("ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "OLLAMA")
START = "2026-11-08T10:00:00.000Z"
STYLE = """---
type: topic
triggers:
  - type: pattern
    match: "print [^(]"
    scope: output
    hint: Use Python 3 syntax.
  - type: glob
    match: "*.sql"
priority: high
---
# House style

Keep to it.
"""


class Claude:
    """Writes a Claude Code transcript. Each call adds a record a minute later."""

    def __init__(self, folder: Path, session: str = "5e551011-0000-4000-8000-000000000001") -> None:
        self.path = folder / f"{session}.jsonl"
        self.session = session
        self.at = datetime.fromisoformat(START)
        self.count = 0
        self.last: str | None = None

    def pause(self, **length: int) -> Claude:
        self.at += timedelta(**length)
        return self

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        self.count += 1
        self.at += timedelta(minutes=1)
        uuid = f"{self.session[:8]}-{self.session[-4:]}-{self.count:04}"
        record = {
            "parentUuid": self.last,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/mira/tidepool",
            "sessionId": self.session,
            "version": "2.1.325",
            "type": kind,
            "uuid": uuid,
            "timestamp": self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **fields,
        }
        self.last = uuid
        return record

    def write(self, record: dict[str, Any]) -> Claude:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
        return self

    def user(self, text: str, **fields: Any) -> Claude:
        message = {"role": "user", "content": text}
        return self.write(self.record("user", message=message, **fields))

    def agent(self, text: str) -> Claude:
        return self._assistant({"type": "text", "text": text})

    def _assistant(self, block: dict[str, Any]) -> Claude:
        message = {
            "id": f"msg_{self.count}",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [block],
            "usage": {"input_tokens": 10, "output_tokens": 5},
            "stop_reason": "end_turn",
        }
        return self.write(self.record("assistant", message=message))

    def call(self, name: str, call: str, **arguments: Any) -> Claude:
        return self._assistant({"type": "tool_use", "id": call, "name": name, "input": arguments})

    def result(self, call: str, text: str) -> Claude:
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        message = {"role": "user", "content": [block]}
        return self.write(self.record("user", message=message, toolUseResult={"stdout": text}))

    def torn(self, text: str = '{"type":"assistant","message":{"role":"assi') -> Claude:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(text)
        return self


def chat(claude: Claude, turns: Sequence[tuple[str, str]]) -> Claude:
    for role, text in turns:
        claude.user(text) if role == "user" else claude.agent(text)
    return claude


WORKDAY = [
    ("user", "Good morning! Let's go with Postgres for the bookings because SQLite locks up."),
    ("agent", "Good choice. I'll set up the schema with an exclusion constraint."),
    ("user", "I prefer uv over pip. And remind me to send the insurance form to Ankerpolice."),
    ("agent", "Noted: uv it is."),
    ("user", "The launch is on 14 November."),
    ("agent", "Then we have a few weeks."),
]
NEXT_DAY = [
    ("user", "No, actually the launch is on 21 November."),
    ("agent", "Understood, I will plan for the 21st."),
    ("user", "I sent the insurance form to Ankerpolice this morning, that's done."),
    ("agent", "Great."),
    ("user", "Whether our retries are enough for the voucher burst is still open."),
    ("agent", "Hard to say without a load test. What peak do you expect?"),
]
