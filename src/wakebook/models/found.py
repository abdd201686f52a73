"""Found: the models that this machine has. Looking asks no model, and sends nothing anywhere else.

Programs on the PATH, what Ollama has loaded here, and keys in the environment. The first two cost
no key; they are what `setup` proposes. A key is only listed: it is there for another program.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from wakebook.base import config
from wakebook.base.errors import ConfigError, ModelError
from wakebook.models import transport
from wakebook.models.model import Endpoint
from wakebook.models.wire import PROVIDERS

SECONDS = 0.5  # for Ollama to list its models
SMALL = {  # of each provider that takes a key: a model that is good enough, and cheap
    "anthropic": "claude-haiku-5-5",
    "openai": "gpt-6-luna",
    "gemini": "gemini-3.8-flash",
}


class FoundModel(NamedTuple):
    name: str  # provider/model
    seen: str  # where
    pays: str  # who pays, and how
    keyless: bool = True


def found(settings: config.Config, environ: Mapping[str, str]) -> list[FoundModel]:
    """What there is, the best to begin with first."""
    return [*_clients(environ), *_ollama(settings, environ), *_keys(settings, environ)]


def _clients(environ: Mapping[str, str]) -> Iterator[FoundModel]:
    from wakebook.models.client import PROGRAMS

    for provider, program in PROGRAMS.items():
        if path := shutil.which(program.command, path=environ.get("PATH")):
            pays = f"{program.label}'s own login: your subscription or key"
            yield FoundModel(f"{provider}/{program.model}", path, pays)


def _ollama(settings: config.Config, environ: Mapping[str, str]) -> Iterator[FoundModel]:
    try:
        there = Endpoint("ollama", "", "/api/tags", "[ollama]", settings.ollama, environ)
        answer = transport.get(there.url, SECONDS)
        names = [str(one["name"]) for one in answer["models"]]
    except (ConfigError, ModelError, KeyError, TypeError):
        return
    for name in names:
        if "embed" not in name:
            yield FoundModel(f"ollama/{name}", there.host, "nothing: it runs on that machine")


def _keys(settings: config.Config, environ: Mapping[str, str]) -> Iterator[FoundModel]:
    for provider, model in SMALL.items():
        own, path = getattr(settings, provider), PROVIDERS[provider].chat.path
        with suppress(ConfigError, ModelError):
            place = Endpoint(provider, model, path, f"[{provider}]", own, environ).key()[1]
            yield FoundModel(f"{provider}/{model}", place, "by the token", keyless=False)
