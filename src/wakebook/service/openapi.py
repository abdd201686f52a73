"""The description of the service in OpenAPI 3.1, made from the table of verbs and openapi.json.

Every route of the app is in `paths` here, and nothing else; a test compares the two.
"""

import json
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
FIXED = json.loads(Path(__file__).with_name("openapi.json").read_bytes())  # what is no verb


def describe(events: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """The whole document. `events`: of the hooks, by host."""
    wanted = [ToolCall, *(verb.asks for verb in ALL), *map(Verb.answer_type, ALL)]
    made = msgspec.json.schema_components(wanted, schema_hook=_schema, ref_template=SCHEMAS)
    schemas, components = made
    found = dict(zip(map(str, wanted), schemas, strict=True))
    names = sorted({event for known in events.values() for event in known})
    among = {"name": list(tools.NAMES), "host": list(events), "event": names}
    paths = [_verb(verb, found) for verb in ALL]
    paths += [_path(**one, among=among) for one in FIXED["paths"]]
    document: dict[str, Any] = FIXED["document"]
    fixed = document["components"]
    return document | {
        "info": document["info"] | {"version": __version__},
        "paths": dict(paths),
        "components": fixed | {"schemas": fixed["schemas"] | components},
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
    media: str = JSON, among: Mapping[str, list[str]] = {}, open: bool = False,
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """A path and its operation. With `asks` it is a POST, and `needs` a body; `among`: the values
    of the parts of the path; `open`: without a token."""
    error = {JSON: {"schema": {"$ref": SCHEMAS.format(name="Error")}}}
    failures = {code: what for code, what in FIXED["failures"].items() if code == "403" or not open}
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
        kinds = [{"enum": among[part]} if part in among else {"type": "string"} for part in parts]
        done["parameters"] = [
            {"name": part, "in": "path", "required": True, "schema": kind}
            for part, kind in zip(parts, kinds, strict=True)
        ]
    if asks is not None:
        done["requestBody"] = {"required": needs, "content": {JSON: {"schema": asks}}}
    return path, {"get" if asks is None else "post": done}
