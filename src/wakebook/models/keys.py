"""Keys: where a provider's key is found. It is never shown, kept or logged.

In this order: the variable that `key_variable` names, the file that `key_file` names,
Wakebook's own variable, the provider's usual one. The last two only go to the provider that
they belong to.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping

from wakebook import config
from wakebook.errors import ModelUnavailable

USUAL = {
    "anthropic": ("WAKEBOOK_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
    "openai": ("WAKEBOOK_OPENAI_API_KEY", "OPENAI_API_KEY"),
    "gemini": ("WAKEBOOK_GEMINI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
}


def finder(
    provider: str,
    section: str,
    settings: config.Embedding | config.Provider,
    environ: Mapping[str, str],
) -> Callable[[], str]:
    """What returns the key ("" where none is needed) or raises ModelUnavailable."""

    def find() -> str:
        if settings.key_variable:
            key = environ.get(settings.key_variable, "")
            if not key.strip():
                raise ModelUnavailable(
                    f"{provider}: the variable {settings.key_variable}, which key_variable "
                    f"in {section} names, is not set. Set it to the key."
                )
            return _sound(key, settings.key_variable)
        if settings.key_file:
            return _from_file(settings.key_file, provider, section)
        for variable in USUAL.get(provider, ()):
            if environ.get(variable, "").strip():
                return _sound(environ[variable], variable)
        if provider in USUAL:
            raise ModelUnavailable(
                f"{provider}: there is no key. Set {USUAL[provider][0]}, or name a variable or "
                f"a file in {section}, as key_variable or key_file."
            )
        return ""

    return find


def place(
    provider: str, settings: config.Embedding | config.Provider, environ: Mapping[str, str]
) -> str:
    """Where the key was found, for a message that it was refused."""
    if settings.key_variable:
        return settings.key_variable
    if settings.key_file:
        return str(config.expand(settings.key_file))
    return next((name for name in USUAL.get(provider, ()) if environ.get(name, "").strip()), "")


def _from_file(name: str, provider: str, section: str) -> str:
    path = config.expand(name)
    try:
        with path.open("rb") as stream:
            if stat.S_IMODE(os.fstat(stream.fileno()).st_mode) & 0o077:
                raise ModelUnavailable(
                    f"{provider}: others can read the key in {path}. Run `chmod 600 {path}`."
                )
            text = stream.read(10_000).decode("utf-8", "replace")
    except OSError as error:
        raise ModelUnavailable(
            f"{provider}: cannot read the key in {path}: {error.strerror}. "
            f"Correct key_file in {section}."
        ) from None
    if not text.strip():
        raise ModelUnavailable(f"{provider}: {path} is empty. Write the key into it.")
    return _sound(text, str(path))


def _sound(key: str, where: str) -> str:
    key = key.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ModelUnavailable(
            f"What {where} holds is no key: it has blanks, line breaks or special characters."
        )
    return key
