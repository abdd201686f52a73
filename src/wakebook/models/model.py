"""Model: a question in, a reply out. Over HTTP, or lent by the host that Wakebook runs in."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from wakebook.base import config, text
from wakebook.base.errors import (
    BadModelOutput,
    ConfigError,
    LeftAlone,
    ModelError,
    ModelUnavailable,
)
from wakebook.models import transport as address
from wakebook.models.transport import Patience, Server, allow, post, quoted
from wakebook.models.wire import FORMATS, Format, Question, Reply

HOST = "host"
EXAMPLE = 'like "anthropic/claude-sonnet-5-5", "ollama/qwen3:8b" or "host"'


class Model(Protocol):
    @property
    def provider(self) -> str: ...

    @property
    def name(self) -> str:
        """provider/model, as in config.toml."""

    def ready(self) -> None:
        """Raises ModelUnavailable if it cannot be asked at all: there is no key, say."""

    def ask(self, question: Question) -> Reply:
        """Raises ModelUnavailable, BadModelOutput, or TooLarge."""


Lend = Callable[[str, str, int], str | Reply]  # system, prompt, most tokens -> answer


@dataclass(frozen=True)
class Lent:
    """The model of the host, through a function that its adapter gives us."""

    lend: Lend
    provider = HOST
    name = HOST

    def ready(self) -> None:
        pass

    def ask(self, question: Question) -> Reply:
        prompt = "\n\n".join(question.turns)
        try:
            answer: object = self.lend(question.system, prompt, question.max_tokens)
        except ModelError:
            raise
        except Exception as error:  # a host may raise anything
            why = str(error).rstrip(".") or type(error).__name__
            raise ModelUnavailable(f"The host's model does not answer: {why}.") from error
        reply = Reply(answer) if isinstance(answer, str) else answer
        if not isinstance(reply, Reply):
            kind = type(answer).__name__
            raise BadModelOutput(f"The host's model answers with {kind} instead of text.")
        return replace(reply, text=text.whole(reply.text))


class Served:
    """A model that is asked over HTTP."""

    def __init__(
        self,
        name: str,
        who: str,
        url: str,
        form: Format,
        key: Callable[[], str],
        place: str,
        patience: Patience,
    ) -> None:
        self.name = name
        self.provider, _, self._model = name.partition("/")
        self._section = f"[{self.provider}]"
        self._who = who
        self._url = url
        self._form = form
        self._key = key
        self._place = place
        self._patience = patience
        self._cold = False  # it takes no temperature

    def __repr__(self) -> str:
        return f"Served({self.name!r})"

    def ready(self) -> None:
        allow(self._who, self._url)
        self._key()

    def ask(self, question: Question) -> Reply:
        key = self._key()
        headers = {"Content-Type": "application/json", "User-Agent": "wakebook"}
        headers |= self._form.header(key)
        server = Server(self._who, self._url, headers, key, self._section, self._place)
        model = self._model.removeprefix("models/") if self.provider == "gemini" else self._model
        question = replace(question, model=model)
        if self._cold:
            question = replace(question, temperature=None)
        try:
            answer = post(server, self._form.asks(question), self._patience)
        except ModelUnavailable as error:
            # some models think at a temperature of their own, and refuse any other
            if question.temperature is None or "temperature" not in str(error):
                raise
            self._cold = True
            return self.ask(question)
        return self._read(answer, key)

    def _read(self, answer: Any, key: str) -> Reply:
        try:
            reply = self._form.reads(answer)
            refused = text.printable(text.whole(reply.refused))
            reply = replace(reply, text=text.whole(reply.text), refused=refused)
        except (KeyError, TypeError, AttributeError, IndexError):
            raise BadModelOutput(
                f"{self._who} answers in a form that we do not know{quoted(answer, key)}. "
                f"Is base_url in {self._section} right?"
            ) from None
        counted = (reply.tokens_in, reply.tokens_out, reply.cached)
        if not all(isinstance(number, int) and number >= 0 for number in counted):
            reply = replace(reply, tokens_in=0, tokens_out=0, cached=0, written=0)
        return reply


def make(
    name: str,
    settings: config.Config,
    environ: Mapping[str, str],
    lend: Lend | None,
    patience: Patience | None = None,
) -> Model:
    """The model that a setting names. Raises ConfigError for what names none."""
    from urllib.parse import quote

    if name == HOST:
        if lend is None:
            raise LeftAlone(
                "[models] says host, but nothing has lent its model: it works inside of a host "
                "(docs/hosts.md). Name a provider/model to use Wakebook by itself."
            )
        return Lent(lend)
    provider, slash, model = name.partition("/")
    if provider not in FORMATS or not slash or not model.strip():
        known = ", ".join(FORMATS)
        raise ConfigError(
            f"[models] {name!r} is no model. Write provider/model, {EXAMPLE}; providers: {known}."
        )
    form = FORMATS[provider]
    own: config.Provider = getattr(settings, provider)
    base, written = own.base_url or form.base, f"[{provider}] base_url"
    if provider == "ollama" and not own.base_url and environ.get("OLLAMA_HOST"):
        base, written = address.ollama(environ["OLLAMA_HOST"]), "OLLAMA_HOST"
    if not base:
        raise ConfigError(f"[{provider}] base_url is needed, like http://127.0.0.1:8080/v1.")
    who = f"{provider} ({address.host(base, written)})"
    path = form.path.format(model=quote(model.removeprefix("models/"), safe=""))
    find = finder(provider, f"[{provider}]", own, environ)
    limits = settings.models
    patience = patience or Patience(
        limits.attempts, limits.timeout_seconds, delay=1.0, total=3.0 * limits.timeout_seconds
    )
    place = key_place(provider, own, environ)
    return Served(name, who, base.rstrip("/") + path, form, find, place, patience)


# -----------------------------------------------------------------------------
# Keys: where a provider's key is found. It is never shown, kept or logged.
#
# In this order: the variable that `key_variable` names, the file that `key_file` names,
# Wakebook's own variable, the provider's usual one. The last two only go to the provider that
# they belong to.

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


def key_place(
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
