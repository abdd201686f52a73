"""The description of the service says what the service does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.service.serving import Service as Running
from wakebook.hosts import HOSTS
from wakebook.hosts.events import about
from wakebook.service.app import App
from wakebook.service.metrics import HELP
from wakebook.service.openapi import describe
from wakebook.verbs import encode


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return describe({name: about(name).events for name in HOSTS})


def _refs(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [ref for one in value.values() for ref in _refs(one)]
    return [ref for one in value for ref in _refs(one)] if isinstance(value, list) else []


def test_it_is_whole(described: dict[str, Any]) -> None:
    assert described["openapi"] == "3.1.0"
    assert described["info"].keys() >= {"title", "version"}
    schemas = described["components"]["schemas"]
    assert {ref.rpartition("/")[2] for ref in _refs(described)} <= schemas.keys()
    names = []
    for path, item in described["paths"].items():
        for operation in item.values():
            names.append(operation["operationId"])
            assert operation["summary"]
            assert "200" in operation["responses"]
            told = {one["name"] for one in operation.get("parameters", ())}
            assert told == set(re.findall(r"\{(\w+)\}", path))
    assert len(names) == len(set(names))


def test_every_schema_is_a_schema(described: dict[str, Any]) -> None:
    for schema in described["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for item in described["paths"].values():
        for operation in item.values():
            for answer in operation["responses"].values():
                for content in answer["content"].values():
                    jsonschema.Draft202012Validator.check_schema(content["schema"])


def test_every_route_is_described_and_nothing_else(described: dict[str, Any]) -> None:
    nobody: Any = None
    routes = App(nobody, nobody, nobody, nobody).routes
    there = {(route.path, route.method.lower()) for route in routes}
    told = {(path, method) for path, item in described["paths"].items() for method in item}
    assert there == told


def test_every_described_path_answers(service: Running, described: dict[str, Any]) -> None:
    """Not with 404 of the path itself, nor with 405; whatever it makes of an empty request."""
    for path, item in described["paths"].items():
        for method, operation in item.items():
            real = path
            for parameter in operation.get("parameters", ()):
                value = parameter["schema"].get("enum", ["support"])[0]
                real = real.replace(f"{{{parameter['name']}}}", value)
            if path.startswith("/v1/hooks/"):
                real = "/v1/hooks/claude-code/Stop"
            headers = {"Accept": "application/json, text/event-stream"}
            answer = service.ask(real, {} if method == "post" else None, headers=headers)
            assert answer.status in (200, 400, 404), (real, answer)
            if answer.status == 404:
                assert answer.kind != "NoSuchPath"


def test_what_is_served_is_this(service: Running, described: dict[str, Any]) -> None:
    answer = service.ask("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == json.loads(encode(described))


def test_answers_are_as_described(service: Running, described: dict[str, Any]) -> None:
    asked = {"remember": {"text": "The kiosk is called Heron."}, "search": {"text": "kiosk"},
             "get": {"ref": "log.jsonl"}}  # fmt: skip
    for name in ("remember", "search", "get", "context", "log", "status", "jobs", "audit", "wake"):
        operation = described["paths"][f"/v1/{name}"]["post"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        whole = {**schema, "components": described["components"]}
        answer = service.ask(f"/v1/{name}", asked.get(name, {}))
        assert answer.status == 200
        jsonschema.validate(answer.json, whole)
    error = {"$ref": "#/components/schemas/Error", "components": described["components"]}
    jsonschema.validate(service.ask("/v1/nothing", {}).json, error)


def test_every_path_is_in_the_documents(described: dict[str, Any]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    for path, item in described["paths"].items():
        assert f"`{path}`" in text or f"{next(iter(item)).upper()} {path}`" in text, path
    for name in HELP:
        assert f"wakebook_{name}" in text, name
