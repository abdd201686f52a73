"""The chat wire formats of the providers, from the server's side: no streams; tools for OpenAI's.

A format is a row of FORMATS: how a question is read, how an answer and how an error look.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import unquote

Provider = Literal["anthropic", "openai", "gemini", "ollama"]
CREATED = 1_767_225_600  # one moment for all answers: 2026-01-01


@dataclass(frozen=True)
class Say:
    """The answer of a chat endpoint.

    The tokens are those of the question, of the answer, and how many of the question's were
    cached. Without them, a token is four characters and nothing was cached.
    A refusal without a text is, for OpenAI, the content filter's; with one it is the model's.
    """

    text: str
    stop: Literal["end", "length", "refusal"] = "end"
    tokens: tuple[int, int, int] | None = None
    written: int = 0  # of the question's tokens, to a cache (Anthropic's)
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()  # of tools: name and arguments (OpenAI's)


@dataclass(frozen=True)
class Chat:
    """What a chat endpoint was asked, the same for every provider."""

    provider: Provider
    model: str
    system: str
    prompt: str  # the texts of the messages, with blank lines in between
    messages: list[tuple[str, str]]  # role (user, assistant, tool) and text; not the system
    max_tokens: int | None
    temperature: float | None
    headers: dict[str, str]  # names in lower case
    body: dict[str, Any]


@dataclass(frozen=True)
class Format:
    end: str  # of the path
    read: Callable[[str, dict[str, str], dict[str, Any]], Chat]
    answer: Callable[[Chat, Say], dict[str, Any]]
    error: Callable[[int, str], dict[str, Any]]

    def question(self, path: str, headers: dict[str, str], body: Any) -> Chat:
        """Raises Refused when the provider would not take it."""
        if not isinstance(body, dict):
            raise Refused(400, "the body is no object")
        if body.get("stream"):
            raise Refused(400, "stream: this server does not stream")
        return self.read(path, headers, body)


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


# --- parts of a question -----------------------------------------------------------------


def _required(body: Mapping[str, Any], name: str, kind: type) -> Any:
    if body.get(name) is None:
        raise Refused(400, f"{name}: Field required")
    return _optional(body, name, kind)


def _optional(body: Mapping[str, Any], name: str, *kinds: type) -> Any:
    value = body.get(name)
    if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
        raise Refused(400, f"{name}: Input should be a valid {kinds[0].__name__}")
    return value


def _text(content: Any, name: str) -> str:
    """Of a string, or of blocks of text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Refused(400, f"{name}: Input should be a string or a list of blocks")
    for block in content:
        if not isinstance(block, dict) or not isinstance(block.get("text"), str):
            raise Refused(400, f"{name}: this server reads blocks of text")
        if block.get("type", "text") != "text":
            raise Refused(400, f"{name}: this server reads blocks of text, not {block['type']}")
    return _joined(block["text"] for block in content)


def _messages(
    items: list[Any], roles: Mapping[str, str], content: str = "content"
) -> list[tuple[str, str]]:
    """Each role by its common name, and the text."""
    if not items:
        raise Refused(400, "messages: at least one message is required")
    for item in items:
        if not isinstance(item, dict) or item.get("role", "user") not in roles:
            raise Refused(400, f"messages: the roles are {', '.join(roles)}: {item!r:.80}")
    return [
        (roles[item.get("role", "user")], _text(item.get(content), "messages")) for item in items
    ]


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(texts)


def _chat(
    provider: Provider,
    model: str,
    messages: list[tuple[str, str]],
    limits: tuple[int | None, float | None],
    headers: dict[str, str],
    body: dict[str, Any],
    system: str | None = None,
) -> Chat:
    if system is None:
        system = _joined(text for role, text in messages if role == "system")
    messages = [(role, text) for role, text in messages if role != "system"]
    prompt = _joined(text for _, text in messages)
    return Chat(provider, model, system, prompt, messages, *limits, headers, body)


def _tokens(chat: Chat, say: Say) -> tuple[int, int, int]:
    return say.tokens or (len(chat.system + chat.prompt) // 4, len(say.text) // 4, 0)


LEAST = 1024  # tokens: no provider caches less


class Cache:
    """What a provider keeps of the questions that it was asked, as its documents say: Anthropic up
    to a mark in the question, OpenAI whatever two questions begin with."""

    def __init__(self) -> None:
        self._kept: list[str] = []

    def count(self, chat: Chat, say: Say) -> Say:
        asked = chat.system + chat.prompt
        shared = max((_common(asked, one) for one in self._kept), default=0)
        cached, written = shared // 4 // 128 * 128, 0
        if chat.provider == "anthropic":
            marked = [one["text"] for one in chat.body["system"] if one.get("cache_control")]
            begins = "".join(marked) or " "
            size = len(begins) // 4 if len(begins) // 4 >= LEAST else 0
            known = any(one.startswith(begins) for one in self._kept)
            cached, written = (size, 0) if known else (0, size)
        self._kept.append(asked)
        cached = cached if cached >= LEAST else 0
        return replace(say, tokens=(len(asked) // 4, len(say.text) // 4, cached), written=written)


def _common(one: str, other: str) -> int:
    """Characters that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


# --- Anthropic ---------------------------------------------------------------------------

_ANTHROPIC_ERRORS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def _read_anthropic(path: str, headers: dict[str, str], body: dict[str, Any]) -> Chat:
    if not headers.get("x-api-key"):
        raise Refused(401, "x-api-key header is required")
    if not headers.get("anthropic-version"):
        raise Refused(400, "anthropic-version: header is required")
    model = _required(body, "model", str)
    most = _required(body, "max_tokens", int)
    if most < 1:
        raise Refused(400, "max_tokens: Input should be greater than or equal to 1")
    roles = {"user": "user", "assistant": "assistant"}
    messages = _messages(_required(body, "messages", list), roles)
    if not all(text for _, text in messages):
        raise Refused(400, "messages: text content blocks must be non-empty")
    system = _text(body.get("system", ""), "system")
    temperature = _optional(body, "temperature", float, int)
    return _chat("anthropic", model, messages, (most, temperature), headers, body, system)


def _answer_anthropic(chat: Chat, say: Say) -> dict[str, Any]:
    asked, answered, cached = _tokens(chat, say)
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": chat.model,
        "content": [{"type": "text", "text": say.text}] if say.text else [],
        "stop_reason": {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"}[say.stop],
        "stop_sequence": None,
        "usage": {
            "input_tokens": asked - cached - say.written,
            "cache_creation_input_tokens": say.written,
            "cache_read_input_tokens": cached,
            "output_tokens": answered,
        },
    }


def _error_anthropic(status: int, message: str) -> dict[str, Any]:
    kind = _ANTHROPIC_ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_01"}


# --- OpenAI ------------------------------------------------------------------------------


def _read_openai(path: str, headers: dict[str, str], body: dict[str, Any]) -> Chat:
    model = _required(body, "model", str)
    roles = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
    items = _answered(_required(body, "messages", list))
    messages = _messages(items, roles | {"tool": "tool"})
    if "max_tokens" in body and "max_completion_tokens" in body:
        raise Refused(400, "max_tokens and max_completion_tokens at the same time")
    most = _optional(body, "max_completion_tokens", int) or _optional(body, "max_tokens", int)
    limits = most, _optional(body, "temperature", float, int)
    return _chat("openai", model, messages, limits, headers, body)


def _answered(items: list[Any]) -> list[Any]:
    """The messages, if every call of a tool is answered before anybody else speaks."""
    waiting: set[str] = set()
    found: list[Any] = []
    for item in items:
        if isinstance(item, dict) and item.get("role") == "tool":
            if item.get("tool_call_id") not in waiting:
                raise Refused(400, "messages: role tool must follow the tool_calls it answers")
            waiting.discard(item["tool_call_id"])
        elif waiting:
            raise Refused(400, f"messages: tool_call_ids without an answer: {sorted(waiting)}")
        elif isinstance(item, dict) and item.get("tool_calls"):
            waiting = {call["id"] for call in item["tool_calls"]}
            item = item | {"content": item.get("content") or ""}
        found.append(item)
    if waiting:
        raise Refused(400, f"messages: tool_call_ids without an answer: {sorted(waiting)}")
    return found


def _calls_openai(chat: Chat, say: Say) -> dict[str, Any]:
    """Ids that are not those of earlier calls."""
    first = sum(role == "tool" for role, _ in chat.messages) + 1
    calls = [
        {
            "id": f"call_{number:02}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(say.calls, first)
    ]
    return {"tool_calls": calls} if calls else {}


def _answer_openai(chat: Chat, say: Say) -> dict[str, Any]:
    asked, answered, cached = _tokens(chat, say)
    refused = say.stop == "refusal"
    finish = "length" if say.stop == "length" else "tool_calls" if say.calls else "stop"
    return {
        "id": "chatcmpl-01",
        "object": "chat.completion",
        "created": CREATED,
        "model": chat.model,
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None if refused or (say.calls and not say.text) else say.text,
                    "refusal": (say.text or None) if refused else None,
                    **_calls_openai(chat, say),
                },
                "logprobs": None,
                "finish_reason": "content_filter" if refused and not say.text else finish,
            }
        ],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": answered,
            "total_tokens": asked + answered,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def _error_openai(status: int, message: str) -> dict[str, Any]:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


# --- Gemini ------------------------------------------------------------------------------

_GEMINI_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _read_gemini(path: str, headers: dict[str, str], body: dict[str, Any]) -> Chat:
    model = unquote(path.rpartition("/models/")[2].removesuffix(":generateContent"))
    roles = {"user": "user", "model": "assistant"}
    messages = _messages(_required(body, "contents", list), roles, "parts")
    instruction = _optional(body, "systemInstruction", dict)
    system = _text(instruction.get("parts"), "systemInstruction") if instruction else ""
    config = _optional(body, "generationConfig", dict) or {}
    limits = _optional(config, "maxOutputTokens", int), _optional(config, "temperature", float, int)
    return _chat("gemini", model, messages, limits, headers, body, system)


def _answer_gemini(chat: Chat, say: Say) -> dict[str, Any]:
    """Like the real one it leaves out what is empty or zero, and so the words of a refusal."""
    asked, answered, cached = _tokens(chat, say)
    usage = {"promptTokenCount": asked, "totalTokenCount": asked}
    if cached:
        usage["cachedContentTokenCount"] = cached
    if say.stop == "refusal":
        said: dict[str, Any] = {"promptFeedback": {"blockReason": "SAFETY"}}
    else:
        usage |= {"candidatesTokenCount": answered, "totalTokenCount": asked + answered}
        content: dict[str, Any] = {"parts": [{"text": say.text}]} if say.text else {}
        reason = {"end": "STOP", "length": "MAX_TOKENS"}[say.stop]
        candidate = {"content": content | {"role": "model"}, "finishReason": reason, "index": 0}
        said = {"candidates": [candidate]}
    return said | {"usageMetadata": usage, "modelVersion": chat.model, "responseId": "01"}


def _error_gemini(status: int, message: str) -> dict[str, Any]:
    kind = _GEMINI_ERRORS.get(status, "UNKNOWN")
    return {"error": {"code": status, "message": message, "status": kind}}


# --- Ollama ------------------------------------------------------------------------------


def _read_ollama(path: str, headers: dict[str, str], body: dict[str, Any]) -> Chat:
    if body.get("stream") is not False:
        raise Refused(400, "stream: must be false, or the answer is a stream")
    roles = {"system": "system", "user": "user", "assistant": "assistant"}
    messages = _messages(_required(body, "messages", list), roles)
    options = _optional(body, "options", dict) or {}
    limits = _optional(options, "num_predict", int), _optional(options, "temperature", float, int)
    return _chat("ollama", _required(body, "model", str), messages, limits, headers, body)


def _answer_ollama(chat: Chat, say: Say) -> dict[str, Any]:
    """A refusal has no form of its own."""
    asked, answered, _ = _tokens(chat, say)
    return {
        "model": chat.model,
        "created_at": "2026-01-01T00:00:00.000000Z",
        "message": {"role": "assistant", "content": say.text},
        "done": True,
        "done_reason": "length" if say.stop == "length" else "stop",
        "total_duration": 1,
        "prompt_eval_count": asked,
        "eval_count": answered,
    }


def _error_ollama(status: int, message: str) -> dict[str, Any]:
    return {"error": message}


FORMATS = (
    Format("/messages", _read_anthropic, _answer_anthropic, _error_anthropic),
    Format("/chat/completions", _read_openai, _answer_openai, _error_openai),
    Format(":generateContent", _read_gemini, _answer_gemini, _error_gemini),
    Format("/api/chat", _read_ollama, _answer_ollama, _error_ollama),
)
