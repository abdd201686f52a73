"""Embedders that run on this machine from a model's files. Their libraries are optional.

ONNX: a folder with model.onnx (or onnx/model.onnx) and tokenizer.json, as Hugging Face has them.
sentence-transformers: a folder, or a name at the hub, which is fetched when you are online.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from wakebook.base import config, text
from wakebook.base.decode import loads
from wakebook.base.errors import BadModelOutput, ConfigError, ModelUnavailable

BATCH = 32
LONGEST = 512  # tokens, where the model's files do not say
SAMPLE = 1 << 16


def make(provider: str, settings: config.Embedding) -> Onnx | SentenceTransformers:
    if not settings.model:
        raise ConfigError(
            f"[embedding] provider is {provider}, but model is empty. Set it to the model's folder."
        )
    return Onnx(settings) if provider == "onnx" else SentenceTransformers(settings)


def onnx_file(folder: Path) -> Path | None:
    files = (folder / "model.onnx", folder / "onnx" / "model.onnx")
    return next((path for path in files if path.is_file()), None)


class Onnx:
    remote = True  # not remote, but slow enough to keep what it made

    def __init__(self, settings: config.Embedding) -> None:
        self.settings = settings
        self._folder = config.expand(settings.model)
        self.name = _named("onnx", self._folder, settings)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        numpy = _library("numpy", "onnx")
        prepared = _prepared(texts, self.settings, query)
        tokenizer, session, by_first = self._loaded
        by_length = sorted(range(len(prepared)), key=lambda at: len(prepared[at]))
        rows: dict[int, Any] = {}
        for start in range(0, len(by_length), BATCH):
            places = by_length[start : start + BATCH]
            encoded = tokenizer.encode_batch([prepared[at] for at in places])
            try:
                pooled = _run(numpy, session, encoded, by_first)
            except Exception as error:  # noqa: BLE001 - the library raises classes of its own
                raise self._unusable(error) from None
            rows.update(zip(places, pooled, strict=True))
        return _checked(numpy, [rows[at] for at in range(len(texts))], texts, self)

    @cached_property
    def _loaded(self) -> tuple[Any, Any, bool]:
        """Tokenizer, session, and whether the first token stands for the whole text."""
        onnxruntime = _library("onnxruntime", "onnx")
        tokenizers = _library("tokenizers", "onnx")
        model = onnx_file(self._folder)
        words = self._folder / "tokenizer.json"
        if not model or not words.is_file():
            raise ModelUnavailable(
                f"{self._folder} holds no ONNX model: model.onnx (or onnx/model.onnx) and "
                "tokenizer.json must be there. Correct [embedding] model."
            )
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(words))
            tokenizer.enable_truncation(min(_longest(self._folder), self.settings.max_tokens))
            tokenizer.enable_padding()
            session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - the libraries raise classes of their own
            raise self._unusable(error) from None
        pooling = _json(self._folder / "1_Pooling" / "config.json")
        return tokenizer, session, bool(pooling.get("pooling_mode_cls_token"))

    def _unusable(self, error: Exception) -> ModelUnavailable:
        return ModelUnavailable(f"The model in {self._folder} does not run: {_line(error)}.")


def _run(numpy: Any, session: Any, encoded: Any, by_first: bool) -> Any:
    """One row a text: the model's own sentence vector, or its tokens pooled."""
    mask = numpy.array([item.attention_mask for item in encoded], dtype="int64")
    ids = numpy.array([item.ids for item in encoded], dtype="int64")
    types = numpy.array([item.type_ids for item in encoded], dtype="int64")
    known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    names = [item.name for item in session.get_outputs()]
    wanted = "sentence_embedding" if "sentence_embedding" in names else names[0]
    feed = {item.name: known[item.name] for item in session.get_inputs()}
    output = session.run([wanted], feed)[0]
    if output.ndim == 2:
        return output
    if by_first:
        return output[:, 0]
    weights = mask[:, :, None].astype("float32")
    return (output * weights).sum(axis=1) / numpy.maximum(weights.sum(axis=1), 1e-9)


class SentenceTransformers:
    remote = True

    def __init__(self, settings: config.Embedding) -> None:
        self.settings, self._place = settings, settings.model
        self._model: Any = None
        self._dead = ""
        folder = config.expand(settings.model)
        self.name = text.identity(f"sentence-transformers/{settings.model}", settings)
        if folder.is_dir():
            self._place = str(folder)
            self.name = _named("sentence-transformers", folder, settings)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        model = self._model = self._model or self._load(query)
        prepared = _prepared(texts, self.settings, query)
        try:
            rows = model.encode(prepared, batch_size=BATCH, show_progress_bar=False)
        except Exception as error:  # noqa: BLE001 - torch raises classes of its own
            raise ModelUnavailable(f"{self.name} does not run: {_line(error)}.") from None
        return _checked(_library("numpy", "sentence-transformers"), rows, texts, self)

    def _load(self, query: bool) -> Any:
        """From this machine, or else from the hub, but not while a person waits."""
        if self._dead:
            raise ModelUnavailable(self._dead)
        library = _library("sentence_transformers", "sentence-transformers")
        dimensions = self.settings.dimensions or None
        reason = "it is not on this machine yet"
        for here in (True,) if query else (True, False):
            try:
                return library.SentenceTransformer(
                    self._place, truncate_dim=dimensions, local_files_only=here
                )
            except Exception as error:  # noqa: BLE001 - the hub raises classes of its own
                reason = reason if here else _line(error)
        self._dead = (
            f"sentence-transformers cannot load {self._place}: {reason}. "
            "Correct [embedding] model, or index once while you are online, so that it is fetched."
        )
        raise ModelUnavailable(self._dead)


def _library(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ModelUnavailable(
            f"[embedding] needs {name}, which is not installed. "
            f"Run `pip install 'wakebook[{extra}]'`."
        ) from None


def _prepared(texts: Sequence[str], settings: config.Embedding, query: bool) -> list[str]:
    prefix = text.prefix(settings.model, settings, query)
    return [text.cut(prefix + text.clean(item), settings.max_tokens) for item in texts]


def _checked(
    numpy: Any, rows: Any, texts: Sequence[str], made_by: Onnx | SentenceTransformers
) -> Any:
    """Rows of unit length, as many numbers as wanted; all zeros for an empty text."""
    if not len(texts):
        return numpy.zeros((0, 0), dtype="float32")
    matrix = numpy.asarray(rows, dtype="float32")[:, : made_by.settings.dimensions or None]
    if not numpy.isfinite(matrix).all():
        raise BadModelOutput(
            f"{made_by.name}: the model answers with NaN or infinity. "
            "Set [embedding] model or provider to another one."
        )
    full = numpy.array([bool(item.strip()) for item in texts], dtype="float32")
    lengths = numpy.linalg.norm(matrix, axis=1)
    return matrix * (full / numpy.maximum(lengths, 1e-12))[:, None]


def _named(kind: str, folder: Path, settings: config.Embedding) -> str:
    """The folder's name with a mark of what is in it: another model there is another name."""
    mark = hashlib.sha256()
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    sizes = [path.stat().st_size for path in files]
    for path, size in zip(files, sizes, strict=True):
        mark.update(f"{path.relative_to(folder)}\0{size}\0".encode())
    if files:
        most = max(sizes)
        with files[sizes.index(most)].open("rb") as stream:  # the weights, from three places
            for place in (0, most // 2, max(0, most - SAMPLE)):
                stream.seek(place)
                mark.update(stream.read(SAMPLE))
    return text.identity(f"{kind}/{folder.name}-{mark.hexdigest()[:8]}", settings)


def _longest(folder: Path) -> int:
    first = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    second = _json(folder / "config.json").get("max_position_embeddings")
    return next((n for n in (first, second) if isinstance(n, int) and n > 8), LONGEST)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
