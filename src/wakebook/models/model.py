"""Model: a question in, a reply out. Over HTTP, or lent by the host that Wakebook runs in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from wakebook import config
from wakebook.errors import (
    BadModelOutput,
    ConfigError,
    LeftAlone,
    ModelError,
    ModelUnavailable,
)
from wakebook.models import address, keys, text
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
    find = keys.finder(provider, f"[{provider}]", own, environ)
    limits = settings.models
    patience = patience or Patience(
        limits.attempts, limits.timeout_seconds, delay=1.0, total=3.0 * limits.timeout_seconds
    )
    place = keys.place(provider, own, environ)
    return Served(name, who, base.rstrip("/") + path, form, find, place, patience)
