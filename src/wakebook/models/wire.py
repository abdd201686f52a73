"""The providers of models, side by side: where each is asked, with which key, in which form.

Anthropic, OpenAI, Gemini, Ollama, and servers that are compatible with OpenAI's. A chat question
and a list of texts to embed are written in the provider's form, its answers are read. A reply's
`tokens_in` counts all tokens that were read, those that came from the provider's cache and those
that were written to it included.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from wakebook.base import text

# Some models think aloud before they answer; a chat template may have taken the opening mark.
_THOUGHTS = re.compile(
    r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A[^{}]*?^</think(?:ing)?>\s*$",
    re.DOTALL | re.MULTILINE,
)
STEP = 2048  # tokens: Ollama's context grows in these, so that a model is rarely loaded again
Body = dict[str, Any]


@dataclass(frozen=True)
class ChatAsk:
    model: str
    system: str
    turns: tuple[str, ...]  # the user's, the model's, the user's ...
    max_tokens: int
    temperature: float | None = None
    schema: dict[str, Any] | None = None  # of the answer
    key: str = ""  # of a question that may stand in a batch: the same when it is asked again
    shown: tuple[str, ...] = ()  # with the key: the entries that it refers to by number
    seconds: float = 0.0  # the caller waits no longer; 0: as long as the settings say

    def roles(self, model: str) -> list[tuple[str, str]]:
        """(role, text), with the provider's word for the model."""
        return [("user" if n % 2 == 0 else model, turn) for n, turn in enumerate(self.turns)]

    def size(self) -> int:
        """Tokens, about."""
        return sum(map(text.tokens, (self.system, *self.turns)))


@dataclass(frozen=True)
class Reply:
    text: str
    cut: bool = False  # at the limit of tokens
    refused: str = ""  # why the model would not answer
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    written: int = 0
    cost: float | None = None  # dollars, where the model says so itself


def _warm(question: ChatAsk) -> Body:
    return {} if question.temperature is None else {"temperature": question.temperature}


def _messages(question: ChatAsk) -> list[Body]:
    turns = [("system", question.system), *question.roles("assistant")]
    return [{"role": role, "content": words} for role, words in turns]


def _anthropic_asks(question: ChatAsk) -> Body:
    system = {"type": "text", "text": question.system, "cache_control": {"type": "ephemeral"}}
    return {
        "model": question.model,
        "max_tokens": question.max_tokens,
        "system": [system],
        "messages": _messages(question)[1:],
    } | _warm(question)


def _anthropic_reads(answer: Any) -> Reply:
    usage = answer.get("usage") or {}
    cached = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    stop = answer.get("stop_reason")
    said = "".join(item["text"] for item in answer["content"] if item["type"] == "text")
    return Reply(
        said,
        cut=stop in ("max_tokens", "model_context_window_exceeded"),
        refused=said or "refusal" if stop == "refusal" else "",
        tokens_in=(usage.get("input_tokens") or 0) + cached + written,
        tokens_out=usage.get("output_tokens") or 0,
        cached=cached,
        written=written,
    )


def _openai_asks(question: ChatAsk, limit: str = "max_completion_tokens") -> Body:
    body = {"model": question.model, "messages": _messages(question), limit: question.max_tokens}
    if question.schema:
        schema = {"name": "answer", "strict": True, "schema": question.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body | _warm(question)


def _openai_reads(answer: Any) -> Reply:
    usage = answer.get("usage") or {}
    choice = answer["choices"][0]
    message = choice["message"]
    stop = choice.get("finish_reason")
    if choice.get("error") or stop == "error":  # a router's way to say that half of it is missing
        raise KeyError("error")
    said = message.get("content") or ""
    if isinstance(said, list):  # parts, of which some are thoughts
        said = "".join(part.get("text", "") for part in said if part.get("type") == "text")
    return Reply(
        _THOUGHTS.sub("", said),
        cut=stop == "length",
        refused=message.get("refusal") or ("content filter" if stop == "content_filter" else ""),
        tokens_in=usage.get("prompt_tokens") or 0,
        tokens_out=usage.get("completion_tokens") or 0,
        cached=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
    )


def _gemini_asks(question: ChatAsk) -> Body:
    turns = question.roles("model")
    return {
        "systemInstruction": {"parts": [{"text": question.system}]},
        "contents": [{"role": role, "parts": [{"text": words}]} for role, words in turns],
        "generationConfig": {"maxOutputTokens": question.max_tokens} | _warm(question),
    }


def _gemini_reads(answer: Any) -> Reply:
    usage = answer.get("usageMetadata") or {}
    candidates = answer.get("candidates") or []
    blocked = (answer.get("promptFeedback") or {}).get("blockReason") or ""
    if not candidates and not blocked:
        raise KeyError("candidates")
    first = candidates[0] if candidates else {}
    stop = first.get("finishReason") or "STOP"
    parts = (first.get("content") or {}).get("parts") or []
    thoughts = usage.get("thoughtsTokenCount") or 0
    return Reply(
        "".join(part.get("text", "") for part in parts if not part.get("thought")),
        cut=stop == "MAX_TOKENS",
        refused=blocked or ("" if stop in ("STOP", "MAX_TOKENS") else stop),
        tokens_in=usage.get("promptTokenCount") or 0,
        tokens_out=(usage.get("candidatesTokenCount") or 0) + thoughts,
        cached=usage.get("cachedContentTokenCount") or 0,
    )


def _ollama_asks(question: ChatAsk) -> Body:
    # Without num_ctx Ollama reads only the end of a long question, and does not say so.
    room = -(-(question.size() + question.max_tokens) // STEP) * STEP
    options = {"num_ctx": room, "num_predict": question.max_tokens} | _warm(question)
    body = {"model": question.model, "messages": _messages(question), "stream": False}
    body |= {"format": question.schema} if question.schema else {}
    return body | {"options": options}


def _ollama_reads(answer: Any) -> Reply:
    return Reply(
        _THOUGHTS.sub("", answer["message"].get("content") or ""),
        cut=answer.get("done_reason") == "length",
        tokens_in=answer.get("prompt_eval_count") or 0,
        tokens_out=answer.get("eval_count") or 0,
    )


# --- texts to embed: model, texts, whether it is a question, dimensions (0: the model's own) ---
def _embeds(form: Body, model: str, texts: Sequence[str], query: bool, dimensions: int) -> Body:
    chosen = {"dimensions": dimensions} if dimensions else {}
    return {"model": model, "input": texts, **form, **chosen}


_openai_embeds = partial(_embeds, {"encoding_format": "float"})
_ollama_embeds = partial(_embeds, {"truncate": True})


def _openai_rows(answer: Any) -> list[Any]:
    placed = {item.get("index", at): item["embedding"] for at, item in enumerate(answer["data"])}
    return [placed[at] for at in range(len(answer["data"]))]


def _openai_counts(answer: Any) -> Any:
    usage = answer.get("usage") or {}
    return usage.get("prompt_tokens") or usage.get("total_tokens")


def _gemini_embeds(model: str, texts: Sequence[str], query: bool, dimensions: int) -> Body:
    purpose = "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT"
    common: Body = {"model": f"models/{model}", "taskType": purpose}
    common |= {"outputDimensionality": dimensions} if dimensions else {}
    return {"requests": [common | {"content": {"parts": [{"text": one}]}} for one in texts]}


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


class Chat(NamedTuple):
    path: str
    asks: Callable[[ChatAsk], Body]
    reads: Callable[[Any], Reply]


class Embeds(NamedTuple):
    path: str
    model: str  # unless the settings name one
    most: int  # texts in a request
    asks: Callable[[str, Sequence[str], bool, int], Body]
    reads: Callable[[Any], list[Any]]
    counts: Callable[[Any], Any] = lambda answer: 0  # tokens


class Provider(NamedTuple):
    base: str  # its usual address
    header: Callable[[str], dict[str, str]]  # for a key
    variables: tuple[str, ...]  # that hold its key: Wakebook's own first
    chat: Chat
    embeds: Embeds | None = None


# fmt: off
PROVIDERS = {
    "anthropic": Provider(
        "https://api.anthropic.com/v1",
        lambda key: {"x-api-key": key, "anthropic-version": "2023-06-01"},
        ("WAKEBOOK_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        Chat("/messages", _anthropic_asks, _anthropic_reads),
    ),
    "openai": Provider(
        "https://api.openai.com/v1", _bearer,
        ("WAKEBOOK_OPENAI_API_KEY", "OPENAI_API_KEY"),
        Chat("/chat/completions", _openai_asks, _openai_reads),
        Embeds("/embeddings", "text-embedding-3-small", 2048, _openai_embeds, _openai_rows,
               _openai_counts),
    ),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta",
        lambda key: {"x-goog-api-key": key},
        ("WAKEBOOK_GEMINI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
        Chat("/models/{model}:generateContent", _gemini_asks, _gemini_reads),
        Embeds("/models/{model}:batchEmbedContents", "gemini-embedding-001", 100,
               _gemini_embeds, lambda answer: [item["values"] for item in answer["embeddings"]]),
    ),
    "ollama": Provider(
        "http://127.0.0.1:11434", _bearer, (),
        Chat("/api/chat", _ollama_asks, _ollama_reads),
        Embeds("/api/embed", "nomic-embed-text", 512,
               _ollama_embeds, lambda answer: list(answer["embeddings"]),
               lambda answer: answer.get("prompt_eval_count")),
    ),
    "compatible": Provider(
        "", _bearer, (),
        Chat("/chat/completions", partial(_openai_asks, limit="max_tokens"), _openai_reads),
        Embeds("/embeddings", "", 2048, _openai_embeds, _openai_rows, _openai_counts),
    ),
}
# fmt: on
