"""The table of verbs, and what has to agree with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from wakebook.log.query import Query
from wakebook.service import tools
from wakebook.verbs import ALL, TOOLS, VERBS, Verb, request_of

DOCS = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
OWN = {("forget", "confirm")}  # parameters of a tool that its verb does not have


def test_every_filter_of_a_query_is_a_field_of_search() -> None:
    assert set(Query.__slots__) - {"scope", "files"} <= set(VERBS["search"].asks.__struct_fields__)


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.path)
def test_every_row_is_in_the_documents_as_it_is(verb: Verb) -> None:
    fields = [
        f"**{one.encode_name}**" if one.required else one.encode_name
        for one in msgspec.structs.fields(verb.asks)
    ]
    key, _, name = verb.answers.partition(": ")
    short = (name or key).strip("[]").rpartition(".")[2]
    answers = f"{key}: [{short}]" if name.startswith("[") else f"{key}: {short}" if name else short
    asks = ", ".join(fields) or "nothing"
    assert f"| `{verb.path}` | {verb.about} | {asks} | `{answers}` |" in DOCS


def test_the_tools_are_those_of_the_table() -> None:
    assert list(TOOLS) == list(tools.NAMES)
    for name, (_, fields) in TOOLS.items():
        known = tools.LIST[tools.NAMES.index(name)]["parameters"]["properties"]
        assert fields.keys() <= known.keys()


@pytest.mark.parametrize("tool", tools.LIST, ids=lambda tool: tool["name"])
def test_what_a_tool_allows_its_verb_takes(tool: dict[str, Any]) -> None:
    """Every value at the limits of tools.json is one that the verb's request has, too."""
    schema = tool["parameters"]
    least = {name: _allowed(schema["properties"][name])[0] for name in schema.get("required", ())}
    verb, fields = TOOLS[tool["name"]]
    asks = VERBS[verb].asks
    for name, one in schema["properties"].items():
        if (tool["name"], name) in OWN:
            continue
        for value in _allowed(one):
            body = msgspec.json.encode(request_of(tool["name"], least | {name: value}))
            found = getattr(msgspec.json.decode(body, type=asks), fields.get(name, name))
            assert found == (tuple(value) if isinstance(value, list) else value) or found == (
                value,
            )


def _allowed(schema: dict[str, Any]) -> list[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    limits = [schema[key] for key in ("minimum", "maximum") if key in schema]
    plain: dict[str, Any] = {
        "string": "webhook", "boolean": True, "integer": 7, "number": 0.5, "array": ["webhook"],
    }  # fmt: skip
    return limits or [plain[schema["type"]]]
