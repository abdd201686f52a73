"""A peer's own process: `python -m bench.peers.run NAME FOLDER MODULE:CLASS`, started by `start`.

A request is a line of JSON on standard input, its answer a line on standard output; whatever
the peer prints goes to standard error. The first line is the peer's version, or what is missing.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers import Doc, how_to_install
from bench.peers.systems import Peer, Vectors, open_peer, stored


def main(name: str, folder: Path, embedder: str) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(**what: Any) -> None:
        print(json.dumps(what), file=answers, flush=True)

    module, _, made = embedder.partition(":")
    try:
        given = getattr(importlib.import_module(module), made)()  # a peer may change sys.path
    except Exception as problem:
        answer(error=said(problem))
        raise
    try:
        peer = open_peer(name, folder / "store", embedding(given))
    except ModuleNotFoundError as missing:
        answer(missing=f"{how_to_install(name)} ({missing})")
        return
    except Exception as problem:
        answer(error=said(problem))
        raise
    answer(version=peer.version, note=peer.note)
    for line in sys.stdin:
        try:
            answer(**done(peer, folder, json.loads(line)))
        except Exception as problem:
            answer(error=said(problem))
            raise
    peer.close()


def done(peer: Peer, folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    match request["do"]:
        case "add":
            documents = [Doc(*document) for document in request["documents"]]
            gc.collect()
            start = time.perf_counter()
            peer.add(documents)
            seconds = time.perf_counter() - start
            peer.search("ready", 1)  # whatever it loads for its first search is loaded now
            return {"seconds": seconds}
        case "search":
            start = time.perf_counter()
            ids = peer.search(request["question"], request["k"])
            return {"seconds": time.perf_counter() - start, "ids": ids}
        case "size":
            return {"bytes": stored(folder / "store")}
        case "memory":
            return {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
        case unknown:
            raise ValueError(unknown)


def embedding(given: Any) -> Vectors:
    def embed(texts: Sequence[str]) -> Any:
        numpy = importlib.import_module("numpy")
        return numpy.asarray(given.embed(list(texts)), dtype="float32")

    return embed


def said(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
