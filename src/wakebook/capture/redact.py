"""Redaction: no secret is written down.

Each pattern is a shape that is a secret whoever holds it: provider keys, tokens, private
keys, passwords in URLs or assignments. What it matches becomes `[redacted:KIND]`, and the
number of replacements is kept with the transcript, so that nobody wonders where it went.
"""

from __future__ import annotations

import re

# Kind -> pattern. Where only a part is secret, that part is the group "secret".
PATTERNS: dict[str, str] = {
    "private-key": (
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"[\s\S]{0,20000}?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
    ),
    "url-password": r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s:/@]{0,100}:(?P<secret>[^\s/@]{1,200})@",
    "api-key": (
        r"\b(?:sk|rk|pk)[-_](?:ant|proj|live|test|or|svcacct|admin)[-_][A-Za-z0-9_-]{12,300}"
        r"|\bsk-[A-Za-z0-9]{20,200}"
        r"|\bAIza[A-Za-z0-9_-]{35}"
        r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
        r"|\bgsk_[A-Za-z0-9]{20,100}|\bxai-[A-Za-z0-9]{20,120}|\bhf_[A-Za-z0-9]{30,60}"
        r"|\bSG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,60}"
        r"|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,300}"
        r"|\bAGE-SECRET-KEY-1[A-Z0-9]{50,70}"
    ),
    "token": (
        r"\bgh[pousr]_[A-Za-z0-9]{30,255}|\bgithub_pat_[A-Za-z0-9_]{40,255}"
        r"|\bglpat-[A-Za-z0-9_-]{18,64}|\bxox[abeoprs]-[A-Za-z0-9-]{10,200}"
        r"|\bya29\.[A-Za-z0-9_-]{20,400}|\b\d{8,10}:AA[A-Za-z0-9_-]{32,34}\b"
        r"|\beyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,1000}"
    ),
    "authorization": (
        r"(?i:\b(?:authorization|proxy-authorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
        r"(?:bearer|basic|token)\s{1,3})(?P<secret_b>[A-Za-z0-9._~+/=-]{8,4000})"
        r"|(?i:\bbearer\s{1,3})(?P<secret_c>(?=[A-Za-z._~+/=-]{0,200}\d)[A-Za-z0-9._~+/=-]{20,4000})"
    ),
    "password": (
        r"(?i:\b[A-Za-z0-9_.-]{0,40}(?:password|passwd|passphrase|pwd|secret|api[_-]?key|apikey"
        r"|access[_-]?key|auth[_-]?token|access[_-]?token|client[_-]?secret|private[_-]?key)"
        r"[\"']?\s{0,3}(?:=|:)\s{0,3})"
        r"(?:\"(?P<secret_d>[^\"\s\n]{6,300})\"|'(?P<secret_e>[^'\s\n]{6,300})'"
        r"|(?P<secret_f>(?=[^\s\"']{0,100}[\d!@#$%^&*+/=_-])[^\s\"',;(){}<>\[\]]{8,300}))"
    ),
}

# A value that stands for a secret instead of being one.
_HARMLESS = re.compile(
    r"(?i)^(?:\$|<|\{|%|\*{3}|x{4}|\.{3}|your|my[_-]|os\.|process\.|env|getenv|config|settings"
    r"|self\.|args\.|none$|null$|true$|false$|undefined|redacted|example|changeme|placeholder)"
)
_COMPILED = [(kind, re.compile(pattern)) for kind, pattern in PATTERNS.items()]
# Without one of these in it a text is not worth the patterns.
_HINTS = (
    "key", "secret", "passw", "passphrase", "pwd", "token", "://", "bearer", "authorization",
    "sk-", "sk_", "rk-", "rk_", "pk-", "pk_", "aiza", "akia", "asia", "xai-", "hf_", "sg.",
    "npm_", "pypi-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat-", "xox",
    "ya29.", ":aa", "eyj",
)  # fmt: skip


def suspicious(text: str) -> bool:
    """Whether a text may hold a secret: a cheap look that decides about the patterns."""
    lowered = text.lower()
    for hint in _HINTS:  # noqa: SIM110 - any() would double the cost
        if hint in lowered:
            return True
    return False


def redact(text: str) -> tuple[str, int]:
    """The text without secrets, and how many there were."""
    return _redact(text) if suspicious(text) else (text, 0)


def _redact(text: str) -> tuple[str, int]:
    count = 0
    for kind, pattern in _COMPILED:

        def hide(found: re.Match[str], kind: str = kind) -> str:
            nonlocal count
            whole = found[0]
            name = next((key for key, value in found.groupdict().items() if value), None)
            secret = found[name] if name else whole
            if secret.startswith("[redacted:") or (name and _HARMLESS.match(secret)):
                return whole
            count += 1
            start = found.start(name) - found.start() if name else 0
            return f"{whole[:start]}[redacted:{kind}]{whole[start + len(secret) :]}"

        text = pattern.sub(hide, text)
    return text, count
