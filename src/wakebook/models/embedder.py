"""Embedder: text in, vectors out. The one interface, and which one is used.

Vectors of two models are never compared: an embedder's `name` says all that its vectors
depend on, and an index remembers the name that it was made with. Rows have unit length
and one dimension for the life of the embedder; an empty text is all zeros.

Nothing leaves the machine unless config.toml or a variable of Wakebook's own says so. A key
that lies in the environment for other programs (OPENAI_API_KEY) is used only if config.toml
names its provider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wakebook import config
from wakebook.errors import ConfigError, ModelUnavailable
from wakebook.models import keys

Rows = Sequence[Sequence[float]]  # lists, or the rows of a numpy array

LOCAL = ("onnx", "sentence-transformers")
SERVED = ("openai", "gemini", "ollama", "compatible")
PROVIDERS = ("auto", "builtin", "none", *SERVED, *LOCAL)
OWN_KEYS = {"openai": "WAKEBOOK_OPENAI_API_KEY", "gemini": "WAKEBOOK_GEMINI_API_KEY"}


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Identifies its vectors: "builtin", "openai/text-embedding-3-small"."""

    @property
    def remote(self) -> bool:
        """Slow or paid, so that vectors are kept and embedding many shows progress."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Rows:
        """A row a text, in order. Raises ModelUnavailable or BadModelOutput."""


@dataclass(frozen=True)
class Choice:
    embedder: Embedder | None  # None: search by words only, because the user said so
    name: str
    why: str  # one sentence for people


def choose(settings: config.Embedding, environ: Mapping[str, str]) -> Choice:
    """The embedder that the settings and the environment ask for, not yet tried out.

    Raises ConfigError for settings that do not fit together. A provider that has no key, or
    does not answer, is found out by `embed` (ModelUnavailable).
    """
    provider, why = _provider(settings, environ)
    if provider == "none":
        return Choice(None, "none", f"none: {why}")
    embedder = _make(provider, settings, environ)
    if provider in SERVED:
        why += _about_the_key(provider, settings, environ)
    return Choice(embedder, embedder.name, f"{embedder.name}: {why}")


def _provider(settings: config.Embedding, environ: Mapping[str, str]) -> tuple[str, str]:
    """The provider's name, and why it is this one."""
    if settings.provider not in PROVIDERS:
        import difflib

        close = difflib.get_close_matches(settings.provider, PROVIDERS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(PROVIDERS)}."
        raise ConfigError(f"[embedding] provider is {settings.provider!r}; {hint}")
    if settings.provider != "auto":
        return settings.provider, "[embedding] provider names it"
    if settings.base_url:
        return "compatible", "[embedding] base_url names its server"
    if settings.model and config.expand(settings.model).is_dir():
        return _kind_of_folder(config.expand(settings.model)), "[embedding] model is its folder"
    for provider, variable in OWN_KEYS.items():
        if environ.get(variable):
            return provider, f"{variable} is set"
    for name in ("model", "key_variable", "key_file"):
        if getattr(settings, name):
            raise ConfigError(
                f"[embedding] {name} is set, but nothing says whom to ask: it is no folder here, "
                f"and provider is auto. Set provider to one of {', '.join(PROVIDERS[1:])}."
            )
    return "builtin", "nothing else is configured"


def _kind_of_folder(folder: Path) -> str:
    from wakebook.models import local

    return "onnx" if local.onnx_file(folder) else "sentence-transformers"


def _make(provider: str, settings: config.Embedding, environ: Mapping[str, str]) -> Embedder:
    if provider == "builtin":
        from wakebook.models.builtin import Builtin

        return Builtin()
    if provider in LOCAL:
        from wakebook.models import local

        return local.make(provider, settings)
    from wakebook.models import remote

    return remote.make(provider, settings, environ)


def _about_the_key(provider: str, settings: config.Embedding, environ: Mapping[str, str]) -> str:
    find: Callable[[], str] = keys.finder(provider, "[embedding]", settings, environ)
    try:
        find()
    except ModelUnavailable as error:
        return f", but it cannot be asked: {error}"
    return ""
