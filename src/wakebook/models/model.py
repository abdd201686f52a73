"""Models over HTTP, chat and embedding alike, and the model that a host lends.

What differs between providers stands in `wire.PROVIDERS`; `Endpoint` finds the address and the
key of one, asks it and reads its answers. A key is never shown, kept or logged.
"""

import json
import math
import operator
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from wakebook.base import config, text
from wakebook.base.config import CLIENTS
from wakebook.base.errors import (
    BadModelOutput,
    ConfigError,
    LeftAlone,
    ModelError,
    ModelUnavailable,
)
from wakebook.models import transport
from wakebook.models.transport import Patience, Peer, TooLarge
from wakebook.models.wire import PROVIDERS, Body, ChatAsk, Reply

T = TypeVar("T")
HOST = "host"
_SCHEMA = re.compile(r"response_format|json_schema|schema|grammar|\bformat\b", re.IGNORECASE)
NONE = "none"  # the user has said no to a model
EXAMPLE = 'like "claude-code/haiku", "anthropic/claude-sonnet-5-5", "ollama/qwen3:8b" or "host"'
QUERY_SECONDS = 8.0
BATCH = Patience(3, 120.0, delay=1.0)  # many questions at once
SHORTEST = 100  # characters: a text that is refused as too long is halved down to this
ADVICE = 'Set [embedding] model or provider to another one; provider = "builtin" always works.'


class Endpoint:
    """Where a provider's model is asked. `section`: of config.toml, with its settings."""

    def __init__(
        self,
        provider: str,
        model: str,
        path: str,
        section: str,
        settings: config.Embedding | config.ProviderSettings,
        environ: Mapping[str, str],
    ) -> None:
        """Raises ConfigError for an address that is none."""
        from urllib.parse import quote

        self.model = model.removeprefix("models/") if provider == "gemini" else model
        self._provider, self._section = provider, section
        self._settings, self._environ = settings, environ
        base, written = settings.base_url or PROVIDERS[provider].base, f"{section} base_url"
        if provider == "ollama" and not settings.base_url and environ.get("OLLAMA_HOST"):
            base, written = transport.ollama(environ["OLLAMA_HOST"]), "OLLAMA_HOST"
        if not base:
            raise ConfigError(f"{written} is needed, like http://127.0.0.1:8080/v1.")
        self.host = transport.host(base, written)
        self._who = f"{provider} ({self.host})"
        self.url = base.rstrip("/") + path.format(model=quote(self.model, safe=""))

    def ready(self) -> None:
        """Raises ModelUnavailable if it cannot be asked at all."""
        transport.allow(self._who, self.url)
        self.key()

    def ask(self, body: Body, reads: Callable[[Any], T], patience: Patience) -> T:
        """The answer, as `reads` reads it. Raises TooLarge, ModelUnavailable, BadModelOutput."""
        server = self._server()
        answer = transport.post(server, body, patience)
        try:
            return reads(answer)
        except (KeyError, TypeError, AttributeError, IndexError):
            raise BadModelOutput(
                f"{self._who} answers in a form that we do not know"
                f"{transport.quoted(answer, server.secret)}. Is base_url in {self._section} right?"
            ) from None

    def _server(self, path: str = "", kind: str = "application/json") -> Peer:
        key, place = self.key()
        headers = {"Content-Type": kind, "User-Agent": "wakebook"}
        headers |= PROVIDERS[self._provider].header(key)
        return Peer(self._who, self.url + path, headers, key, self._section, place)

    def fetch(self, path: str, body: Body | None = None, *, raw: bool = False) -> Any:
        """What another path answers, with a body or without; as it is, or as JSON."""
        server = self._server(path)
        data = None if body is None else json.dumps(body).encode()
        answer = transport.send(server, data, BATCH)
        return answer if raw else transport.read(server, answer)

    def upload(self, path: str, fields: Mapping[str, str], name: str, data: bytes) -> Any:
        """A file, in the form in which browsers send one."""
        mark = f"wakebook-{len(data)}-{name}"
        parts = [
            f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
            for key, value in fields.items()
        ]
        head = f'form-data; name="file"; filename="{name}"\r\nContent-Type: application/jsonl'
        parts.append(f"--{mark}\r\nContent-Disposition: {head}\r\n\r\n")
        whole = "".join(parts).encode() + data + f"\r\n--{mark}--\r\n".encode()
        server = self._server(path, f"multipart/form-data; boundary={mark}")
        return transport.read(server, transport.send(server, whole, BATCH))

    def key(self) -> tuple[str, str]:
        """The key ("" where none is needed), and where it was found. Raises ModelUnavailable.

        In this order: the variable that `key_variable` names, the file that `key_file` names,
        Wakebook's own variable, the provider's usual one. The last two only go to the provider
        that they belong to.
        """
        named, usual = self._settings.key_variable, PROVIDERS[self._provider].variables
        if self._settings.key_file and not named:
            return self._from_file(self._settings.key_file)
        for variable in (named,) if named else usual:
            if self._environ.get(variable, "").strip():
                return _sound(self._environ[variable], variable), variable
        if named:
            raise self._keyless(
                f"the variable {named}, which key_variable in {self._section} names, is not set. "
                "Set it to the key."
            )
        if usual:
            raise self._keyless(
                f"there is no key. Set {usual[0]}, or name a variable or a file in "
                f"{self._section}, as key_variable or key_file."
            )
        return "", ""

    def _from_file(self, name: str) -> tuple[str, str]:
        path = config.expand(name)
        try:
            with path.open("rb") as stream:
                if stat.S_IMODE(os.fstat(stream.fileno()).st_mode) & 0o077:
                    raise self._keyless(
                        f"others can read the key in {path}. Run `chmod 600 {path}`."
                    )
                key = stream.read(10_000).decode("utf-8", "replace")
        except OSError as error:
            why = f"cannot read the key in {path}: {error.strerror}."
            raise self._keyless(f"{why} Correct key_file in {self._section}.") from None
        if not key.strip():
            raise self._keyless(f"{path} is empty. Write the key into it.")
        return _sound(key, str(path)), str(path)

    def _keyless(self, why: str) -> ModelUnavailable:
        return ModelUnavailable(f"{self._provider}: {why}")


def _sound(key: str, where: str) -> str:
    key = key.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ModelUnavailable(
            f"What {where} holds is no key: it has blanks, line breaks or special characters."
        )
    return key


# --- chat --------------------------------------------------------------------------------
class Model(Protocol):
    @property
    def name(self) -> str:
        """provider/model, as in config.toml."""

    def ready(self) -> None:
        """Raises ModelUnavailable if it cannot be asked at all: there is no key, say."""

    def alone(self, seconds: float = 0.0) -> AbstractContextManager[None]:
        """Held while it is asked, by a model that takes one question at a time. Raises LeftAlone
        if it is busy for longer than this; 0: as the settings say."""

    def ask(self, question: ChatAsk) -> Reply:
        """Raises ModelUnavailable, BadModelOutput, or TooLarge."""


Pay = Callable[[str, Sequence[str], Callable[[], tuple[list[Any], int]]], list[Any]]
Lend = Callable[[str, str, int], str | Reply]  # system, prompt, most tokens -> answer


@dataclass(frozen=True)
class Lent:
    """The model of the host, through a function that its adapter gives us."""

    lend: Lend
    name = HOST

    def ready(self) -> None:
        pass

    def alone(self, seconds: float = 0.0) -> AbstractContextManager[None]:
        return nullcontext()

    def ask(self, question: ChatAsk) -> Reply:
        try:
            answer: object = self.lend(
                question.system, "\n\n".join(question.turns), question.max_tokens
            )
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


class ServedModel:
    def __init__(self, name: str, endpoint: Endpoint, patience: Patience) -> None:
        self.name, self._endpoint, self._patience = name, endpoint, patience
        self._chat = PROVIDERS[name.partition("/")[0]].chat
        self._cold = False  # it takes no temperature
        self._free = False  # it takes no schema

    def ready(self) -> None:
        self._endpoint.ready()

    def alone(self, seconds: float = 0.0) -> AbstractContextManager[None]:
        return nullcontext()

    def ask(self, question: ChatAsk) -> Reply:
        warmth = None if self._cold else question.temperature
        schema = None if self._free else question.schema
        question = replace(question, model=self._endpoint.model, temperature=warmth, schema=schema)
        try:
            return self._endpoint.ask(self._chat.asks(question), self._read, self._for(question))
        except ModelUnavailable as error:
            if schema and _SCHEMA.search(str(error)):
                self._free = True
                return self.ask(question)
            # some models think at a temperature of their own, and refuse any other
            if warmth is None or "temperature" not in str(error):
                raise
            self._cold = True
            return self.ask(question)

    def _for(self, question: ChatAsk) -> Patience:
        most = question.seconds
        return Patience(1, min(most, self._patience.seconds)) if most else self._patience

    def _read(self, answer: Any) -> Reply:
        reply = self._chat.reads(answer)
        refused = text.printable(text.whole(reply.refused))
        reply = replace(reply, text=text.whole(reply.text), refused=refused)
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
    folder: Path | None = None,
) -> Model:
    """The model that a setting names. Raises ConfigError for what names none.
    `folder`: for the lock of a model that takes one question at a time; None: it needs none."""
    if name == HOST:
        if lend is None:
            raise LeftAlone(
                "[models] says host, but nothing has lent its model: it works inside of a host "
                "(docs/hosts.md). Name a provider/model to use Wakebook by itself."
            )
        return Lent(lend)
    provider, slash, model = name.partition("/")
    limits = settings.models
    patience = patience or Patience(
        limits.attempts, limits.timeout_seconds, delay=1.0, total=3.0 * limits.timeout_seconds
    )
    if provider in CLIENTS and model.strip():
        from wakebook.models.client import Client

        return Client(name, environ, patience, folder, limits.program)
    if provider not in PROVIDERS or not slash or not model.strip():
        known = ", ".join((*CLIENTS, *PROVIDERS))
        raise ConfigError(
            f"[models] {name!r} is no model. Write provider/model, {EXAMPLE}; providers: {known}."
        )
    own, path = getattr(settings, provider), PROVIDERS[provider].chat.path
    endpoint = Endpoint(provider, model, path, f"[{provider}]", own, environ)
    return ServedModel(name, endpoint, patience)


def at_base(name: str, settings: config.Config, environ: Mapping[str, str]) -> Endpoint:
    """Of a model's provider, at its base address."""
    provider, _, model = name.partition("/")
    own = getattr(settings, provider)
    return Endpoint(provider, model, "", f"[{provider}]", own, environ)


# --- embedding ---------------------------------------------------------------------------
class OverHttp:
    """An embedder that is asked over HTTP.

    Texts go in batches by number and tokens, halved when the server finds them too large; with
    patience for documents and little of it for a question, because a person waits; and every
    number that comes back is checked. After a failure that patience did not cure, this object
    asks no more: a dead provider costs its time-out once, not once a text.
    """

    remote = True

    def __init__(
        self,
        provider: str,
        settings: config.Embedding,
        environ: Mapping[str, str],
        patience: Patience | None = None,
    ) -> None:
        """`patience`: with documents, if not as the settings say. Raises ConfigError."""
        form = PROVIDERS[provider].embeds
        assert form
        model = settings.model or form.model
        if not model or not (settings.base_url or PROVIDERS[provider].base):
            raise ConfigError(
                f"[embedding] a {provider} provider needs both base_url, like "
                "http://127.0.0.1:8080/v1, and model, as the server calls it."
            )
        self.endpoint = Endpoint(provider, model, form.path, "[embedding]", settings, environ)
        whose = f"@{self.endpoint.host}" if settings.base_url and provider != "ollama" else ""
        self.name = text.identity(f"{provider}/{self.endpoint.model}{whose}", settings)
        self._form, self._settings, self._provider = form, settings, provider
        self.pay: Pay = lambda name, texts, ask: ask()[0]  # writes down what it costs
        self._patient = patience or Patience(settings.attempts, settings.timeout_seconds)
        self._hasty = Patience(1, min(QUERY_SECONDS, self._patient.seconds))
        self._size = min(settings.batch_size, form.most)
        self._dimensions = settings.dimensions
        self._dead = ""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        if self._dead:
            raise ModelUnavailable(self._dead)
        try:
            return self._embed(texts, query)
        except ModelUnavailable as error:
            self._dead = str(error)
            raise

    def _embed(self, texts: Sequence[str], query: bool) -> list[list[float]]:
        settings = self._settings
        prefix = text.prefix(self.endpoint.model, settings, query)
        cleaned = [text.clean(item) for item in texts]
        asked = [text.cut(prefix + item, settings.max_tokens) for item in cleaned if item]
        if texts and not asked and not self._dimensions:
            asked = [prefix + "empty"]  # to learn how many zeros an empty text is
        found: list[list[float]] = []
        for batch in text.batches(asked, self._size, settings.batch_tokens):
            found += self._rows(batch, query)
        rows = iter(found)
        return [next(rows) if item else [0.0] * self._dimensions for item in cleaned]

    def _rows(self, batch: Sequence[str], query: bool) -> list[list[float]]:
        try:
            return self._ask(batch, query)
        except TooLarge as error:
            if len(batch) == 1:
                if len(batch[0]) <= SHORTEST:
                    raise ModelUnavailable(f"{error}, even of a short text. {ADVICE}") from None
                return self._rows([batch[0][: len(batch[0]) // 2]], query)
        half = len(batch) // 2
        self._size = max(1, min(self._size, half))  # so that the next one fits at once
        return self._rows(batch[:half], query) + self._rows(batch[half:], query)

    def _ask(self, batch: Sequence[str], query: bool) -> list[list[float]]:
        body = self._form.asks(self.endpoint.model, batch, query, self._settings.dimensions)
        patience = self._hasty if query else self._patient

        def ask() -> tuple[list[Any], int]:
            return self.endpoint.ask(body, self._counted, patience)

        rows = self.pay(f"{self._provider}/{self.endpoint.model}", batch, ask)
        if len(rows) != len(batch):
            raise self._bad(f"{len(rows)} vectors for {len(batch)} texts")
        return [self._checked(row) for row in rows]

    def _counted(self, answer: Any) -> tuple[list[Any], int]:
        counted = self._form.counts(answer)
        return self._form.reads(answer), counted if type(counted) is int and counted > 0 else 0

    def _checked(self, row: Any) -> list[float]:
        """A row of unit length, of finite numbers, as many as always."""
        try:
            finite = bool(row) and all(map(math.isfinite, row))
            length = math.sqrt(sum(map(operator.mul, row, row))) if finite else math.nan
        except (TypeError, OverflowError):
            length = math.nan
        if not math.isfinite(length):
            raise self._bad("a vector that holds no number, NaN or infinity")
        self._dimensions = self._dimensions or len(row)
        if len(row) != self._dimensions:
            raise self._bad(f"a vector of {len(row)} numbers instead of {self._dimensions}")
        return [number / length for number in row] if length else [0.0] * len(row)

    def _bad(self, what: str) -> BadModelOutput:
        return BadModelOutput(f"{self.name}: the server answers with {what}. {ADVICE}")
