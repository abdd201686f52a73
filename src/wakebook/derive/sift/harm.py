"""Drafts that would do harm: an entry is read by agents later on, and may be obeyed.

Some must not be kept whoever said them. Others are harmful if anybody but the user said them: a
user may well want raw errors hidden from the users of a product, or all invoices sent to an
address.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wakebook.derive.sift.abroad import ABROAD
from wakebook.derive.sift.cues import ENGLISH
from wakebook.derive.sift.disguise import normal

OVERRIDES = "it overrides instructions"


class Harm(NamedTuple):
    reason: str
    found: re.Pattern[str]
    always: bool  # or only if the user did not say it


def _harm(reason: str, *texts: str, always: bool = True) -> Harm:
    return Harm(reason, re.compile("|".join(texts), re.IGNORECASE | re.MULTILINE), always)


_KEYS = (
    r"\b(?:passwords?|passphrases?|credentials?|secrets?|tokens?|(?:api|ssh|private|access"
    r"|secret|all|encryption|signing)[- ]keys?|seed phrases?|env(?:ironment)? variables|id_rsa"
    r"|\.env files?)\b(?! (?:reset|usage|count|limit|budget|policy|manager))"
)
_ALL = (
    r"\b(?:all|every|any) (?:\w+ )?(?:files?|documents?|data|backups|history|transcripts?"
    r"|conversations?|messages?|e?-?mails?|keys)\b"
)
_SEND = (
    r"(?<!never )(?<!not )(?<!n't )(?<!no longer )(?<!stop )(?<!avoid )\b(?:send|mail|e-?mail"
    r"|post|upload|forward|exfiltrate|transmit|leak|b?cc)(?:s|ing|ed)?\b|\bsent\b"
)
_PLACE = (
    r"\b(?:to|at)\s+(?:[\w.+-]{1,64}@[\w-]+\.[\w.-]+|https?://\S+|"
    r"(?:\d{1,3}\.){3}\d{1,3}\b|[\w-]{1,40}(?:\.[\w-]{1,40}){0,3}\.[a-z]{2,}\b)"
)
_IN = r"[^.!?\n]{0,80}?"
_PEOPLE = "(?:user|human|owner)"

HARMS = (
    _harm(
        "it sends secrets to an address",
        rf"(?:{_SEND}){_IN}{_KEYS}[^!?\n]{{0,80}}?{_PLACE}",
        rf"{_KEYS}{_IN}(?:{_SEND})[^!?\n]{{0,60}}?{_PLACE}",
    ),
    _harm(
        "it sends everything to an address",
        rf"(?:{_SEND}){_IN}{_ALL}[^!?\n]{{0,80}}?{_PLACE}",
        rf"{_ALL}{_IN}(?:{_SEND})[^!?\n]{{0,60}}?{_PLACE}",
        always=False,
    ),
    _harm(
        "it runs a piped download",
        r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^|\n]{0,200}[\w-]\.\w[^"
        r"|\n]{0,200}\|\s*(?:sudo\s+)?(?:(?:ba|z|da|fi|k)?sh|python3?|perl|ruby|node|iex)\b",
        r"\b(?:ba|z)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)",
        r"\beval\b[^\n]{0,5}\$\((?:curl|wget)",
    ),
    _harm(
        "it hides something from the user",
        r"\b(?:do not|don't|never)\s+(?:ever )?(?:tell|inform|mention|reveal|notify|alert"
        rf"|disclose|warn|show)\b[^.!?\n]{{0,40}}\b(?:the|your|to) {_PEOPLE}\b",
        rf"\bwithout (?:telling|informing|notifying|alerting) the {_PEOPLE}\b",
        rf"\b(?:secret|hidden|hide [\w ]{{1,20}}) from the {_PEOPLE}\b",
        always=False,
    ),
    _harm(
        "it holds marks of a prompt",
        r"<\|[\w-]+\|>|\[/?INST\]|<</?SYS>>|</?(?:transcript|messages|conversation|data|system"
        r"|context|material)(?:\s[^>]{0,80})?>",
        r"^[ \t]*(?:(?-i:SYSTEM|ASSISTANT)|assistant|system (?:prompt|message|override"
        r"|note))\s*:",
        r"\bend of (?:the )?(?:transcript|data block)\b",
    ),
)
_OVERRIDES = tuple(cue.found for cue in ENGLISH + ABROAD if cue.name == "override")
_QUOTED = re.compile(r"[\"“„«'`‘][^\"”“»'`’]{3,80}[\"”“»'`’]")
_TALKED = re.compile(
    r"\b(?:detect|flag|block|filter|catch|prevent|classif|inject|jailbreak|attack|phrase|string"
    r"|pattern|scan|screen|such as|refus|reject|resist)",
    re.IGNORECASE,
)


def harm(text: str) -> tuple[str, bool]:
    """What harm a draft would do, or "", and whether it does so even if the user said it."""
    text = normal(text)
    for one in HARMS:
        if one.found.search(text):
            return one.reason, one.always
    plain = _QUOTED.sub(" ", text)
    if not _TALKED.search(plain) and any(found.search(plain) for found in _OVERRIDES):
        return OVERRIDES, True
    return "", False
