"""bench/told.py: that it plays, and that it counts right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.told import Check, checked, main, scenarios


def verdicts(told: str, own: str = "", **probe: object) -> list[tuple[str, bool]]:
    return [(one.kind, one.ok) for one in checked(dict(probe), told, own)]


def test_it_counts_right() -> None:
    told = "- the beta moved to port 9100, not 8090\n- Kim has the key"
    assert verdicts(told, must=["9100|9200", "re:port \\d+", "8100"]) == [
        ("must", True),
        ("must", True),
        ("must", False),
    ]
    assert verdicts(told, must_not=["8090", "!8090", "the key"]) == [
        ("must not", True),
        ("must not", False),
        ("must not", False),
    ]
    assert verdicts(told, once=["key", "the"]) == [("once", True), ("once", False)]
    assert verdicts(told, silent=True) == [("silent", True)]
    assert verdicts(told, "x" * 9, silent=True, max_chars=8) == [("silent", False), ("size", False)]
    assert [*checked({"must": ["x"]}, "", "")] == [Check("must", False, "x")]


def test_every_scenario_has_what_it_needs() -> None:
    found = scenarios(Path(__file__).parents[2] / "bench" / "told")
    assert len({one["id"] for one in found}) == len(found) >= 20
    for one in found:
        assert one["sessions"] and one["probes"] and one["now"]
        for probe in one["probes"]:
            assert probe["kind"] == "start" or probe["message"]
            assert {"must", "must_not", "silent", "once"} & probe.keys(), probe


def test_it_plays_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cwd = "/home/mira/code/harbour"
    said = [("user", "the ferry has berth 12"), ("agent", "Noted."), ("user", "thanks")]
    scenario = {
        "id": "one",
        "now": "2026-11-16T09:00:00Z",
        "sessions": [
            {
                "time": "2026-11-10T09:00:00Z",
                "cwd": cwd,
                "messages": [{"role": role, "text": text} for role, text in said],
            }
        ],
        "probes": [
            {"kind": "prompt", "cwd": cwd, "message": "which berth?", "must": ["berth 12"]},
            {"kind": "prompt", "cwd": cwd, "message": "thanks a lot!", "silent": True},
            {"kind": "start", "cwd": cwd, "must": ["zebra"]},
        ],
    }
    (tmp_path / "one.json").write_text(json.dumps(scenario))
    main([str(tmp_path), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"once", "together"}
    for way in found.values():
        assert way["must, prompt"] == [1, 1] and way["silent"] == [1, 1]
        assert way["must"] == [1, 2] and way["probes"] == [2, 3]
    with pytest.raises(SystemExit, match=r"no scenario zz\*"):
        main([str(tmp_path), "--only", "zz"])
