"""Cleaning: no secret is written down, and memory never feeds on itself.

What `wakebook.capture.secrets` finds becomes `[redacted:KIND]`, and the number of replacements is
kept with the transcript, so that its absence is explained.

Whatever Wakebook itself has told (`base.echo`) is taken out.
"""

import re

import msgspec

from wakebook.base.echo import echoed, strip
from wakebook.capture.transcript import RESULT, SUMMARY, Message, Tool, one_line

# what would move a terminal's cursor or change its title, and other control characters
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)?|\x1b[@-_]?"
    r"|[\x00-\x08\x0b-\x1f\x7f]"
)
_MORE = re.compile(r" \(\+\d+ lines?\)$")


class Clean(msgspec.Struct, frozen=True):
    """A message without secrets and echoes, and how much of each it had."""

    message: Message
    redacted: int = 0
    echoes: int = 0


def clean(message: Message) -> Clean:
    from wakebook.capture.secrets import redact, suspicious

    redacted = echoes = 0
    used = [(tool.name, tool.summary, tool.result or "") for tool in message.tools]
    said = "\n".join((message.text, *(piece for pieces in used for piece in pieces)))
    worth_a_look = suspicious(said) or echoed(said)

    def pure(text: str) -> str:
        nonlocal redacted, echoes
        if worth_a_look:
            text, echo = strip(text)
            text, secrets = redact(text)
            redacted += secrets
            echoes += echo
        return _normal(text)

    text = pure(message.text)
    tools = tuple(
        Tool(
            pure(tool.name),
            one_line(pure(tool.summary), SUMMARY),
            None if tool.result is None else _cut(pure(tool.result)),
            tool.error,
        )
        for tool in message.tools
    )
    return Clean(msgspec.structs.replace(message, text=text, tools=tools), redacted, echoes)


def _cut(result: str) -> str:
    """A result on one line, with its count of further lines if it has one."""
    more = _MORE.search(result)
    tail = more[0] if more else ""
    return one_line(result.removesuffix(tail), RESULT - len(tail)) + tail


def _normal(text: str) -> str:
    """Text that any file can hold: one kind of line end, no stray control characters."""
    if not text.isprintable():  # most text without a line end is
        text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
        text = text.encode("utf-8", "replace").decode("utf-8")
        text = "\n".join(line.rstrip() for line in text.split("\n"))
    return text.strip("\n").rstrip()
