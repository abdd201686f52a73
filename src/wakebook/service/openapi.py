"""The description of the service in OpenAPI 3.1, made from the table of verbs.

Whatever the app has a route for is in `paths` here; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from wakebook.service import tools
from wakebook.verbs import SESSIONS, VERBS, ToolCall, Verb
from wakebook.version import __version__

SCHEMAS = "#/components/schemas/{name}"
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


class Other(NamedTuple):
    """A route that is no verb."""

    path: str
    method: str
    name: str
    about: str
    asks: Any = None
    answers: Any = None
    schema: dict[str, Any] = {"type": "object"}  # noqa: RUF012
    media: str = "application/json"
    parameters: dict[str, Any] = {}  # noqa: RUF012
    open: bool = False


OTHERS = (
    Other("/health", "get", "health", "Whether the service lives.", answers=Health, open=True),
    Other(
        "/metrics",
        "get",
        "metrics",
        "What the service has done, for Prometheus.",
        schema={"type": "string"},
        media="text/plain",
    ),
    Other("/openapi.json", "get", "openapi", "This description."),
    Other(
        "/v1/tools/{name}",
        "post",
        "tool",
        "Call a tool, as agents do.",
        asks=ToolCall,
        answers=Called,
        parameters={"name": {"enum": list(tools.NAMES)}},
    ),
    Other("/mcp", "post", "mcp", "The Model Context Protocol, streamable HTTP."),
)


def describe(events: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """The whole document. `events`: of the hooks, by host."""
    verbs = (*VERBS.values(), *SESSIONS.values())
    wanted = [Error, *(verb.asks for verb in verbs), *map(Verb.answer_type, verbs)]
    wanted += [type_ for one in OTHERS for type_ in (one.asks, one.answers) if type_]
    schemas, components = msgspec.json.schema_components(
        wanted, schema_hook=_schema, ref_template=SCHEMAS
    )
    found = dict(zip(map(str, wanted), schemas, strict=True))
    paths = {verb.path: {"post": _operation(verb, found)} for verb in VERBS.values()}
    for verb in SESSIONS.values():
        paths[verb.path] = {"post": _of_session(verb, found)}
    for one in (*OTHERS, _hook(events)):
        paths[one.path] = {one.method: _other(one, found)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Wakebook", "version": __version__, "description": ABOUT},
        "servers": [{"url": "/"}],  # wherever this was read from
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _hook(events: Mapping[str, Iterable[str]]) -> Other:
    names = sorted({event for known in events.values() for event in known})
    return Other(
        "/v1/hooks/{host}/{event}",
        "post",
        "hook",
        "A host's event, in the host's own words. Nothing, or what the host is to do with it.",
        parameters={"host": {"enum": list(events)}, "event": {"enum": names}},
    )


def _schema(type_: type) -> dict[str, Any]:
    if issubclass(type_, Path):
        return {"type": "string", "format": "path"}
    raise NotImplementedError


def _operation(verb: Verb, found: dict[str, Any]) -> dict[str, Any]:
    key, wrapped, _ = verb.answers.partition(": ")
    schema = found[str(verb.answer_type())]
    if wrapped:
        schema = {"type": "object", "properties": {key: schema}, "required": [key]}
    required = any(field.required for field in msgspec.structs.fields(verb.asks))
    return {
        "operationId": verb.name.replace("-", "_"),
        "summary": verb.about,
        "requestBody": _body(found[str(verb.asks)], required),
        "responses": _responses(_json(schema)),
    }


def _of_session(verb: Verb, found: dict[str, Any]) -> dict[str, Any]:
    name = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    done = _operation(verb, found)
    return done | {"operationId": f"session_{verb.name}", "parameters": [name]}


def _other(one: Other, found: dict[str, Any]) -> dict[str, Any]:
    done: dict[str, Any] = {"operationId": one.name, "summary": one.about}
    if one.open:
        done["security"] = []
    if one.parameters:
        done["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": schema}
            for name, schema in one.parameters.items()
        ]
    if one.method == "post":
        asked = found[str(one.asks)] if one.asks else {"type": "object"}
        done["requestBody"] = _body(asked, True)
    schema = found[str(one.answers)] if one.answers else one.schema
    done["responses"] = _responses({one.media: {"schema": schema}}, not one.open)
    return done


def _body(schema: Any, required: bool) -> dict[str, Any]:
    return {"required": required, "content": _json(schema)}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _responses(content: dict[str, Any], guarded: bool = True) -> dict[str, Any]:
    failures = FAILURES if guarded else {"403": FAILURES["403"]}
    error = _json({"$ref": SCHEMAS.format(name="Error")})
    return {
        "200": {"description": "Done.", "content": content},
        **{code: {"description": what, "content": error} for code, what in failures.items()},
    }
