"""Chat models that are the scripted server, in a home of their own."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.server import ModelServer
from wakebook.base import config
from wakebook.base.home import Home
from wakebook.models.calls import Called, Calls
from wakebook.models.chat import Models
from wakebook.models.model import Lend, Model, make
from wakebook.models.prompt import Lines
from wakebook.models.transport import Patience
from wakebook.models.wire import ChatAsk

PROVIDERS = ("anthropic", "openai", "gemini", "ollama", "compatible")
REFUSING = ("anthropic", "openai", "gemini", "compatible")  # Ollama has no form for it
KEY = "sk-very-secret-0123456789"
KEYS = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "MY_KEY"), KEY)
QUICK = Patience(attempts=3, seconds=20.0, delay=0.01)
HASTY = Patience(attempts=2, seconds=0.1, delay=0.01)  # for servers that hang
SUBJECTS = "relay: The port is 8080.\nrelay: The port is 9090."


def settings(
    server: ModelServer | None, provider: Mapping[str, Any] | None = None, **models: Any
) -> config.Config:
    """All providers at the server; `provider` are more settings of each, `models` of [models]."""
    sections: dict[str, Any] = {"models": config.ModelSettings(**models)}
    for name in PROVIDERS:
        at = {"base_url": server.base(_format(name))} if server else {}
        sections[name] = config.ProviderSettings(**at | dict(provider or {}))
    return config.Config(**sections)


def _format(provider: str) -> str:
    return "openai" if provider == "compatible" else provider


def served(
    server: ModelServer | None,
    name: str,
    environ: Mapping[str, str] | None = None,
    patience: Patience = QUICK,
    **provider: Any,
) -> Model:
    """A single model, without a home."""
    environ = KEYS if environ is None else environ
    return make(name, settings(server, provider), environ, None, patience)


def question(*turns: str, **changes: Any) -> ChatAsk:
    return replace(ChatAsk("", "Be brief.", turns or ("Hello?",), 50), **changes)


def chatting(
    server: ModelServer | None,
    folder: Path,
    main: str = "anthropic/m",
    *,
    environ: Mapping[str, str] | None = None,
    patience: Patience = QUICK,
    provider: Mapping[str, Any] | None = None,
    lend: Lend | None = None,
    dry: bool = False,
    **models: Any,
) -> Models:
    """Models of the home in `folder`. A failure does not pause them, unless a test is about it."""
    chosen = settings(server, provider, **{"main": main, "failures": 1000} | models)
    environ = KEYS if environ is None else environ
    return Models(Home(folder), chosen, environ, lend=lend, patience=patience, dry=dry)


def ask(models: Models, diff: str = "+ The port is 9090.") -> str:
    """A text for a text, from the cheap model."""
    return models.ask("commit", files="log.jsonl", diff=diff)


def lines(
    models: Models,
    check: Callable[[dict[str, Any]], Any] = dict,
    most: int = 20,
    subjects: str = SUBJECTS,
) -> Lines[Any]:
    """Objects for a text, from the main model."""
    return models.lines("briefing", check, most, today="2026-11-09", subjects=subjects)


def numbered(found: dict[str, Any]) -> int:
    """A check: {"n": 1} is 1."""
    if type(found.get("n")) is not int:
        raise ValueError('"n" must be a number')
    return int(found["n"])


def calls(folder: Path) -> list[Called]:
    return list(Calls(Home(folder)).all())


def outcomes(folder: Path) -> list[str]:
    return [call.outcome for call in calls(folder)]


def failures(folder: Path) -> list[str]:
    """The errors that `status` shows."""
    return [trace["error"] for trace in Home(folder).traces("failure")]


def written(folder: Path) -> str:
    """All that the home holds."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


def told(error: BaseException) -> str:
    """All that an error shows."""
    return "".join(traceback.format_exception(error)) + repr(error)
