"""The tools that an agent calls, the same on every host: verbs with fewer, simpler parameters.

Their names, texts and schemas stand in tools.json, which plugins in other languages read as
well. Arguments are checked against it; an error comes back as text that a model can act on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from wakebook.base import clock, ref
from wakebook.base.echo import defused
from wakebook.base.errors import NotFound, WakebookError
from wakebook.base.text import whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wakebook.log.entry import Entry
    from wakebook.memory import Memory
    from wakebook.opened import Opened
    from wakebook.recall.show import Shown
    from wakebook.store.hits import Hit

FILE = Path(__file__).with_name("tools.json")
LIST: list[dict[str, Any]] = json.loads(FILE.read_bytes())
NAMES = tuple(tool["name"] for tool in LIST)
READABLE = ("raw", "knowledge", "topics", "archive", "log.jsonl", "subjects.json")
LINES = 600  # of a file or a session in one answer
CHARACTERS = 60_000  # likewise
KINDS = {
    "string": str, "integer": int, "number": int | float, "boolean": bool, "array": list | tuple,
}  # fmt: skip


class Answer(NamedTuple):
    text: str
    data: dict[str, Any]
    failed: bool = False


def needs(name: str) -> str:
    """What a bearer must be allowed to do (see Verb.needs)."""
    from wakebook.verbs import TOOLS, VERBS

    return VERBS[TOOLS[name][0]].needs


def call(memory: Memory, name: str, arguments: object, session: str = "") -> Answer:
    """What a tool answers. Only the errors that a caller can do nothing about are raised."""
    if name not in NAMES:
        return _failed(f"There is no tool {name!r}. There are: {', '.join(NAMES)}.")
    if wrong := _wrong(LIST[NAMES.index(name)]["parameters"], arguments):
        return _failed(f"{name}: {wrong}")
    from wakebook.verbs import request_of

    assert isinstance(arguments, dict)
    given = {key: _whole(value) for key, value in arguments.items() if value is not None}
    place: dict[str, Any] = {"session": session, "cwd": memory.opened.here}
    try:
        if name == "context":
            done = memory.context(**given, **place)
            told = {"text": done.text, "tokens": done.tokens, "notes": list(done.notes)}
            return Answer(done.text, told)
        if memory.turns.kind_of(session) == "group":
            return _failed("This is a group chat: the user's private memory stays closed here.")
        if name == "forget":
            return _forget(memory, given["ids"], given.get("confirm"))
        ask = request_of(name, given)
        if name == "remember":
            entry = _remember(memory, ask, place)
            if not entry.extra:
                return _line({"remembered": _short(entry)})
            then = "It is told to nobody until the user accepts it: `wakebook review`."
            return _line({"waiting": _short(entry) | entry.extra | {"then": then}})
        if name == "handoff":
            id_ = memory.handoff(ask.text, detail=ask.detail)
            then = "It is checked against the conversation, and kept, when the session ends."
            return _line({"handoff": {"id": id_, "then": then}})
        return _get(memory, ask) if name == "memory_get" else _search(memory, ask, place)
    except WakebookError as error:
        return Answer(str(error), {"error": str(error), "kind": type(error).__name__}, failed=True)


def _failed(why: str) -> Answer:
    return Answer(why, {"error": why}, failed=True)


def _wrong(schema: Mapping[str, Any], arguments: object) -> str:
    """What is wrong with the arguments; nothing if they fit."""
    known = schema["properties"]
    if not isinstance(arguments, dict):
        return f"expected an object with {', '.join(known)}."
    for key, value in arguments.items():
        if key not in known:
            return f"unknown parameter {key!r}. There are: {', '.join(known)}."
        if value is not None and (wrong := _unfit(known[key], value)):
            shown = repr(value)
            return f"{key} {wrong}, got {shown if len(shown) <= 60 else f'{shown[:60]}…'}."
    missing = [key for key in schema.get("required", ()) if arguments.get(key) is None]
    return f"{missing[0]} is missing." if missing else ""


def _unfit(schema: Mapping[str, Any], value: Any) -> str:
    kind = schema["type"]
    fits: bool = isinstance(value, KINDS[kind])
    if not fits or (isinstance(value, bool) and kind != "boolean"):
        return f"must be {'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {', '.join(schema['enum'])}"
    least, most = schema.get("minimum"), schema.get("maximum")
    if (least is not None and not value >= least) or (most is not None and not value <= most):
        return f"must be {f'from {least} to {most}' if most is not None else f'at least {least}'}"
    if kind == "string" and len(value.strip()) < schema.get("minLength", 0):
        return "must not be empty"
    if kind == "array":
        least, most = schema.get("minItems", 0), schema.get("maxItems", 1000)
        if not least <= len(value) <= most:
            return f"must have {least} to {most} items"
        wrong = next((wrong for one in value if (wrong := _unfit(schema["items"], one))), "")
        return f"has an item that {wrong}" if wrong else ""
    return ""


def _whole(value: Any) -> Any:
    """Without halves of characters, which cannot be written down."""
    if isinstance(value, str):
        return whole(value)
    return [_whole(one) for one in value] if isinstance(value, list) else value


def _remember(memory: Memory, ask: Any, place: Mapping[str, Any]) -> Entry:
    """For the project that the agent works in. It takes the place of what has been read of the same
    words already."""
    from msgspec.structs import asdict, replace

    from wakebook.learn.written import AGENT, repeats

    if not ask.replaces:
        read = repeats(ask.text, memory.log.chains(), memory.opened.state())
        ask = replace(ask, replaces=tuple(read))
    if not ask.project and memory.turns.scope(**place).here:
        with memory.opened.writing():
            here = memory.turns.noted(**place)
        ask = replace(ask, project=here)
    return memory.remember(**asdict(ask), by=AGENT)


def _search(memory: Memory, ask: Any, place: Mapping[str, Any]) -> Answer:
    """Of what may be told in this project, unless another is named or everything is wanted."""
    from dataclasses import replace as with_

    from msgspec.structs import replace

    from wakebook.verbs import query_of

    if not ask.text.strip() and not query_of(ask).filtered:
        return _failed("memory_search: query is empty. Give words, or a filter.")
    if ask.subjects:  # by any name that a subject has
        names = memory.log.registry().names()
        slugs = tuple(names.get(one.strip().casefold(), one) for one in ask.subjects)
        ask = replace(ask, subjects=slugs)
    wide = ask.everywhere or bool(ask.projects)
    here = memory.turns.scope(**place, everywhere=wide, message=ask.text)
    if here.here == "":  # outside of all projects
        here = memory.turns.scope(**place, everywhere=True)
    query = with_(query_of(ask), scope=here)
    found = memory.search(query, limit=ask.limit, min_score=ask.min_score)
    data: dict[str, Any] = {"results": [_result(hit) for hit in found.hits]}
    notes = [*found.notes, *([found.problem] if found.problem else [])]
    return _json(data | ({"notes": notes} if notes else {}))


def _result(hit: Hit) -> dict[str, Any]:
    name = "" if "/" in hit.ref or "#" in hit.ref else hit.ref
    when = clock.iso(hit.timestamp) if hit.timestamp else ""
    found = {"id": name, "path": hit.ref, "score": round(hit.score, 3)}
    found |= {"type": hit.type or hit.category, "subject": hit.subject, "status": hit.status}
    found |= {"timestamp": when, "snippet": hit.snippet, "provenance": hit.provenance}
    found |= {"session": hit.session, "speaker": hit.speaker, "replacedBy": hit.replaced_by}
    found |= {"origin": hit.origin}
    return {key: value for key, value in found.items() if value != ""}


def _get(memory: Memory, ask: Any) -> Answer:
    path, most = ask.ref.strip(), min(ask.lines or LINES, LINES)
    opened, name, here = memory.opened, "", path
    if path.startswith("@"):
        from wakebook.recall.beside import lent

        opened, name, here = lent(opened, path)
    wanted = here if here.startswith("session:") else _file(opened, here)
    if not wanted:
        return _json(_entry(memory.get(path)) | ({"origin": name} if name else {}))
    wanted = f"@{name}/{wanted}" if name else wanted
    if ask.first or ask.lines or "#" not in wanted or wanted.startswith("session:"):
        # one line more than is given, to know whether there are more
        return _lines(memory.get(wanted, ask.first or 1, most + 1), path, most)
    return _lines(memory.get(wanted), path, most)


def _file(opened: Opened, path: str) -> str:
    """The file that a path means; nothing if it is no path. Raises NotFound for what is private."""
    wanted = ref.parse(path)
    if wanted.kind != "path":
        return ""
    name = wanted.name
    if name in ("MEMORY.md", "memory.md"):
        return f"{opened.memory_file()}{path.removeprefix(name)}"
    root = opened.home.root.resolve()
    try:
        inside = (root / name).resolve().relative_to(root).parts
    except (ValueError, OSError):
        inside = ()
    allowed = bool(inside) and inside[0] in READABLE
    if "\0" in name or not (allowed or Path(name).resolve() in opened.elsewhere()):
        raise NotFound(f"There is no file {name!r} in the memory. memory_search tells paths.")
    return path


def _entry(shown: Shown) -> dict[str, Any]:
    from wakebook.log.entry import as_dict

    assert shown.entry is not None
    history = [as_dict(one) for one in shown.history] if len(shown.history) > 1 else []
    said = "\n".join(text for _, text in shown.lines)
    data = {"entry": as_dict(shown.entry), "state": shown.status, "history": history}
    data |= {"said": said, "note": shown.note}
    return {key: value for key, value in data.items() if value}


def _lines(shown: Shown, path: str, most: int) -> Answer:
    kept: list[tuple[int, str]] = []
    size = 0
    for number, text in shown.lines[:most]:
        size += len(text) + 1
        if kept and size > CHARACTERS:
            break
        kept.append((number, text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}…"))
    data: dict[str, Any] = {"path": path, "text": "\n".join(text for _, text in kept)}
    if shown.kind == "session":
        data["transcripts"] = list(shown.transcripts)
    if kept:
        data |= {"from": kept[0][0], "lines": len(kept)}
        if len(kept) < len(shown.lines):
            data["more"] = f"There is more: ask again with from = {kept[-1][0] + 1}."
    return _json(data)


def _forget(memory: Memory, ids: Sequence[str], confirm: str | None) -> Answer:
    import hashlib

    going = memory.plan_forget(ids)
    # of these entries and no others: a yes to one question is no yes to another
    names = "\n".join(sorted(one.id for one in going.entries))
    code = hashlib.sha256(f"forget\n{names}".encode()).hexdigest()[:8]
    gone, again = [*map(_short, going.entries)], {"holdAgain": [*map(_short, going.again)]}
    if confirm == code:
        memory.forget([one.id for one in going.entries])
        return _json({"forgotten": gone} | again)
    asked = "Nothing is forgotten yet. Show this to the user; if they agree, call again with"
    wrong = "" if confirm is None else "confirm does not fit these entries. "
    rows = {"entries": gone} | again
    return _json({"asks": f'{wrong}{asked} confirm "{code}".', "wouldForget": rows})


def _short(entry: Entry) -> dict[str, Any]:
    found = {"id": entry.id, "type": entry.type, "subject": entry.subject}
    found |= {"timestamp": clock.iso(entry.timestamp), "content": entry.content}
    return {key: value for key, value in found.items() if value}


def _line(data: dict[str, Any]) -> Answer:
    """On one line: transcripts keep the first one, with the id (`learn.written`)."""
    data = _defused(data)
    return Answer(json.dumps(data, ensure_ascii=False), data)


def _json(data: dict[str, Any]) -> Answer:
    def plain(value: Any) -> str:
        return clock.iso(value) if hasattr(value, "isoformat") else str(value)

    data = _defused(data)
    return Answer(json.dumps(data, ensure_ascii=False, indent=1, default=plain), data)


def _defused(value: Any) -> Any:
    """With every text as an agent may read it."""
    if isinstance(value, str):
        return defused(value)
    if isinstance(value, dict):
        return {key: _defused(one) for key, one in value.items()}
    return [_defused(one) for one in value] if isinstance(value, (list, tuple)) else value
