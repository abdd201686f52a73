"""The description of the service in OpenAPI 3.1, made from the table of verbs.

Every route of the app is in `paths` here, and nothing else; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from wakebook.service import tools
from wakebook.verbs import ALL, SESSIONS, ToolCall, Verb
from wakebook.version import __version__

SCHEMAS = "#/components/schemas/{name}"
JSON = "application/json"
ABOUT = """The memory of one Wakebook home. Over 127.0.0.1 every request but /health needs the \
token that stands in the file `token` of the home; over the unix socket none does."""
FAILURES = {
    "400": "The request is not understood. The message says what is wrong, and where.",
    "401": "No token, or a wrong one.",
    "403": "The Host or Origin header is not of this machine.",
    "404": "There is no such path, entry, session or file.",
    "409": "config.toml or git has to be mended first.",
    "413": "The body is larger than 8 MiB.",
    "423": "Another process is writing to the home. Try again.",
    "500": "Something else went wrong. `wakebook status` shows it.",
}
OBJECT = {"type": "object"}


class Problem(msgspec.Struct):
    kind: str
    message: str


class Error(msgspec.Struct):
    error: Problem


class Health(msgspec.Struct):
    ok: bool
    version: str


class Called(msgspec.Struct):
    """What a tool answers: text for the agent, and the same as data."""

    text: str
    data: dict[str, Any]
    failed: bool


def describe(events: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """The whole document. `events`: of the hooks, by host."""
    wanted = [Error, Health, ToolCall, Called, *(verb.asks for verb in ALL)]
    wanted += map(Verb.answer_type, ALL)
    schemas, components = msgspec.json.schema_components(
        wanted, schema_hook=_schema, ref_template=SCHEMAS
    )
    found = dict(zip(map(str, wanted), schemas, strict=True))
    names = sorted({event for known in events.values() for event in known})
    paths = [_verb(verb, found) for verb in ALL]
    paths += [
        _path("/health", "health", "Whether the service lives.", found[str(Health)], open=True),
        _path("/metrics", "metrics", "What the service has done, for Prometheus.",
              {"type": "string"}, media="text/plain"),
        _path("/openapi.json", "openapi", "This description.", OBJECT),
        _path("/v1/tools/{name}", "tool", "Call a tool, as agents do.", found[str(Called)],
              found[str(ToolCall)], among={"name": list(tools.NAMES)}),
        _path("/v1/hooks/{host}/{event}", "hook", "A host's event, in the host's own words. "
              "Nothing, or what the host is to do with it.", OBJECT, OBJECT,
              among={"host": list(events), "event": names}),
        _path("/mcp", "mcp", "The Model Context Protocol, streamable HTTP.", OBJECT, OBJECT),
    ]  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "Wakebook", "version": __version__, "description": ABOUT},
        "servers": [{"url": "/"}],  # wherever this was read from
        "security": [{"token": []}],
        "paths": dict(paths),
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schema(type_: type) -> dict[str, Any]:
    if issubclass(type_, Path):
        return {"type": "string", "format": "path"}
    raise NotImplementedError


def _verb(verb: Verb, found: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    key, wrapped, _ = verb.answers.partition(": ")
    answer = found[str(verb.answer_type())]
    if wrapped:
        answer = {"type": "object", "properties": {key: answer}, "required": [key]}
    name = verb.name.replace("-", "_")
    name = f"session_{name}" if SESSIONS.get(verb.name) is verb else name
    needs = any(field.required for field in msgspec.structs.fields(verb.asks))
    return _path(verb.path, name, verb.about, answer, found[str(verb.asks)], needs)


def _path(
    path: str, name: str, about: str, answer: Any, asks: Any = None, needs: bool = True, *,
    media: str = JSON, among: Mapping[str, list[str]] | None = None, open: bool = False,
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """A path and its operation. With `asks` it is a POST, and `needs` a body; `among`: the values
    of the parts of the path; `open`: without a token."""
    error = {JSON: {"schema": {"$ref": SCHEMAS.format(name="Error")}}}
    failures = {"403": FAILURES["403"]} if open else FAILURES
    done: dict[str, Any] = {
        "operationId": name,
        "summary": about,
        "responses": {
            "200": {"description": "Done.", "content": {media: {"schema": answer}}},
            **{code: {"description": what, "content": error} for code, what in failures.items()},
        },
    }
    if open:
        done["security"] = []
    if parts := re.findall(r"\{(\w+)\}", path):
        kinds = [{"enum": among[part]} if among else {"type": "string"} for part in parts]
        done["parameters"] = [
            {"name": part, "in": "path", "required": True, "schema": kind}
            for part, kind in zip(parts, kinds, strict=True)
        ]
    if asks is not None:
        done["requestBody"] = {"required": needs, "content": {JSON: {"schema": asks}}}
    return path, {"get" if asks is None else "post": done}
