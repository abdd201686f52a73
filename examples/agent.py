"""A chat agent that remembers: any OpenAI-compatible server, the standard library, and Wakebook.

    python examples/agent.py --url http://127.0.0.1:11434/v1 --model llama3.2 --session monday

Type a line and read the answer; Ctrl-D ends the session. Start it again with another --session:
its first request holds the handoff of the last one, and what you have corrected since is right.
"""

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wakebook import Conversation, Memory, WakebookError

PROMPT = "You are a helpful assistant with a memory. What it holds for this message:\n\n"
TOOLS = {
    "memory_search": "Search what is remembered from earlier sessions.",
    "remember": "Keep a statement for later sessions, because the user asks for it.",
    "list_files": "The names of the files in a folder.",
}
Ask = Callable[[list[dict[str, Any]]], dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description="A chat agent that remembers.")
    parser.add_argument("--url", default="http://127.0.0.1:11434/v1", help="of the model's server")
    parser.add_argument("--model", default="llama3.2")
    parser.add_argument("--session", default="", help="an id; the same one goes on with it")
    parser.add_argument("--home", help="where the memory lives (default: ~/.wakebook)")
    given = parser.parse_args()
    memory = Memory(given.home)
    if not memory.home.exists():
        memory.init()

    def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
        return complete(given.url, given.model, messages)

    with memory.session(given.session, channel="terminal", model=given.model) as chat:
        for line in sys.stdin:
            if line.strip():
                try:
                    print(answer(memory, chat, line.strip(), ask), flush=True)
                except urllib.error.URLError as error:  # what was said so far is kept
                    print(f"(no answer: {error})", flush=True)


def answer(memory: Memory, chat: Conversation, text: str, ask: Ask) -> str:
    """One turn: what the user says, the tools that the model calls, and what it answers."""
    chat.user(text)
    system = {"role": "system", "content": PROMPT + chat.context(text).text}
    while True:
        said = ask([system, *chat.messages()])
        chat.add(said)
        if not said.get("tool_calls"):
            return said.get("content") or ""
        for call in said["tool_calls"]:
            result = use(memory, call["function"]["name"], call["function"]["arguments"])
            chat.add({"role": "tool", "tool_call_id": call["id"], "content": result})


def use(memory: Memory, name: str, arguments: str) -> str:
    """What a tool gives back. A model may get anything wrong: then it reads why."""
    try:
        given = str(json.loads(arguments)["text"])
        if name == "memory_search":
            return "\n".join(f"{hit.snippet} ({hit.ref})" for hit in memory.search(given).hits)
        if name == "remember":
            return f"Kept as {memory.remember(given).id}."
        if name == "list_files":
            return "\n".join(sorted(path.name for path in Path(given).iterdir()))
        return f"There is no tool {name}."
    except (ValueError, KeyError, TypeError, OSError, WakebookError) as error:
        return f"{name} failed: {error!r}"


def complete(url: str, model: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The model's next message."""
    parameters = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }
    tools = [
        {"type": "function", "function": {"name": n, "description": d, "parameters": parameters}}
        for n, d in TOOLS.items()
    ]
    body = json.dumps({"model": model, "messages": messages, "tools": tools}).encode()
    key = os.environ.get("OPENAI_API_KEY", "none")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{url}/chat/completions", body, headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=300) as reply:  # noqa: S310
        message: dict[str, Any] = json.load(reply)["choices"][0]["message"]
    return message


if __name__ == "__main__":
    main()
