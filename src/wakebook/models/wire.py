"""The wire formats of chat models: Anthropic, OpenAI, Gemini, Ollama, and OpenAI's imitators.

What differs between providers stands in `FORMATS`, side by side: where a question goes, how it
is written, how an answer is read. A reply's `tokens_in` counts all tokens that were read, those
that came from the provider's cache and those that were written to it included.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wakebook.base import text

# Some models think aloud before they answer; a chat template may have taken the opening mark.
_THOUGHTS = re.compile(
    r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A[^{}]*?^</think(?:ing)?>\s*$",
    re.DOTALL | re.MULTILINE,
)
STEP = 2048  # tokens: Ollama's context grows in these, so that a model is rarely loaded again


@dataclass(frozen=True)
class Question:
    model: str
    system: str
    turns: tuple[str, ...]  # the user's, the model's, the user's ...
    max_tokens: int
    temperature: float | None = None

    def said(self, model: str) -> list[tuple[str, str]]:
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


def _warm(question: Question) -> dict[str, Any]:
    return {} if question.temperature is None else {"temperature": question.temperature}


def _anthropic_asks(question: Question) -> dict[str, Any]:
    system = {"type": "text", "text": question.system, "cache_control": {"type": "ephemeral"}}
    return {
        "model": question.model,
        "max_tokens": question.max_tokens,
        "system": [system],
        "messages": [{"role": r, "content": said} for r, said in question.said("assistant")],
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


def _openai_asks(question: Question, limit: str = "max_completion_tokens") -> dict[str, Any]:
    said = [("system", question.system), *question.said("assistant")]
    return {
        "model": question.model,
        "messages": [{"role": role, "content": words} for role, words in said],
        limit: question.max_tokens,
    } | _warm(question)


def _compatible_asks(question: Question) -> dict[str, Any]:
    return _openai_asks(question, "max_tokens")


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
    refused = message.get("refusal") or ("content filter" if stop == "content_filter" else "")
    return Reply(
        _THOUGHTS.sub("", said),
        cut=stop == "length",
        refused=refused,
        tokens_in=usage.get("prompt_tokens") or 0,
        tokens_out=usage.get("completion_tokens") or 0,
        cached=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
    )


def _gemini_asks(question: Question) -> dict[str, Any]:
    return {
        "systemInstruction": {"parts": [{"text": question.system}]},
        "contents": [
            {"role": role, "parts": [{"text": words}]} for role, words in question.said("model")
        ],
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
    said = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    return Reply(
        said,
        cut=stop == "MAX_TOKENS",
        refused=blocked or ("" if stop in ("STOP", "MAX_TOKENS") else stop),
        tokens_in=usage.get("promptTokenCount") or 0,
        tokens_out=(usage.get("candidatesTokenCount") or 0)
        + (usage.get("thoughtsTokenCount") or 0),
        cached=usage.get("cachedContentTokenCount") or 0,
    )


def _ollama_asks(question: Question) -> dict[str, Any]:
    # Without num_ctx Ollama reads only the end of a long question, and does not say so.
    needed = question.size() + question.max_tokens
    said = [("system", question.system), *question.said("assistant")]
    return {
        "model": question.model,
        "messages": [{"role": role, "content": words} for role, words in said],
        "stream": False,
        "options": {
            "num_ctx": -(-needed // STEP) * STEP,
            "num_predict": question.max_tokens,
        }
        | _warm(question),
    }


def _ollama_reads(answer: Any) -> Reply:
    return Reply(
        _THOUGHTS.sub("", answer["message"].get("content") or ""),
        cut=answer.get("done_reason") == "length",
        tokens_in=answer.get("prompt_eval_count") or 0,
        tokens_out=answer.get("eval_count") or 0,
    )


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _anthropic_key(key: str) -> dict[str, str]:
    return {"x-api-key": key, "anthropic-version": "2023-06-01"}


def _google_key(key: str) -> dict[str, str]:
    return {"x-goog-api-key": key}


@dataclass(frozen=True)
class Format:
    base: str
    path: str
    header: Callable[[str], dict[str, str]]
    asks: Callable[[Question], dict[str, Any]]
    reads: Callable[[Any], Reply]


# fmt: off
FORMATS = {
    "anthropic": Format(
        "https://api.anthropic.com/v1", "/messages",
        _anthropic_key, _anthropic_asks, _anthropic_reads,
    ),
    "openai": Format(
        "https://api.openai.com/v1", "/chat/completions",
        _bearer, _openai_asks, _openai_reads,
    ),
    "gemini": Format(
        "https://generativelanguage.googleapis.com/v1beta", "/models/{model}:generateContent",
        _google_key, _gemini_asks, _gemini_reads,
    ),
    "ollama": Format(
        "http://127.0.0.1:11434", "/api/chat",
        _bearer, _ollama_asks, _ollama_reads,
    ),
    "compatible": Format(
        "", "/chat/completions",
        _bearer, _compatible_asks, _openai_reads,
    ),
}
# fmt: on
