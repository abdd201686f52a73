"""The batch endpoints of the scripted server, as Anthropic and OpenAI describe them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.wire import FORMATS, Chat, Refused, Say

Answer = tuple[int, bytes]


class Desk:
    """Takes batches, and answers them when `ready`."""

    def __init__(self, reply: Callable[[Chat], str], chats: list[Chat]) -> None:
        self._reply, self._chats = reply, chats
        self.batches: list[dict[str, Any]] = []  # each with its requests: (custom_id, body)
        self.files: dict[str, bytes] = {}
        self.ready = False
        self.failing: set[int] = set()  # numbers of requests, in their batch, that fail

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer | None:
        """None: the path is another one's."""
        path = path.partition("?")[0].removeprefix("/v1")
        for pattern, act in self._routes().items():
            if found := re.fullmatch(pattern, f"{method} {path}"):
                said = act(headers, body, *found.groups())
                if said is None:
                    return 404, b'{"error": {"message": "not found"}}'
                return 200, said if isinstance(said, bytes) else json.dumps(said).encode()
        return None

    def _routes(self) -> dict[str, Callable[..., Any]]:
        return {
            "POST /messages/batches": self._anthropic,
            "GET /messages/batches": lambda h, b: {"data": [self._shown(o) for o in self.batches]},
            "GET /messages/batches/([^/]+)": lambda h, b, id_: self._shown(self._find(id_)),
            "GET /messages/batches/([^/]+)/results": self._results,
            "POST /files": self._file,
            "GET /files/([^/]+)/content": lambda h, b, id_: self.files.get(id_),
            "POST /batches": self._openai,
            "GET /batches": lambda h, b: {"data": [self._told(one) for one in self.batches]},
            "GET /batches/([^/]+)": lambda h, b, id_: self._told(self._find(id_)),
        }

    def _find(self, id_: str) -> dict[str, Any]:
        return next(one for one in self.batches if one["id"] == id_)

    def _made(self, requests: list[tuple[str, Any]], headers: dict[str, str], more: Any) -> Any:
        assert len({name for name, _ in requests}) == len(requests)
        id_ = f"batch_{len(self.batches) + 1}"
        self.batches.append({"id": id_, "requests": requests, "headers": headers, **more})
        return self.batches[-1]

    def _said(self, one: dict[str, Any], path: str) -> list[tuple[str, Any]]:
        """The answers of a batch: of one that fails, None."""
        found: list[tuple[str, Any]] = []
        form = next(each for each in FORMATS if path.endswith(each.end))
        for number, (name, body) in enumerate(one["requests"]):
            if number in self.failing:
                found.append((name, None))
                continue
            try:
                chat = form.question(path, one["headers"], body)
            except Refused as error:
                raise AssertionError(error.message) from error
            self._chats.append(chat)
            found.append((name, form.answer(chat, Say(self._reply(chat)))))
        return found[::-1]  # in any order

    # --- Anthropic ---

    def _anthropic(self, headers: dict[str, str], body: bytes) -> Any:
        requests = [(one["custom_id"], one["params"]) for one in json.loads(body)["requests"]]
        assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name, _ in requests)
        return self._shown(self._made(requests, headers, {}))

    def _shown(self, one: dict[str, Any]) -> Any:
        number, done = len(one["requests"]), self.ready
        counts = {"processing": 0 if done else number, "succeeded": number if done else 0}
        return {
            "id": one["id"],
            "type": "message_batch",
            "processing_status": "ended" if done else "in_progress",
            "request_counts": counts | {"errored": 0, "canceled": 0, "expired": 0},
            "created_at": "2026-11-09T08:00:00.5Z",
        }

    def _results(self, headers: dict[str, str], body: bytes, id_: str) -> bytes | None:
        if not self.ready:
            return None
        expired = {"type": "expired"}
        rows = (
            {
                "custom_id": name,
                "result": {"type": "succeeded", "message": said} if said else expired,
            }
            for name, said in self._said(self._find(id_), "/v1/messages")
        )
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    # --- OpenAI ---

    def _file(self, headers: dict[str, str], body: bytes) -> Any:
        mark = headers["content-type"].partition("boundary=")[2].encode()
        parts = [part.partition(b"\r\n\r\n") for part in body.split(b"--" + mark)[1:-1]]
        named = {re.findall(rb'name="(\w+)"', head)[0]: data[:-2] for head, _, data in parts}
        assert named[b"purpose"] == b"batch"
        id_ = f"file-{len(self.files) + 1}"
        self.files[id_] = named[b"file"]
        return {"id": id_, "object": "file"}

    def _openai(self, headers: dict[str, str], body: bytes) -> Any:
        asked = json.loads(body)
        assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
        rows = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert all((row["method"], row["url"]) == ("POST", asked["endpoint"]) for row in rows)
        requests = [(row["custom_id"], row["body"]) for row in rows]
        return self._told(self._made(requests, headers, {"metadata": asked["metadata"]}))

    def _told(self, one: dict[str, Any]) -> Any:
        told = {"id": one["id"], "object": "batch", "metadata": one["metadata"]}
        if not self.ready:
            return told | {"status": "in_progress"}
        if "output" not in one:
            one["output"] = f"file-{len(self.files) + 1}"
            no = {"response": None, "error": {"code": "batch_expired", "message": "expired"}}
            rows = (
                {"custom_id": name}
                | ({"response": {"status_code": 200, "body": said}, "error": None} if said else no)
                for name, said in self._said(one, "/v1/chat/completions")
            )
            self.files[one["output"]] = "".join(json.dumps(row) + "\n" for row in rows).encode()
        return told | {"status": "completed", "output_file_id": one["output"]}
