"""Embedders that ask the scripted server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.server import ModelServer, unit, vector
from wakebook.base.config import Embedding
from wakebook.models.model import OverHttp
from wakebook.models.transport import Patience

KEY = "sk-very-secret-0123456789"
QUICK = Patience(attempts=3, seconds=20.0, delay=0.01)
HASTY = Patience(attempts=9, seconds=0.1, delay=0.01)  # for servers that hang
PATHS = {"openai": "/v1", "compatible": "/v1", "gemini": "/v1beta", "ollama": ""}


def asking(
    server: ModelServer,
    provider: str = "openai",
    environ: Mapping[str, str] | None = None,
    patience: Patience = QUICK,
    **settings: Any,
) -> OverHttp:
    settings = {"model": "m", "base_url": server.url + PATHS[provider]} | settings
    environ = {"OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY} if environ is None else environ
    return OverHttp(provider, Embedding(provider=provider, **settings), environ, patience)


def expected(*texts: str) -> list[Any]:
    return [pytest.approx(unit(vector(text))) for text in texts]
