"""Embedders that are asked over HTTP: OpenAI, Gemini, Ollama and whatever speaks like OpenAI.

What differs between them stands in `FORMATS`, side by side. Everything else is common: batches
by number and tokens, halved when the server finds them too large; patience for documents and
little of it for a question, because a person waits; and a check of every number that comes
back. After a failure that patience did not cure, this object asks no more: one dead provider
costs its time-out once, not once a text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wakebook.base import config, text
from wakebook.base.errors import BadModelOutput, ConfigError, ModelUnavailable
from wakebook.models import model as keys
from wakebook.models import transport as address
from wakebook.models.transport import Patience, Server, TooLarge, post, quoted

QUERY_SECONDS = 8.0
SHORTEST = 100  # characters: a text that is refused as too long is halved down to this
ADVICE = 'Set [embedding] model or provider to another one; provider = "builtin" always works.'


@dataclass(frozen=True)
class Question:
    model: str
    texts: Sequence[str]
    query: bool
    dimensions: int


def _openai_asks(question: Question) -> dict[str, Any]:
    body = {"model": question.model, "input": question.texts, "encoding_format": "float"}
    return body | ({"dimensions": question.dimensions} if question.dimensions else {})


def _openai_rows(answer: Any) -> list[Any]:
    placed = {item.get("index", at): item["embedding"] for at, item in enumerate(answer["data"])}
    return [placed[at] for at in range(len(answer["data"]))]


def _gemini_asks(question: Question) -> dict[str, Any]:
    common: dict[str, Any] = {
        "model": f"models/{question.model}",
        "taskType": "RETRIEVAL_QUERY" if question.query else "RETRIEVAL_DOCUMENT",
    }
    if question.dimensions:
        common["outputDimensionality"] = question.dimensions
    return {"requests": [common | {"content": {"parts": [{"text": t}]}} for t in question.texts]}


def _gemini_rows(answer: Any) -> list[Any]:
    return [item["values"] for item in answer["embeddings"]]


def _ollama_asks(question: Question) -> dict[str, Any]:
    body = {"model": question.model, "input": question.texts, "truncate": True}
    return body | ({"dimensions": question.dimensions} if question.dimensions else {})


def _ollama_rows(answer: Any) -> list[Any]:
    return list(answer["embeddings"])


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _google(key: str) -> dict[str, str]:
    return {"x-goog-api-key": key}


@dataclass(frozen=True)
class Format:
    base: str
    model: str  # unless the settings name one
    path: str
    most: int  # texts in a request
    header: Callable[[str], dict[str, str]]
    asks: Callable[[Question], dict[str, Any]]
    rows: Callable[[Any], list[Any]]


# fmt: off
FORMATS = {
    "openai": Format(
        "https://api.openai.com/v1", "text-embedding-3-small",
        "/embeddings", 2048, _bearer, _openai_asks, _openai_rows,
    ),
    "compatible": Format(
        "", "",
        "/embeddings", 2048, _bearer, _openai_asks, _openai_rows,
    ),
    "gemini": Format(
        "https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-001",
        "/models/{model}:batchEmbedContents", 100, _google, _gemini_asks, _gemini_rows,
    ),
    "ollama": Format(
        "http://127.0.0.1:11434", "nomic-embed-text",
        "/api/embed", 512, _bearer, _ollama_asks, _ollama_rows,
    ),
}
# fmt: on


def make(
    provider: str,
    settings: config.Embedding,
    environ: Mapping[str, str],
    patience: Patience | None = None,
) -> Remote:
    """The embedder of these settings. `patience`: with documents, if not as they say."""
    from urllib.parse import quote

    form = FORMATS[provider]
    model = settings.model or form.model
    if provider == "gemini":
        model = model.removeprefix("models/")
    base = settings.base_url or form.base
    if provider == "ollama" and not settings.base_url and environ.get("OLLAMA_HOST"):
        base = address.ollama(environ["OLLAMA_HOST"])
    if not base or not model:
        raise ConfigError(
            f"[embedding] a {provider} provider needs both base_url, like "
            "http://127.0.0.1:8080/v1, and model, as the server calls it."
        )
    host = address.host(base, "[embedding] base_url")
    name = f"{provider}/{model}"
    if settings.base_url and provider != "ollama":
        name += f"@{host}"  # whose model of that name it is
    find = keys.finder(provider, "[embedding]", settings, environ)
    url = base.rstrip("/") + form.path.format(model=quote(model, safe=""))
    who = f"{provider} ({host})"
    patience = patience or Patience(settings.attempts, settings.timeout_seconds)
    name = text.identity(name, settings)
    return Remote(name, model, who, url, form, find, settings, patience)


class Remote:
    remote = True

    def __init__(
        self,
        name: str,
        model: str,
        who: str,
        url: str,
        form: Format,
        key: Callable[[], str],
        settings: config.Embedding,
        patience: Patience,
    ) -> None:
        self.name = name
        self._who = who
        self._url = url
        self._form = form
        self._key = key
        self._settings = settings
        self._model = model
        self._patient = patience
        self._hasty = Patience(1, min(QUERY_SECONDS, patience.seconds))
        self._size = min(settings.batch_size, form.most)
        self._dimensions = settings.dimensions
        self._dead = ""

    def __repr__(self) -> str:
        return f"Remote({self.name!r})"

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
        prefix = text.prefix(self._model, settings, query)
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
        key = self._key()
        headers = {"Content-Type": "application/json", "User-Agent": "wakebook"}
        headers |= self._form.header(key) if key else {}
        server = Server(self._who, self._url, headers, key, "[embedding]")
        question = Question(self._model, batch, query, self._settings.dimensions)
        answer = post(server, self._form.asks(question), self._hasty if query else self._patient)
        try:
            rows = self._form.rows(answer)
        except (KeyError, TypeError, AttributeError):
            raise self._bad(f"answers in a form that we do not know{quoted(answer, key)}") from None
        if len(rows) != len(batch):
            raise self._bad(f"answers with {len(rows)} vectors for {len(batch)} texts")
        return [self._checked(row) for row in rows]

    def _checked(self, row: Any) -> list[float]:
        """A row of unit length, of finite numbers, as many as always."""
        try:
            finite = bool(row) and all(map(math.isfinite, row))
            length = math.sqrt(sum(map(operator.mul, row, row))) if finite else math.nan
        except (TypeError, OverflowError):
            length = math.nan
        if not math.isfinite(length):
            raise self._bad("answers with a vector that holds no number, NaN or infinity")
        self._dimensions = self._dimensions or len(row)
        if len(row) != self._dimensions:
            raise self._bad(
                f"answers with a vector of {len(row)} numbers instead of {self._dimensions}"
            )
        return [number / length for number in row] if length else [0.0] * len(row)

    def _bad(self, what: str) -> BadModelOutput:
        return BadModelOutput(f"{self.name}: the server {what}. {ADVICE}")
