"""Other memories and search systems, run beside Wakebook on the same documents.

    python bench/peers/setup.py DIR [NAME ...]     an environment for each peer, once

    from bench.peers import Doc, NotInstalled, start
    with start("mem0", folder, DIR) as peer:
        seconds = peer.add(documents)
        found = peer.search("When did Caroline move?", 10)   # found.ids, found.seconds

Their dependencies exclude each other, so each peer is a process with an environment of its own
(`run.py`), which embeds with the same table as Wakebook. The times are taken inside it, around
the peer's own call: what is passed between the processes does not count, embedding does.
A peer is set up as its documentation says, with its hybrid search if it has one that works
without a server. It sees an empty home and is told to send nothing home.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EMBEDDER = "wakebook.models.builtin:Builtin"
ENVIRONMENTS = {
    "mem0": "mem0",
    "memsearch": "memsearch",
    "mempalace": "mempalace",
    "mempalace-union": "mempalace",
    "chromadb": "chromadb",
    "txtai": "txtai",
    "bm25s": "bm25s",
    "cosine": "bm25s",  # all it needs is numpy
    "fts5": "",  # nothing
}
SILENT = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "False",
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime, which fastembed loads, is on by default
    "POSTHOG_DISABLED": "1",
    "TRANSFORMERS_OFFLINE": "1",
}


class NotInstalled(Exception):
    """The peer's packages are not there; the text says how to get them."""


class Failed(Exception):
    """The peer could not do what it was asked."""


class Doc(NamedTuple):
    id: str
    text: str
    session: str
    at: str  # ISO 8601


class Found(NamedTuple):
    ids: list[str]  # best first
    seconds: float


class Running:
    """A peer at work in a process of its own."""

    def __init__(self, name: str, folder: Path, process: subprocess.Popen[str]) -> None:
        self.name = name
        self._folder = folder
        self._process = process
        about = self._answer()
        self.version: str = about["version"]
        self.note: str = about["note"]

    def add(self, documents: Sequence[Doc]) -> float:
        """The seconds that it took. All at once is quickest: some build their index anew."""
        seconds: float = self._ask(do="add", documents=documents)["seconds"]
        return seconds

    def search(self, question: str, k: int) -> Found:
        return Found(**self._ask(do="search", question=question, k=k))

    def size(self) -> int:
        """Bytes on disk."""
        size: int = self._ask(do="size")["bytes"]
        return size

    def memory(self) -> int:
        """The most bytes of memory that the process has used."""
        memory: int = self._ask(do="memory")["bytes"]
        return memory

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"{self.name} has stopped:\n{self._last_words()}") from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Failed(f"{self.name} has stopped:\n{self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "missing" in answer:
            raise NotInstalled(answer["missing"])
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        return (self._folder / "log").read_text(errors="replace")[-2000:]


@contextmanager
def start(
    name: str,
    folder: Path,
    environments: Path | None = None,
    *,
    embedder: str = EMBEDDER,
    threads: int = 1,
) -> Iterator[Running]:
    """Peer `name` with an empty store in `folder`.

    `environments` is the folder that setup.py made; without it, the running Python is used.
    `embedder` is `module:class`, with `embed(texts)` that gives vectors of unit length.
    """
    folder = folder.resolve()
    (folder / "tmp").mkdir(parents=True)
    python = interpreter(name, environments)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [str(python), "-m", "bench.peers.run", name, str(folder), embedder],
            cwd=folder,
            env=surroundings(folder, threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
        )
    try:
        running = Running(name, folder, process)
        try:
            yield running
        finally:
            running.close()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def interpreter(name: str, environments: Path | None) -> Path:
    environment = ENVIRONMENTS[name]
    if environments is None or not environment:
        return Path(sys.executable)
    python = environments.absolute() / environment / "bin" / "python"
    if not python.exists():
        raise NotInstalled(how_to_install(name))
    return python


def surroundings(folder: Path, threads: int) -> dict[str, str]:
    """Nothing of the user's but the path, and the addresses of Wakebook and of this package."""
    count = str(threads)
    added = os.environ.get("PYTHONPATH", "")
    return {
        **SILENT,
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "XDG_CACHE_HOME": str(folder / "home" / ".cache"),
        "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
        "XDG_DATA_HOME": str(folder / "home" / ".local" / "share"),
        "XDG_STATE_HOME": str(folder / "home" / ".local" / "state"),
        "MEM0_DIR": str(folder / "home" / ".mem0"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "src"), added])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "RAYON_NUM_THREADS": count,
        "TOKENIZERS_PARALLELISM": "false",
    }


def how_to_install(name: str) -> str:
    return f"{name} is not installed: pip install -r bench/peers/{ENVIRONMENTS[name]}.txt"
