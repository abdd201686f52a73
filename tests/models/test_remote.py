"""The providers' wire formats, batches and settings, over real HTTP."""

from __future__ import annotations

import traceback

import pytest

from tests.models.asking import KEY, PATHS, asking, expected
from tests.server import Answer, ModelServer, Status
from wakebook.base import text
from wakebook.base.config import Embedding
from wakebook.base.errors import ConfigError, ModelError, ModelUnavailable
from wakebook.models import transport
from wakebook.models.model import OverHttp

# --- what goes over the wire -------------------------------------------------------------


@pytest.mark.parametrize("provider", PATHS)
def test_every_provider_answers_in_order(server: ModelServer, provider: str) -> None:
    embedder = asking(server, provider)
    assert embedder.embed(["one", "two", "three"]) == expected("one", "two", "three")
    assert embedder.embed([]) == []
    assert len(server.requests) == 1


def test_openai(server: ModelServer) -> None:
    asking(server, dimensions=8).embed(["one"])
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "m",
        "input": ["one"],
        "encoding_format": "float",
        "dimensions": 8,
    }


def test_gemini_is_told_what_a_text_is_for(server: ModelServer) -> None:
    embedder = asking(server, "gemini", dimensions=8, model="models/gemini-embedding-001")
    embedder.embed(["one"])
    embedder.embed(["one"], query=True)
    document, query = server.requests
    assert document.path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert document.headers["x-goog-api-key"] == KEY
    assert document.body["requests"] == [
        {
            "model": "models/gemini-embedding-001",
            "taskType": "RETRIEVAL_DOCUMENT",
            "outputDimensionality": 8,
            "content": {"parts": [{"text": "one"}]},
        }
    ]
    assert query.body["requests"][0]["taskType"] == "RETRIEVAL_QUERY"


def test_a_model_with_an_odd_name(server: ModelServer) -> None:
    asking(server, "gemini", model="größe 1/x").embed(["one"])
    assert server.requests[0].path.endswith("/models/gr%C3%B6%C3%9Fe%201%2Fx:batchEmbedContents")


def test_ollama_needs_no_key_and_is_found_where_its_variable_says(server: ModelServer) -> None:
    host = server.url.removeprefix("http://")
    embedder = asking(server, "ollama", {"OLLAMA_HOST": host}, base_url="", model="")
    assert embedder.name == "ollama/nomic-embed-text"
    embedder.embed(["one"])
    embedder.embed(["one"], query=True)
    assert server.texts == [["search_document: one"], ["search_query: one"]]
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("value", "base"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":1234", "http://127.0.0.1:1234"),
        ("gpu.local:99", "http://gpu.local:99"),
        ("https://gpu.local/", "https://gpu.local:443"),
    ],
)
def test_the_ways_to_write_ollamas_host(value: str, base: str) -> None:
    assert transport.ollama(value) == base


def test_a_compatible_server_gets_only_the_key_that_is_meant_for_it(server: ModelServer) -> None:
    asking(server, "compatible").embed(["one"])
    assert "authorization" not in server.requests[0].headers
    asking(server, "compatible", {"MY_KEY": KEY}, key_variable="MY_KEY").embed(["one"])
    assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"


def test_prefixes_are_sent_and_stand_in_the_name(server: ModelServer) -> None:
    embedder = asking(server, query_prefix="query: ", document_prefix="passage: ")
    embedder.embed(["one"])
    embedder.embed(["one"], query=True)
    assert server.texts == [["passage: one"], ["query: one"]]
    assert embedder.name not in (asking(server).name, asking(server, query_prefix="q: ").name)


def test_answers_out_of_order_are_put_in_order(server: ModelServer) -> None:
    server.script(Answer(backwards=True))
    assert asking(server).embed(["one", "two"]) == expected("one", "two")


def test_an_answer_in_chunks(server: ModelServer) -> None:
    server.script(Answer(chunked=True))
    assert asking(server).embed(["one", "two"]) == expected("one", "two")


# --- batches -----------------------------------------------------------------------------


def test_batches_by_number_and_by_tokens(server: ModelServer) -> None:
    asking(server, batch_size=2).embed(list("abcde"))
    assert server.texts == [["a", "b"], ["c", "d"], ["e"]]
    asking(server, batch_tokens=3).embed(["a b", "c", "d e f g h", "i"])
    assert server.texts[3:] == [["a b", "c"], ["d e f g h"], ["i"]]


def test_a_long_text_is_cut(server: ModelServer) -> None:
    asking(server, max_tokens=3).embed(["one two three four", "kurz", "日本語です"])
    assert server.texts == [["one two thre", "kurz", "日本語"]]
    assert text.tokens("one two three four") == 5


def test_empty_texts_are_not_sent(server: ModelServer) -> None:
    rows = asking(server).embed(["", "one", " \n", "\0"])
    assert server.texts == [["one"]]
    assert rows == [[0.0] * 8, *expected("one"), [0.0] * 8, [0.0] * 8]
    assert asking(server).embed([""]) == [[0.0] * 8]


def test_half_a_character_is_no_failure(server: ModelServer) -> None:
    asking(server).embed(["a\ud800b"])
    assert server.texts == [["a?b"]]


@pytest.mark.parametrize(
    "refusal",
    [
        Status(413),
        Status(400, "This model's maximum context length is 8192 tokens, however you sent 9000."),
        Status(422, "batch size 64 > maximum allowed batch size 32"),
        Status(500, "input is too large to process. increase the physical batch size"),
    ],
)
def test_a_batch_that_is_too_large_is_halved(server: ModelServer, refusal: Status) -> None:
    server.script(refusal)
    assert asking(server).embed(list("abcd")) == expected(*"abcd")
    assert server.texts == [list("abcd"), ["a", "b"], ["c", "d"]]


def test_it_remembers_how_much_fits() -> None:
    with ModelServer(most=2) as server:
        embedder = asking(server)
        embedder.embed(list("abcd"))
        assert embedder.embed(list("efgh")) == expected(*"efgh")
        assert server.texts[3:] == [["e", "f"], ["g", "h"]]


def test_a_single_text_that_is_too_large_is_cut(server: ModelServer) -> None:
    server.script(Status(400, "too many tokens"))
    asking(server).embed(["x" * 400])
    assert server.texts == [["x" * 400], ["x" * 200]]


def test_a_server_that_finds_everything_too_large() -> None:
    with ModelServer(most=0) as server, pytest.raises(ModelUnavailable, match="short text"):
        asking(server).embed(["x" * 300])
    assert [len(one[0]) for one in server.texts] == [300, 150, 75]


# --- settings ----------------------------------------------------------------------------


def test_the_name_says_what_the_vectors_depend_on(server: ModelServer) -> None:
    host = server.url.removeprefix("http://")
    assert asking(server).name == f"openai/m@{host}"
    assert asking(server, dimensions=8).name == f"openai/m@{host}:8"
    assert OverHttp("openai", Embedding(), {}).name == "openai/text-embedding-3-small"
    assert OverHttp("gemini", Embedding(), {}).name == "gemini/gemini-embedding-001"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:80/v1",
        "ftp://a/v1",
        f"https://me:{KEY}@a/v1",
        f"https://a/v1?k={KEY}",
        "http://a:b",
    ],
)
def test_an_address_that_is_none(server: ModelServer, url: str) -> None:
    with pytest.raises(ConfigError, match="base_url") as caught:
        asking(server, base_url=url)
    assert KEY not in str(caught.value)


def test_a_compatible_server_needs_an_address_and_a_model() -> None:
    with pytest.raises(ConfigError, match="both base_url"):
        OverHttp("compatible", Embedding(base_url="http://127.0.0.1:1/v1"), {})


def test_the_key_is_nowhere_to_be_seen(server: ModelServer) -> None:
    embedder = asking(server)
    assert KEY not in repr(embedder) + str(vars(embedder))
    broken = asking(server, environ={"OPENAI_API_KEY": f"{KEY}\nX: y"})
    with pytest.raises(ModelError) as caught:
        broken.embed(["one"])
    assert KEY not in "".join(traceback.format_exception(caught.value))
