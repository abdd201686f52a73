"""Disguises taken off: invisible characters, lookalikes, digits for letters, base64."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata

_INVISIBLE = dict.fromkeys(
    [0x00AD, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF]
)
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_LOOKALIKE = str.maketrans("аеорсухіѕјԁһοανικ’‘", "aeopcyxisjdhoavik''")
_ABROAD = re.compile(r"\b[а-яё]{4,}\b|\b[α-ω]{4,}\b")
_LEET = str.maketrans("013457@$", "oieastas")
_LEET_WORD = re.compile(
    r"(?<![\w@$])(?=[\w@$]*[a-z])(?=[\w@$]*[013457@$])[a-z013457@$]{3,20}(?![\w@$])"
)
_SPACED = re.compile(r"(?<!\w)(?:\w[ .*_-]){5,}\w(?!\w)")
_BLOB = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/_-]{32,}={0,2}(?![\w+/=])")


def normal(text: str) -> str:
    """Text as it is compared: one form of each character, and no invisible ones."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(_INVISIBLE)).replace("’", "'")


def uncovered(text: str) -> tuple[str, list[str]]:
    """Text in normal form without what was hidden in it, and that."""
    hidden = ["".join(chr(ord(tag) - 0xE0000) for tag in run) for run in _TAGS.findall(text)]

    def read(match: re.Match[str]) -> str:
        plain = _decoded(match.group())
        if not plain:
            return match.group()
        hidden.append(plain)
        return " "

    return _BLOB.sub(read, normal(_TAGS.sub("", text))), hidden


def _decoded(blob: str) -> str:
    """The text that base64 stands for, or "" if it is none."""
    blob = blob.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        plain = base64.b64decode(blob + "=" * (-len(blob) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return plain if plain.isprintable() and " " in plain else ""


def unmasked(text: str) -> str:
    """Text in lower case, with letters for their lookalikes; of the same length."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = text
    if not lower.isascii() and not _ABROAD.search(lower):
        lower = lower.translate(_LOOKALIKE)
    return _LEET_WORD.sub(lambda match: match.group().translate(_LEET), lower)


def joined(text: str) -> str:
    """Text with words that were s p a c e d  o u t put together."""
    return _SPACED.sub(lambda match: re.sub(r"[ .*_-]", "", match.group()), text)
