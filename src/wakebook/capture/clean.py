"""Cleaning: no secret is written down, and memory never feeds on itself.

Each pattern of secrets.txt is a shape that is a secret whoever holds it: provider keys, tokens,
private keys, passwords in URLs or assignments. What it matches becomes `[redacted:KIND]`, and the
number of replacements is kept with the transcript, so that its absence is explained.

Whatever Wakebook itself has told (`base.echo`) is taken out.
"""

import re
from functools import cache
from pathlib import Path

import msgspec

from wakebook.base.echo import echoed, strip
from wakebook.capture.transcript import RESULT, SUMMARY, Message, Tool, one_line

# what would move a terminal's cursor or change its title, and other control characters
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)?|\x1b[@-_]?"
    r"|[\x00-\x08\x0b-\x1f\x7f]"
)
_MORE = re.compile(r" \(\+\d+ lines?\)$")
# A value that stands for a secret instead of being one.
_HARMLESS = (
    r"(?i)^(?:\$|<|\{|%|\*{3}|x{4}|\.{3}|your|my[_-]|os\.|process\.|env|getenv|config|settings"
    r"|self\.|args\.|none$|null$|true$|false$|undefined|redacted|example|changeme|placeholder)"
)
# Without one of these in it a text is not worth the patterns.
_HINTS = (
    "key", "secret", "passw", "passphrase", "pwd", "token", "://", "bearer", "authorization",
    "sk-", "sk_", "rk-", "rk_", "pk-", "pk_", "aiza", "akia", "asia", "xai-", "hf_", "sg.",
    "npm_", "pypi-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat-", "xox",
    "ya29.", ":aa", "eyj",
)  # fmt: skip


class Clean(msgspec.Struct, frozen=True):
    """A message without secrets and echoes, and how much of each it had."""

    message: Message
    redacted: int = 0
    echoes: int = 0


def clean(message: Message) -> Clean:
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


def suspicious(text: str) -> bool:
    """Whether a text may hold a secret: a cheap look that decides about the patterns."""
    lowered = text.lower()
    for hint in _HINTS:  # noqa: SIM110 - any() would double the cost
        if hint in lowered:
            return True
    return False


def redact(text: str) -> tuple[str, int]:
    """The text without secrets, and how many there were."""
    count = 0
    for kind, pattern in _compiled() if suspicious(text) else ():

        def hide(found: re.Match[str], kind: str = kind) -> str:
            nonlocal count
            name = next((key for key, value in found.groupdict().items() if value), 0)
            secret = found[name]
            if secret.startswith("[redacted:") or (name and re.match(_HARMLESS, secret)):
                return found[0]
            count += 1
            start = found.start(name) - found.start()
            return f"{found[0][:start]}[redacted:{kind}]{found[0][start + len(secret) :]}"

        text = pattern.sub(hide, text)
    return text, count


@cache
def _compiled() -> list[tuple[str, re.Pattern[str]]]:
    """Kind and pattern; several lines of secrets.txt may be of the same kind."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("secrets.txt").read_text(encoding="utf-8").splitlines():
        kind, _, pattern = line.partition(" ")
        if kind != "#":
            found.setdefault(kind, []).append(pattern)
    return [(kind, re.compile("|".join(every))) for kind, every in found.items()]
