"""The peers: each as its documentation says, with a given embedder in place of its own.

Everything is imported when it is used: only one of them is installed where this runs.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from itertools import groupby
from os import environ
from pathlib import Path
from typing import Any, Protocol

from bench.peers import Doc

Vectors = Callable[[Sequence[str]], Any]  # texts -> float32 array, rows of unit length


class Peer(Protocol):
    version: str
    note: str

    def add(self, documents: Sequence[Doc]) -> None: ...

    def search(self, question: str, k: int) -> list[str]:
        """The ids of the k best documents, best first."""

    def close(self) -> None: ...


def open_peer(name: str, folder: Path, embed: Vectors) -> Peer:
    folder.mkdir(parents=True)
    return PEERS[name](folder, embed)


def batches(documents: Sequence[Doc], size: int = 1000) -> Iterator[Sequence[Doc]]:
    return (documents[first : first + size] for first in range(0, len(documents), size))


def stored(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Pieces:
    """The first k documents of a search that finds pieces of documents."""

    def __init__(self) -> None:
        self._times = 1

    def first(self, ask: Callable[[int], Sequence[str]], k: int) -> list[str]:
        while True:
            pieces = ask(k * self._times)
            ids = list(dict.fromkeys(pieces))
            if len(ids) >= k or len(pieces) < k * self._times:
                return ids[:k]
            self._times *= 2


# --- words only ----------------------------------------------------------------------


class Fts5:
    """SQLite's full-text search: any of the words, ranked by its bm25()."""

    def __init__(self, folder: Path, embed: Vectors) -> None:
        self.version = sqlite3.sqlite_version
        self.note = "words only: OR of all words, porter stemming"
        self._db = sqlite3.connect(folder / "fts5.sqlite")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(
            "CREATE VIRTUAL TABLE docs USING fts5(id UNINDEXED, text, tokenize='porter unicode61')"
        )

    def add(self, documents: Sequence[Doc]) -> None:
        with self._db:
            rows = [(doc.id, doc.text) for doc in documents]
            self._db.executemany("INSERT INTO docs VALUES (?, ?)", rows)

    def search(self, question: str, k: int) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        if not words:
            return []
        sql = "SELECT id FROM docs WHERE docs MATCH ? ORDER BY rank LIMIT ?"
        return [id for (id,) in self._db.execute(sql, (words, k))]

    def close(self) -> None:
        self._db.close()


class Bm25s:
    """bm25s, which has no way to add to an index: it is built anew each time."""

    def __init__(self, folder: Path, embed: Vectors) -> None:
        self._bm25s = importlib.import_module("bm25s")
        self._stemmer = importlib.import_module("Stemmer").Stemmer("english")
        self.version = version("bm25s")
        self.note = "words only: Lucene's BM25, English stop words and stemming"
        self._folder = folder
        self._documents: list[Doc] = []

    def add(self, documents: Sequence[Doc]) -> None:
        self._documents += documents
        self._index = self._bm25s.BM25()
        texts = self._tokens([doc.text for doc in self._documents])
        self._index.index(texts, show_progress=False)
        self._index.save(self._folder, corpus=[doc._asdict() for doc in self._documents])

    def search(self, question: str, k: int) -> list[str]:
        k = min(k, len(self._documents))
        found = self._index.retrieve(self._tokens([question]), k=k, show_progress=False)
        return [
            self._documents[row].id
            for row, score in zip(found.documents[0], found.scores[0], strict=True)
            if score > 0
        ]

    def close(self) -> None: ...

    def _tokens(self, texts: list[str]) -> Any:
        return self._bm25s.tokenize(
            texts, stopwords="en", stemmer=self._stemmer, show_progress=False
        )


# --- vectors only --------------------------------------------------------------------


class Cosine:
    """Every vector compared: what the embedder finds by itself."""

    def __init__(self, folder: Path, embed: Vectors) -> None:
        self._numpy = importlib.import_module("numpy")
        self.version = version("numpy")
        self.note = "vectors only: exact, numpy"
        self._folder = folder
        self._embed = embed
        self._ids: list[str] = []
        self._vectors = embed([""])[:0]

    def add(self, documents: Sequence[Doc]) -> None:
        self._ids += [doc.id for doc in documents]
        added = self._embed([doc.text for doc in documents])
        self._vectors = self._numpy.concatenate([self._vectors, added])
        self._numpy.save(self._folder / "vectors.npy", self._vectors)
        (self._folder / "ids.json").write_text(json.dumps(self._ids))

    def search(self, question: str, k: int) -> list[str]:
        scores = self._vectors @ self._embed([question])[0]
        return [self._ids[row] for row in self._numpy.argsort(-scores, kind="stable")[:k]]

    def close(self) -> None: ...


class Chroma:
    """A persistent collection; the hybrid search of Chroma is for its cloud only."""

    def __init__(self, folder: Path, embed: Vectors) -> None:
        chromadb = importlib.import_module("chromadb")
        self.version = version("chromadb")
        self.note = "vectors only: HNSW, cosine"

        class Given(chromadb.EmbeddingFunction):  # type: ignore[misc, name-defined]
            def __init__(self) -> None: ...

            def __call__(self, input: Any) -> Any:
                return list(embed(input))

            @staticmethod
            def name() -> str:
                return "given"

            def get_config(self) -> dict[str, Any]:
                return {}

            @staticmethod
            def build_from_config(config: dict[str, Any]) -> Any:
                return Given()

        self._client = chromadb.PersistentClient(str(folder))
        self._collection = self._client.create_collection(
            "documents",
            embedding_function=Given(),
            configuration={"hnsw": {"space": "cosine"}},
        )
        embed(["ready"])

    def add(self, documents: Sequence[Doc]) -> None:
        for batch in batches(documents):
            self._collection.add(
                ids=[doc.id for doc in batch],
                documents=[doc.text for doc in batch],
                metadatas=[{"session": doc.session, "at": doc.at} for doc in batch],
            )

    def search(self, question: str, k: int) -> list[str]:
        found = self._collection.query(query_texts=[question], n_results=k)
        return list(found["ids"][0])

    def close(self) -> None:
        self._client.close()


# --- both ----------------------------------------------------------------------------


class Txtai:
    """An embeddings database with `hybrid=True`, saved each time."""

    def __init__(self, folder: Path, embed: Vectors) -> None:
        txtai = importlib.import_module("txtai")
        self.version = version("txtai")
        self.note = "hybrid: Faiss and BM25, half and half"

        def transform(texts: Sequence[str]) -> Any:
            return embed(texts)

        self._embeddings = txtai.Embeddings(
            method="external", transform=transform, hybrid=True, content=True
        )
        self._folder = folder
        self._begun = False
        embed(["ready"])

    def add(self, documents: Sequence[Doc]) -> None:
        rows = [(doc.id, {"text": doc.text, "session": doc.session}) for doc in documents]
        (self._embeddings.upsert if self._begun else self._embeddings.index)(rows)
        self._embeddings.save(str(self._folder / "index"))
        self._begun = True

    def search(self, question: str, k: int) -> list[str]:
        return [row["id"] for row in self._embeddings.search(question, k)]

    def close(self) -> None:
        self._embeddings.close()


class Mem0:
    """Verbatim (`infer=False`) in Qdrant on disk, through mem0's LangChain embedder.

    mem0 falls back to vectors alone, and says so in its log only, if fastembed or its model
    "Qdrant/bm25" is missing. That model is a list of stop words: NLTK's, which bm25s has too.
    The lemmas need spaCy's en_core_web_sm, which no package index has; fastembed stems.
    Entities are linked to memories that a language model wrote, not to verbatim ones.
    """

    USER = "bench"

    def __init__(self, folder: Path, embed: Vectors) -> None:
        self._cache_stop_words(folder.parent / "tmp" / "fastembed_cache")
        mem0 = importlib.import_module("mem0")
        embeddings = importlib.import_module("langchain.embeddings.base").Embeddings
        self.version = version("mem0ai")
        self.note = "hybrid: Qdrant (in process) and BM25, infer=False, no lemmas"

        class Given(embeddings):  # type: ignore[misc, valid-type]
            def embed_documents(self, texts: list[str]) -> Any:
                return embed(texts).tolist()

            def embed_query(self, text: str) -> Any:
                return embed([text])[0].tolist()

        store = {
            "collection_name": "bench",
            "embedding_model_dims": embed(["ready"]).shape[1],
            "path": str(folder / "qdrant"),
            "on_disk": True,
        }
        unused = {"api_key": "unused", "openai_base_url": "http://127.0.0.1:9/v1"}
        self._memory = mem0.Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {"provider": "langchain", "config": {"model": Given()}},
                "llm": {"provider": "openai", "config": unused},
                "history_db_path": str(folder / "history.db"),
            }
        )
        if self._memory.vector_store.keyword_search("ready", filters={"user_id": "x"}) is None:
            raise RuntimeError("mem0 has no keyword search here: see its log")

    def add(self, documents: Sequence[Doc]) -> None:
        for doc in documents:
            about = {"doc": doc.id, "session": doc.session, "at": doc.at}
            self._memory.add(doc.text, user_id=self.USER, metadata=about, infer=False)

    def search(self, question: str, k: int) -> list[str]:
        found = self._memory.search(question, top_k=k, filters={"user_id": self.USER})
        return [memory["metadata"]["doc"] for memory in found["results"]]

    def close(self) -> None:
        self._memory.close()

    def _cache_stop_words(self, cache: Path) -> None:
        words = importlib.import_module("bm25s.stopwords").STOPWORDS_EN_PLUS
        bm25 = importlib.import_module("fastembed.sparse.bm25")
        model = cache / "models--Qdrant--bm25"
        revision = "0" * 40
        for file in bm25.supported_bm25_models[0].additional_files:
            path = model / "snapshots" / revision / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(words) if file == "english.txt" else "")
        (path.parent / "config.json").write_text("{}")
        (model / "refs").mkdir()
        (model / "refs" / "main").write_text(revision)


class MemSearch:
    """Markdown files, one a session with a heading for each document, in Milvus Lite.

    memsearch knows its embedders by name and has no name for "yours": one is added to its
    table, so that no call over the network counts in its times. Its database is closed after
    indexing, as `memsearch index` does: Milvus Lite is 15 times slower until it has flushed.
    """

    def __init__(self, folder: Path, embed: Vectors) -> None:
        self._memsearch = importlib.import_module("memsearch")
        embeddings = importlib.import_module("memsearch.embeddings")
        self.version = version("memsearch")
        self.note = "hybrid: Milvus Lite, FLAT and BM25, reciprocal rank fusion"
        size = embed(["ready"]).shape[1]

        class Given:
            model_name = "given"
            dimension = size
            batch_size = 256

            async def embed(self, texts: list[str]) -> Any:
                return embed(texts).tolist()

        globals()["Given"] = Given
        embeddings._PROVIDERS["given"] = (__name__, "Given")
        self._files = folder / "memory"
        self._files.mkdir()
        self._database = str(folder / "milvus.db")
        self._loop = asyncio.new_event_loop()
        self._memory = self._open()
        self._loop.run_until_complete(self._memory.index())  # of nothing: starts Milvus Lite
        self._lines: dict[str, tuple[list[int], list[str]]] = {}  # file -> first lines, ids
        self._paths: dict[str, Path] = {}
        self._pieces = Pieces()

    def add(self, documents: Sequence[Doc]) -> None:
        for session, docs in groupby(documents, lambda doc: doc.session):
            path = self._paths.get(session)
            if path is None:
                path = self._paths[session] = self._files / f"{len(self._paths):06}.md"
                path.write_text(f"# {session}\n", encoding="utf-8")
            text = path.read_text(encoding="utf-8")
            firsts, ids = self._lines.setdefault(str(path), ([], []))
            for doc in docs:
                text += "\n"
                firsts.append(text.count("\n") + 1)
                ids.append(doc.id)
                text += f"## {doc.at[11:16]}\n\n{doc.text}\n"
            path.write_text(text, encoding="utf-8")
        if self._memory is None:
            self._memory = self._open()
        self._loop.run_until_complete(self._memory.index())
        self._memory.close()
        self._memory = None

    def search(self, question: str, k: int) -> list[str]:
        return self._pieces.first(lambda pieces: self._found(question, pieces), k)

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()

    def _open(self) -> Any:
        return self._memsearch.MemSearch(
            [self._files], embedding_provider="given", milvus_uri=self._database
        )

    def _found(self, question: str, k: int) -> list[str]:
        if self._memory is None:
            self._memory = self._open()
        found = self._loop.run_until_complete(self._memory.search(question, top_k=k))
        return [self._document(chunk["source"], chunk["start_line"]) for chunk in found]

    def _document(self, file: str, line: int) -> str:
        firsts, ids = self._lines[file]
        return ids[bisect_right(firsts, line) - 1]


class MemPalace:
    """Drawers with the metadata that its miners give them, and `search_memories`.

    MemPalace takes embedders by name or an endpoint on the network. Its function for an
    endpoint is replaced by one that embeds here, so that no call over the network counts in
    its times. A text that is longer than a drawer is cut as its `add_drawer` tool cuts it.
    """

    candidates = "vector"

    def __init__(self, folder: Path, embed: Vectors) -> None:
        self._set_up(folder.parent / "home" / "mempalace")
        embedding: Any = importlib.import_module("mempalace.embedding")
        palace = importlib.import_module("mempalace.palace")
        self._search = importlib.import_module("mempalace.searcher").search_memories
        self._drawer_size = importlib.import_module("mempalace.config").MempalaceConfig().chunk_size
        self.version = version("mempalace")
        self.note = f"hybrid: Chroma, ranked again with BM25, candidates by {self.candidates}"

        class Given(embedding.OpenAICompatEmbeddingFunction):  # type: ignore[misc]
            def __call__(self, input: Any) -> Any:
                return list(embed(input))

        embedding.OpenAICompatEmbeddingFunction = Given
        embed(["ready"])
        self._folder = str(folder)
        self._drawers = palace.get_collection(self._folder)
        self._counts: Counter[str] = Counter()
        self._pieces = Pieces()

    def add(self, documents: Sequence[Doc]) -> None:
        for batch in batches(documents):
            self._add(batch)

    def search(self, question: str, k: int) -> list[str]:
        return self._pieces.first(lambda pieces: self._found(question, pieces), k)

    def close(self) -> None: ...

    def _add(self, documents: Sequence[Doc]) -> None:
        ids, texts, about = [], [], []
        for doc in documents:
            size = self._drawer_size
            pieces = [doc.text[at : at + size] for at in range(0, len(doc.text), size)] or [""]
            for number, piece in enumerate(pieces):
                drawer = {
                    "wing": "bench",
                    "room": "conversations",
                    "source_file": doc.session,
                    "chunk_index": self._counts[doc.session],
                    "added_by": "bench",
                    "filed_at": doc.at,
                }
                self._counts[doc.session] += 1
                if len(pieces) > 1:
                    drawer["parent_drawer_id"] = doc.id
                ids.append(doc.id if len(pieces) == 1 else f"{doc.id}_chunk_{number:06}")
                texts.append(piece)
                about.append(drawer)
        self._drawers.upsert(ids=ids, documents=texts, metadatas=about)

    def _found(self, question: str, k: int) -> list[str]:
        found = self._search(
            question, self._folder, n_results=k, candidate_strategy=self.candidates
        )
        if "error" in found:
            raise RuntimeError(found["error"])
        return [drawer["drawer_id"] for drawer in found["results"]]

    def _set_up(self, folder: Path) -> None:
        environ["MEMPALACE_CONFIG_DIR"] = str(folder)
        environ["MEMPALACE_EMBEDDING_MODEL"] = "openai-compat"
        environ["MEMPALACE_EMBEDDING_API_URL"] = "http://127.0.0.1:9"
        environ["MEMPALACE_EMBEDDING_API_MODEL"] = "given"


class MemPalaceUnion(MemPalace):
    """The same with the candidates of its word search added, which is off by default."""

    candidates = "union"


PEERS: dict[str, Callable[[Path, Vectors], Peer]] = {
    "mem0": Mem0,
    "memsearch": MemSearch,
    "mempalace": MemPalace,
    "mempalace-union": MemPalaceUnion,
    "chromadb": Chroma,
    "txtai": Txtai,
    "bm25s": Bm25s,
    "cosine": Cosine,
    "fts5": Fts5,
}
