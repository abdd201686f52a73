"""What ChatGPT, claude.ai and mem0 export, as conversations of this home."""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from wakebook.base import clock
from wakebook.base.errors import TranscriptError
from wakebook.imports import chatgpt, claude, mem0
from wakebook.imports.export import Bad, Export, Thread, members
from wakebook.imports.take import guess

AT = 1_771_267_500.25  # 2026-02-16T18:45:00Z


def node(
    name: str, parent: str | None, role: str = "user", text: Any = "", **more: Any
) -> dict[str, Any]:
    """A node of ChatGPT's mapping with a message of the same id."""
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    message = {
        "id": f"m-{name}",
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": AT,
        "content": content,
        "status": "finished_successfully",
        "recipient": "all",
        "metadata": {},
        **more,
    }
    return {name: {"id": name, "parent": parent, "children": [], "message": message}}


def chat(current: str | None = None, *nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    root: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    mapping = {key: value for one in (root, *nodes) for key, value in one.items()}
    given = {"conversation_id": "c1", "title": "Tides", "create_time": AT, "current_node": current}
    return given | {"mapping": mapping} | more


def saved(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def zipped(path: Path, **files: Any) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            text = value if isinstance(value, bytes) else json.dumps(value)
            archive.writestr(name.replace("__", "/") + ".json", text)
    return path


def only(export: Export) -> Thread:
    (found,) = export.parts
    assert isinstance(found, Thread), found
    return found


def said(conversation: Thread) -> list[tuple[str, str]]:
    return [(piece.role, piece.text) for piece in conversation.pieces]


# --- ChatGPT -----------------------------------------------------------------------------


def test_the_live_path_of_a_chat(tmp_path: Path) -> None:
    """Regenerated and edited messages are other branches of the tree."""
    path = saved(
        tmp_path / "conversations.json",
        [
            chat(
                "d",
                node("a", "root", "user", "When is high tide?"),
                node("b-old", "a", "assistant", "At noon."),
                node("b", "a", "assistant", "At 14:10.", metadata={"model_slug": "gpt-5"}),
                node("c-old", "b", "user", "And low tide?"),
                node("c", "b", "user", "And tomorrow?", create_time=AT + 60),
                node("d", "c", "assistant", "At 15:00.", create_time=None),
            )
        ],
    )
    found = only(chatgpt.read(path))
    assert (found.id, found.name, found.channel) == ("c1", "Tides", "chatgpt")
    assert said(found) == [
        ("user", "When is high tide?"),
        ("assistant", "At 14:10."),
        ("user", "And tomorrow?"),
        ("assistant", "At 15:00."),
    ]
    assert [piece.id for piece in found.pieces] == ["m-a", "m-b", "m-c", "m-d"]
    assert [piece.model for piece in found.pieces] == ["", "gpt-5", "", ""]
    assert found.pieces[0].at == clock.parse(AT)
    assert found.pieces[3].at == clock.parse(AT + 60), "a message without a time has the last one's"


def test_what_nobody_said_in_a_chat_is_left_out(tmp_path: Path) -> None:
    custom = {"content_type": "user_editable_context", "user_profile": "I live in Porto"}
    thoughts = {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}
    code = {"content_type": "code", "language": "python", "text": "print(1)"}
    output = {"content_type": "execution_output", "text": "1"}
    hidden = {"is_visually_hidden_from_conversation": True}
    system = {"is_user_system_message": True}
    path = saved(
        tmp_path / "conversations.json",
        [
            chat(
                "k",
                node("a", "root", "system", "", metadata=hidden),
                node("b", "a", "system", "You are helpful", metadata=hidden),
                node("c", "b", "user", custom, metadata=hidden),
                node("d", "c", "system", "About me: Porto", metadata=system),
                node("e", "d", "user", "How many tides a day?"),
                node("f", "e", "assistant", thoughts),
                node("g", "f", "assistant", code, recipient="python"),
                node("h", "g", "tool", output),
                node("i", "h", "assistant", ""),
                node("j", "i", "assistant", "half a w", status="in_progress"),
                node("k", "j", "assistant", "Two【4†source】. \ue200cite\ue202turn0\ue201"),
            )
        ],
    )
    found = only(chatgpt.read(path))
    assert said(found) == [("user", "How many tides a day?"), ("assistant", "Two.")]
    assert found.skipped == {
        "system": 1,
        "custom instructions": 2,
        "reasoning": 1,
        "tool": 2,
        "empty": 1,
        "unfinished": 1,
    }


def test_pictures_and_speech(tmp_path: Path) -> None:
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://x"},
        {"content_type": "audio_transcription", "text": "what is this"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://y"},
        {"content_type": "something_new"},
        7,
    ]
    seen = {"content_type": "multimodal_text", "parts": parts}
    path = saved(tmp_path / "c.json", [chat("a", node("a", "root", "user", seen))])
    assert said(only(chatgpt.read(path))) == [("user", "[image]\n\nwhat is this\n\n[audio]")]


@pytest.mark.parametrize("current", [None, "nobody"])
def test_without_a_current_node_the_newest_leaf_counts(tmp_path: Path, current: str | None) -> None:
    path = saved(
        tmp_path / "c.json",
        [
            chat(
                current,
                node("a", "root", "user", "one"),
                node("c", "a", "assistant", "newer", create_time=AT + 9),
                node("b", "a", "assistant", "older", create_time=AT + 3),
            )
        ],
    )
    assert said(only(chatgpt.read(path))) == [("user", "one"), ("assistant", "newer")]


def test_a_tree_that_runs_in_a_circle_ends(tmp_path: Path) -> None:
    nodes = node("a", "b", "user", "one"), node("b", "a", "assistant", "two")
    path = saved(tmp_path / "c.json", [chat("b", *nodes)])
    assert said(only(chatgpt.read(path))) == [("user", "one"), ("assistant", "two")]


def test_one_bad_conversation_does_not_stop_the_others(tmp_path: Path) -> None:
    fine = chat("a", node("a", "root", "user", "fine"))
    odd = chat("a", node("a", "root", "user", "odd"))
    odd["mapping"]["a"]["message"]["id"] = {"not": "text"}
    nameless = chat("a", node("a", "root", "user", "hm"), conversation_id=None)
    path = saved(tmp_path / "c.json", [odd, "what", nameless, fine | {"conversation_id": "c9"}])
    bad1, bad2, bad3, good = chatgpt.read(path).parts
    assert isinstance(bad1, Bad) and "message.id" in bad1.why
    assert isinstance(bad2, Bad) and bad2.name == "conversation 2"
    assert isinstance(bad3, Bad) and "no id" in bad3.why
    assert isinstance(good, Thread) and good.id == "c9"


def test_half_a_surrogate_pair_costs_a_character(tmp_path: Path) -> None:
    text = json.dumps([chat("a", node("a", "root", "user", "tide HERE up"))])
    path = tmp_path / "c.json"
    path.write_text(text.replace("HERE", "\\ud83c"))
    assert said(only(chatgpt.read(path))) == [("user", "tide ? up")]


# --- claude.ai ---------------------------------------------------------------------------


def message(name: str, sender: str, text: str = "", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    given = {"uuid": name, "sender": sender, "text": text, "content": content}
    return given | {"created_at": "2026-02-16T18:45:00.123Z", "attachments": []} | more


def talk(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {"uuid": "t1", "name": "Launch", "created_at": "2026-02-16T18:44:00Z"}
    return given | {"chat_messages": list(messages)} | more


def test_a_conversation_of_claude(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "On the 21st."},
        {"type": "tool_use", "name": "web", "input": {}},
        {"type": "tool_result", "content": [{"type": "text", "text": "noise"}]},
        {"type": "text", "text": "Shall I plan it?"},
    ]
    path = saved(
        tmp_path / "conversations.json",
        [
            talk(
                message("1", "human", "When do we launch?"),
                message("2", "assistant", content=blocks, text="On the 21st."),
                message("3", "human", files=[{"file_name": "plan.png"}, {"file_name": "a.pdf"}]),
                message("4", "assistant", "```\n" + claude.UNSUPPORTED + "\n```"),
                message("5", "human", attachments=[{"file_name": "", "extracted_content": "Long"}]),
                message("6", "system", "hidden"),
            )
        ],
    )
    found = only(claude.read(path))
    assert (found.id, found.name) == ("t1", "Launch")
    assert said(found) == [
        ("user", "When do we launch?"),
        ("assistant", "On the 21st.\n\nShall I plan it?"),
        ("user", "[image]\n[attachment: a.pdf]"),
        ("user", "Long"),
    ]
    assert found.skipped == {"empty": 1, "system": 1}
    assert found.pieces[0].at == clock.parse("2026-02-16T18:45:00.123Z")


def test_an_edited_conversation_of_claude_is_what_was_seen_last(tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    old = {"created_at": "2026-02-16T18:50:00Z"}
    new = {"created_at": "2026-02-16T19:50:00Z"}
    given = [
        message("1", "human", "One", parent_message_uuid=root),
        message("2", "assistant", "Two", parent_message_uuid="1"),
        message("3", "human", "Three, first", parent_message_uuid="2", **old),
        message("4", "human", "Three, better", parent_message_uuid="2", **new),
    ]
    path = saved(tmp_path / "c.json", [talk(*given)])
    assert [text for _, text in said(only(claude.read(path)))] == ["One", "Two", "Three, better"]
    saved(path, [talk(*given, current_leaf_message_uuid="3")])
    assert [text for _, text in said(only(claude.read(path)))] == ["One", "Two", "Three, first"]


# --- zip, folder, bare file --------------------------------------------------------------


def test_a_sharded_export_in_a_zip_or_in_a_folder(tmp_path: Path) -> None:
    def one(name: str) -> dict[str, Any]:
        return chat("a", node("a", "root", "user", name), conversation_id=name)

    files = {"conversations-000": [one("a"), one("b")], "conversations-001": [one("c")]}
    folder = tmp_path / "export" / "inner"
    for name, value in files.items():
        saved(folder / f"{name}.json", value)
    saved(folder / "user.json", {})
    inside: dict[str, Any] = {
        f"../../{name}": value for name, value in files.items()
    }  # leads nowhere
    inside |= {"__MACOSX__._conversations-000": b"junk", "shared_conversations": [1], "user": {}}
    archive = zipped(tmp_path / "export.zip", **inside)
    for path in (tmp_path / "export", archive):
        found = list(chatgpt.read(path).parts)
        assert [part.id for part in found if isinstance(part, Thread)] == ["a", "b", "c"]
        assert len(found) == 3
    assert not (tmp_path.parent / "conversations-000.json").exists()


def test_one_broken_shard_does_not_stop_the_others(tmp_path: Path) -> None:
    fine = [chat("a", node("a", "root", "user", "fine"))]
    path = zipped(
        tmp_path / "e.zip", **{"conversations-0": b'[{"mapping"', "conversations-1": fine}
    )
    bad, good = chatgpt.read(path).parts
    assert isinstance(bad, Bad) and "conversations-0.json" in bad.name and "JSON" in bad.why
    assert isinstance(good, Thread)


def test_a_single_conversation_and_one_below_a_name(tmp_path: Path) -> None:
    one = talk(message("1", "human", "Hello"))
    for value in (one, {"conversations": [one]}):
        assert said(only(claude.read(saved(tmp_path / "c.json", value)))) == [("user", "Hello")]


@pytest.mark.parametrize("text", ["7", '"words"', "", '{"conversations": 3}', "[" * 100_000])
def test_json_that_is_no_export(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    (bad,) = chatgpt.read(path).parts
    assert isinstance(bad, Bad) and "not the JSON of an export" in bad.why


def test_a_zip_that_would_unpack_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b" " * (70 << 20))
    (bad,) = chatgpt.read(path).parts
    assert isinstance(bad, Bad) and "refused" in bad.why and "73,400,320" in bad.why


def test_a_damaged_zip(tmp_path: Path) -> None:
    path = zipped(tmp_path / "e.zip", conversations=[chat("a", node("a", "root", "user", "x"))])
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(TranscriptError, match=r"not a zip file.*Download it again"):
        chatgpt.read(path)
    path.write_bytes(data[:60] + b"\x00" * 40 + data[100:])
    (bad,) = chatgpt.read(path).parts
    assert isinstance(bad, Bad) and "damaged" in bad.why


def test_a_path_that_is_not_there_or_closed_to_us(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="no such file"):
        members(tmp_path / "nobody.zip")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TranscriptError, match="neither a file nor a folder"):
        members(tmp_path / "pipe")


# --- mem0 --------------------------------------------------------------------------------

MEMORIES = [
    {
        "id": "1",
        "memory": "Prefers morning meetings",
        "created_at": "2026-02-16T10:00:00-07:00",
        "user_id": "mira",
        "categories": ["personal_details", "preferences"],
        "metadata": {"project": "Tidepool"},
    },
    {"id": "2", "text": "Lives in Porto", "created_at": "2026-01-10T08:00:00Z", "user_id": "mira"},
    {"id": "3", "data": "Works with Ana", "updated_at": "2026-03-01", "agent_id": "helper"},
    {"id": "4", "memory": " "},
]


@pytest.mark.parametrize("shape", [None, "results", "memories"])
def test_memories_of_mem0(tmp_path: Path, shape: str | None) -> None:
    path = saved(tmp_path / "m.json", {shape: MEMORIES} if shape else MEMORIES)
    helper, mira = mem0.read(path).parts
    assert isinstance(helper, Thread) and isinstance(mira, Thread)
    assert [(one.id, one.channel) for one in (helper, mira)] == [
        ("helper", "memories/mem0"),
        ("mira", "memories/mem0"),
    ]
    assert [piece.text for piece in mira.pieces] == [
        "Lives in Porto",
        "# Project: Tidepool › personal details, preferences\n\nPrefers morning meetings",
    ]
    assert mira.pieces[1].at == clock.parse("2026-02-16T17:00:00Z")
    assert helper.pieces[0].at == clock.parse("2026-03-01")
    assert helper.skipped == {"empty": 1}


def test_json_lines_of_mem0_with_a_broken_one(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(MEMORIES[1]) + "\n{broken\n\n" + json.dumps(MEMORIES[0]) + "\n")
    bad, mira = mem0.read(path).parts
    assert isinstance(bad, Bad) and bad.name == "m.jsonl, memory 2"
    assert isinstance(mira, Thread) and len(mira.pieces) == 2


@pytest.mark.parametrize("columns", ["old_memory new_memory", "prev_value new_value"])
def test_the_history_of_mem0(tmp_path: Path, columns: str) -> None:
    before, after = columns.split()
    base = sqlite3.connect(tmp_path / "history.db")
    base.execute(
        f"CREATE TABLE history (id TEXT, memory_id TEXT, {before} TEXT, {after} TEXT, event TEXT,"
        " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER)"
    )
    first, second = "2026-02-16T10:00:00Z", "2026-02-20T10:00:00Z"
    rows = [
        ("a", "m1", None, "Lives in Porto", "ADD", first, None, 0),
        ("b", "m2", None, "Likes tea", "ADD", first, None, 0),
        ("c", "m1", "Lives in Porto", "Lives in Lisbon", "UPDATE", first, second, 0),
        ("d", "m2", "Likes tea", None, "DELETE", first, second, 1),
        ("e", "m3", None, "Has a dog", "ADD", first, None, 0),
    ]
    base.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    base.commit()
    base.close()
    found = only(mem0.read(tmp_path / "history.db"))
    assert [piece.text for piece in found.pieces] == ["Has a dog", "Lives in Lisbon"]
    assert found.pieces[1].at == clock.parse(second)
    assert found.skipped == {"deleted": 1}


def test_what_is_not_of_mem0(tmp_path: Path) -> None:
    odd = saved(tmp_path / "a.json", {"hello": 1})
    broken = tmp_path / "b.json"
    broken.write_text("[{")
    base = sqlite3.connect(tmp_path / "c.db")
    base.execute("CREATE TABLE other (id)")
    base.commit()
    base.close()
    for path, why in (
        (odd, "not an export"),
        (broken, "not valid JSON"),
        (tmp_path / "c.db", "hist"),
    ):
        (bad,) = mem0.read(path).parts
        assert isinstance(bad, Bad) and why in bad.why


# --- which kind it is --------------------------------------------------------------------


def test_guessing_what_lies_at_a_path(tmp_path: Path) -> None:
    gpt = [chat("a", node("a", "root", "user", "x"))]
    assert guess(saved(tmp_path / "a.json", gpt)) == "chatgpt"
    assert guess(zipped(tmp_path / "b.zip", conversations=[talk(message("1", "human", "x"))])) == (
        "claude"
    )
    assert guess(saved(tmp_path / "m.json", MEMORIES)) == "mem0"
    workspace = tmp_path / "work" / "memory"
    workspace.mkdir(parents=True)
    (workspace / "2026-02-16.md").write_text("- one")
    assert guess(workspace) == guess(workspace.parent) == "openclaw-memory"
    (tmp_path / "vault").mkdir()
    assert guess(tmp_path / "vault") == ""
    (tmp_path / "vault" / "note.md").write_text("words")
    assert guess(tmp_path / "vault") == "markdown"
    saved(tmp_path / "vault" / "export" / "conversations.json", gpt)
    assert guess(tmp_path / "vault") == "chatgpt"
