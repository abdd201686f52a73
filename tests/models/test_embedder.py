"""Which embedder is used, and what is said about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server import ModelServer
from wakebook.base.config import Config, Embedding, load, shipped
from wakebook.base.errors import ConfigError, ModelUnavailable
from wakebook.models.embedder import Choice, choose

KEY = "sk-very-secret-0123456789"


def chosen(environ: dict[str, str] | None = None, **settings: Any) -> Choice:
    return choose(Embedding(**settings), environ or {})


def test_by_default_nothing_leaves_the_machine() -> None:
    choice = chosen()
    assert choice.why == "builtin: nothing else is configured"
    assert choice.name == "builtin" and choice.embedder and not choice.embedder.remote
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "OLLAMA_HOST"):
        assert chosen({variable: KEY}).name == "builtin"


def test_auto_takes_a_key_of_its_own() -> None:
    choice = chosen({"WAKEBOOK_OPENAI_API_KEY": KEY})
    assert choice.why == "openai/text-embedding-3-small: WAKEBOOK_OPENAI_API_KEY is set"
    assert chosen({"WAKEBOOK_GEMINI_API_KEY": KEY}).name == "gemini/gemini-embedding-001"
    model = chosen({"WAKEBOOK_OPENAI_API_KEY": KEY}, model="text-embedding-3-large")
    assert model.name == "openai/text-embedding-3-large"


def test_auto_takes_what_the_settings_name(tmp_path: Path) -> None:
    served = chosen(base_url="http://127.0.0.1:8080/v1", model="bge-m3")
    assert served.name == "compatible/bge-m3@127.0.0.1:8080"
    assert "base_url names its server" in served.why
    plain = tmp_path / "plain"
    plain.mkdir()
    assert chosen(model=str(plain)).name.startswith("sentence-transformers/plain-")
    onnx = tmp_path / "mini" / "onnx"
    onnx.mkdir(parents=True)
    (onnx / "model.onnx").write_bytes(b"weights")
    before = chosen(model=str(onnx.parent))
    assert before.name.startswith("onnx/mini-") and "model is its folder" in before.why
    (onnx / "model.onnx").write_bytes(b"Weights")
    assert chosen(model=str(onnx.parent)).name != before.name


def test_a_provider_that_is_named_is_used_and_a_missing_key_is_said() -> None:
    choice = chosen({"OPENAI_API_KEY": KEY}, provider="openai")
    assert choice.why == "openai/text-embedding-3-small: [embedding] provider names it"
    without = chosen(provider="openai")
    assert "there is no key. Set WAKEBOOK_OPENAI_API_KEY" in without.why
    assert without.embedder
    with pytest.raises(ModelUnavailable, match="there is no key"):
        without.embedder.embed(["one"])


def test_none_is_a_choice() -> None:
    choice = chosen(provider="none")
    assert choice == Choice(None, "none", "none: [embedding] provider names it")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"provider": "opnai"}, "did you mean 'openai'"),
        ({"model": "text-embedding-3-large"}, r"model is set, but nothing says whom to ask"),
        ({"key_variable": "MY_KEY"}, "key_variable is set, but"),
        ({"provider": "compatible", "model": "m"}, "needs both base_url"),
        ({"provider": "onnx"}, "model is empty"),
    ],
)
def test_settings_that_do_not_fit_together(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chosen(**settings)


# --- keys --------------------------------------------------------------------------------


def test_a_key_file_is_only_for_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    file.chmod(0o640)
    choice = chosen(provider="openai", key_file=str(file))
    assert "chmod 600" in choice.why and KEY not in choice.why
    file.chmod(0o600)
    assert "cannot" not in chosen(provider="openai", key_file=str(file)).why
    with ModelServer() as server:
        fits: dict[str, Any] = {"base_url": server.url, "model": "m", "key_file": str(file)}
        embedder = chosen(provider="openai", **fits).embedder
        assert embedder
        embedder.embed(["one"])
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_keys_that_are_none(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch(0o600)
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"key_file": str(empty)}, "is empty"),
        ({"key_file": str(tmp_path / "absent")}, "cannot read the key"),
        ({"key_file": str(tmp_path)}, "cannot read the key"),
        ({"key_variable": "ABSENT"}, "ABSENT, which .* names, is not set"),
    )
    for settings, message in cases:
        embedder = chosen(provider="openai", **settings).embedder
        assert embedder
        with pytest.raises(ModelUnavailable, match=message):
            embedder.embed(["one"])
    spoilt = chosen({"OPENAI_API_KEY": f"{KEY} {KEY}"}, provider="openai")
    assert "is no key" in spoilt.why and KEY not in spoilt.why


# --- settings and start-up ---------------------------------------------------------------


def test_the_settings_survive_their_own_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(shipped().replace("# dimensions = 0", "dimensions = 0"))
    assert load(file) == Config()
    file.write_text("[embedding]\ndimensions = -1\n")
    with pytest.raises(ConfigError, match="between 0 and"):
        load(file)
    file.write_text("[embedding]\nattempts = 0\n")
    with pytest.raises(ConfigError, match="between 1 and"):
        load(file)


def test_a_missing_library_is_named(tmp_path: Path) -> None:
    """In an interpreter without the optional libraries, whatever this one has."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from wakebook.base.config import Embedding\n"
        "from wakebook.base.errors import ModelUnavailable\n"
        "from wakebook.models.embedder import choose\n"
        "for provider in ('onnx', 'sentence-transformers'):\n"
        "    try: choose(Embedding(provider=provider, model='m'), {}).embedder.embed(['a'])\n"
        "    except ModelUnavailable as error: print(error)\n"
    )
    source = Path(__file__).parents[2] / "src"
    command = [sys.executable, "-I", "-S", "-c", code, str(source)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "pip install 'wakebook[onnx]'" in told
    assert "pip install 'wakebook[sentence-transformers]'" in told


def test_choosing_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from wakebook.base.config import Embedding\n"
        "from wakebook.models.embedder import choose\n"
        "choose(Embedding(), {}); choose(Embedding(provider='ollama'), {})\n"
        "print([m for m in ('numpy', 'sqlite3', 'http.client', 'ssl') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert told.stdout.strip() == "[]"
