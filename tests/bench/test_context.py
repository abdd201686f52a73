"""bench/context.py on small made sets. Everybody in them is invented."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.evidence import Evidence, Text, content, normal
from bench.retrieval import Question, Session, Store, Turn

from bench import context, retrieval
from wakebook import Memory
from wakebook.base.clock import parse
from wakebook.models import tokenizer

AT = parse("2031-05-01T08:00:00Z")
assert AT is not None
LAMP = "The lamp on Skerrow was relit by my uncle Ove. It burns on rapeseed oil these days."
GENERIC = "Can you tell me more about that, please?"
LOCOMO_QUESTIONS: list[dict[str, Any]] = [
    {"question": "Who relit the lamp?", "answer": "uncle Ove", "evidence": ["D1:1"], "category": 4},
    {
        "question": "What do Ida and Ove repair?",
        "answer": "the lamp and the boat",
        "evidence": ["D1:1", "D2:1"],
        "category": 1,
    },
    {"question": "Who sank the boat?", "evidence": ["D2:1"], "category": 5},
]


def locomo(folder: Path) -> Path:
    talk = {
        "session_1_date_time": "1:56 pm on 8 May, 2031",
        "session_1": [
            {"speaker": "Ida", "dia_id": "D1:1", "text": LAMP},
            {"speaker": "Ove", "dia_id": "D1:2", "text": GENERIC},
            {"speaker": "Ida", "dia_id": "D1:3", "text": "He carried the barrels up by hand."},
            {"speaker": "Ove", "dia_id": "D1:4", "text": "All those stairs, at his age!"},
        ],
        "session_2_date_time": "9:00 am on 12 May, 2031",
        "session_2": [
            {"speaker": "Ove", "dia_id": "D2:1", "text": "I caulked the boat from stem to stern."},
            {"speaker": "Ida", "dia_id": "D2:2", "text": "We went to the market and sold honey."},
        ],
    }
    samples = [
        {"sample_id": f"talk-{number}", "conversation": talk, "qa": LOCOMO_QUESTIONS}
        for number in range(2)
    ]
    path = folder / "locomo-small.json"
    path.write_text(json.dumps(samples))
    return path


def longmemeval(folder: Path, compact: bool = True) -> Path:
    sessions = {
        "boat": [
            {"role": "user", "content": "My new boat is called Merganser.", "has_answer": True},
            {"role": "assistant", "content": "A fine name for a boat that dives so well."},
        ],
        "bees": [
            {"role": "user", "content": "The bees have swarmed twice this spring already."},
            {"role": "assistant", "content": "Set up a second hive near the first one."},
        ],
    }
    dates = {"boat": "2031/05/01 (Thu) 08:00", "bees": "2031/05/20 (Tue) 08:00"}
    items: list[dict[str, Any]] = []
    for name in ("q0", "q1", "q2_abs", "q3"):
        item: dict[str, Any] = {
            "question_id": name,
            "question_type": "single-session-user",
            "question": "What is my boat called?",
            "answer": "Merganser",
            "question_date": "2031/06/01 (Sun) 10:00",
            "answer_session_ids": ["boat"],
        }
        if compact:
            hay = [{"session": one, "id": one, "date": dates[one]} for one in sessions]
            items.append(item | {"haystack": hay})
        else:
            given = {"haystack_session_ids": list(sessions), "haystack_dates": list(dates.values())}
            items.append(item | given | {"haystack_sessions": list(sessions.values())})
    raw = json.dumps({"questions": items, "sessions": sessions} if compact else items)
    path = folder / ("longmemeval_s.json.xz" if compact else "longmemeval_s.json")
    path.write_bytes(lzma.compress(raw.encode()) if compact else raw.encode())
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    context.main([str(one) for one in arguments])
    return capsys.readouterr().out


def figures(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, *arguments, "--json"))
    return found


def rows(found: list[dict[str, Any]]) -> dict[tuple[str, int | None], dict[str, Any]]:
    return {(row["way"], row["budget"]): row for row in found}


# --- what is in a text -------------------------------------------------------------------------


def store(*sessions: tuple[str, ...]) -> Store:
    """Sessions a, b, …, with turns a0, a1, …."""
    assert AT is not None
    made = [
        Session(name, AT, tuple(Turn(f"{name}{place}", said) for place, said in enumerate(turns)))
        for name, turns in zip("abcdef", sessions, strict=False)
    ]
    return Store("made", tuple(made), ())


def test_a_turn_that_was_cut_is_in_but_not_all_of_its_words() -> None:
    evidence = Evidence(store((f"Ida: {LAMP}",)))
    text = Text("…news: the **lamp** on Skerrow\nwas relit, by my uncle OVE! It burns on rape…")
    assert evidence.has_turn(text, "a0")
    assert evidence.share(text, "a0") == 10 / 17
    assert evidence.share(Text(LAMP), "a0") == 1
    assert not evidence.has_turn(Text("The lamp on Skerrow was relit by my uncle"), "a0")
    assert not evidence.has_turn(Text("The lamp on Skerrow, as was said, relit by uncle"), "a0")
    assert not evidence.has_turn(Text("rapeseed oil these days"), "a0")


def test_short_sentences_count_as_words_beside_their_neighbours_only() -> None:
    evidence = Evidence(store(("Oh, yes! The beacon stands on Skerrow since 1911.",)))
    assert evidence.share(Text("Oh, yes! The beacon stands on Skerrow since 1911."), "a0") == 1
    apart = Text("The beacon stands on Skerrow since 1911. Oh, yes!")
    assert evidence.has_turn(apart, "a0")
    assert evidence.share(apart, "a0") == 7 / 9
    assert not evidence.has_turn(Text("Oh, yes!"), "a0")


def test_a_sentence_needs_25_characters() -> None:
    shorter, enough = "The lamp burned all day.", "The lamp burns all night."
    assert (len(shorter), len(enough)) == (24, 25)
    evidence = Evidence(store((f"{shorter} {enough}",)))
    assert evidence.has_turn(Text(enough), "a0")
    assert not evidence.has_turn(Text(shorter), "a0")


def test_a_turn_without_a_long_sentence_is_in_as_a_whole() -> None:
    evidence = Evidence(store(("It's Ove! He did it.", "Ove.")))
    assert evidence.has_turn(Text("A: it's Ove, he did it"), "a0")
    assert not evidence.has_turn(Text("It's Ove!"), "a0")
    assert evidence.has_turn(Text("Ida and Ove"), "a1")
    assert not evidence.has_turn(Text("Overboard"), "a1")


def test_what_two_sessions_say_counts_for_neither() -> None:
    evidence = Evidence(
        store((GENERIC, f"{GENERIC} And what is the boat called these days?"), (f"Ah. {GENERIC}",))
    )
    text = Text(GENERIC)
    assert not evidence.has_turn(text, "a0")
    assert not evidence.has_session(text, "a")
    assert not evidence.has_session(text, "b")
    both = Text(f"{GENERIC} And what is the boat called these days?")
    assert evidence.has_session(both, "a")
    assert not evidence.has_session(both, "b")


def test_how_many_of_all_sessions_a_text_has() -> None:
    evidence = Evidence(
        store((LAMP,), ("The boat is as tight as a drum.",), (GENERIC,), (GENERIC,))
    )
    assert evidence.spread(Text(f"{GENERIC} {LAMP}")) == 1 / 4
    assert evidence.spread(Text(f"{LAMP}\nThe boat is as tight as a drum.")) == 2 / 4
    assert evidence.spread(Text("")) == 0


def test_the_words_of_an_answer() -> None:
    assert content("The uncle, on 7 May: don't ask") == {"uncle", "7", "may", "ask"}
    assert content("he was there") == frozenset()


# --- figures -----------------------------------------------------------------------------------


def question(**given: Any) -> Question:
    assert AT is not None
    return Question("What of the lamp and the boat?", AT, **given)


def test_the_figures_of_one_question() -> None:
    made = store((f"Ida: {LAMP}", "Ove: Good."), ("Ida: The boat is as tight as a drum.",), ("x",))
    asked = question(
        turns=frozenset({"a0", "b0"}), sessions=frozenset("ab"), answer="Ove, with oil", kind="1"
    )
    shown = context.Shown("- Ida: The lamp on Skerrow was relit by my uncle Ove.", 7.0)
    found = context.judge(asked, shown, Evidence(made), 100)
    assert found.shares == {
        "turns any": 1,
        "turns all": 0,
        "turns share": 0.5,
        "turn words": 10 / 17,
        "sessions any": 1,
        "sessions all": 0,
        "sessions share": 0.5,
        "all sessions": 1 / 3,
        "answer words": 0.5,
    }
    assert (found.turns, found.sessions, found.milliseconds) == (1, 1, 7.0)
    assert found.tokens == tokenizer.count("- Ida: The lamp on Skerrow was relit by my uncle Ove.")
    adversarial = context.judge(replace(asked, kind="5"), shown, Evidence(made), 100)
    assert set(found.shares) - set(adversarial.shares) == {"answer words"}
    nothing = context.judge(asked, context.Shown(""), Evidence(made), 100)
    assert set(nothing.shares.values()) == {0}
    assert "turn words" not in nothing.shares


def outcome(turns: int, tokens: int, tuned: bool, budget: int = 1000) -> context.Outcome:
    share = turns / 2
    shares = {"turns any": float(share > 0), "turns all": float(share == 1), "turns share": share}
    return context.Outcome(question(tuned=tuned), shares, turns, 1, tokens, budget, float(tokens))


def test_means_are_of_questions_and_density_is_of_all_tokens() -> None:
    found = context.summary([outcome(2, 500, True), outcome(1, 1100, True), outcome(0, 400, False)])
    assert found["questions"] == 3
    assert (found["turns any"], found["turns all"], found["turns share"]) == (66.7, 33.3, 50.0)
    assert found["turn words"] is None
    assert found["turns/1k"] == found["sessions/1k"] == 1.5
    assert found["tokens"] == 667
    assert found["over budget"] == 1
    assert found["p50 ms"] == 500
    assert found["tuned half"]["questions"] == 2
    assert found["tuned half"]["turns share"] == 75.0
    assert found["tuned half"]["turns/1k"] == 1.875
    assert found["other half"]["turns any"] == 0.0
    assert "other half" not in context.summary([outcome(2, 500, True)])


# --- data --------------------------------------------------------------------------------------


@pytest.mark.parametrize("compact", [True, False])
def test_abstention_questions_are_left_out_and_halves_stay(tmp_path: Path, compact: bool) -> None:
    stores = context.longmemeval(longmemeval(tmp_path, compact))
    asked = [question for one in stores for question in one.questions]
    assert [(one.id, one.tuned) for one in asked] == [("q0", True), ("q1", False), ("q3", False)]
    assert {one.turns for one in asked} == {frozenset({"boat:0"})}
    assert {one.answer for one in asked} == {"Merganser"}


def test_a_part_is_a_half_and_a_sample_is_the_same_each_time(tmp_path: Path) -> None:
    stores = context.longmemeval(longmemeval(tmp_path))

    def names(part: str, most: int | None) -> list[str]:
        chosen = context.chosen(stores, part, most)
        return [question.id for one in chosen for question in one.questions]

    assert names("tuned", None) == ["q0"]
    assert names("other", None) == ["q1", "q3"]
    assert len(names("all", 2)) == 2
    assert names("all", 2) == names("all", 2)
    assert names("all", 5) == ["q0", "q1", "q3"]


# --- a run -------------------------------------------------------------------------------------


@pytest.mark.parametrize("extract", [[], ["--extract"]])
def test_every_way_on_both_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], extract: list[str]
) -> None:
    sets = ["--locomo", locomo(tmp_path), "--longmemeval", longmemeval(tmp_path)]
    found = figures(capsys, *sets, "--budgets", "4000,400", *extract)
    expected = [(way, budget) for way in context.WAYS[:-1] for budget in (400, 4000)]
    for name, count in [
        ("LoCoMo, categories 1-4", 4),
        ("LoCoMo, all categories", 6),
        ("LongMemEval_S", 3),
    ]:
        assert list(rows(found[name])) == [*expected, ("full", None)]
        for row in found[name]:
            parts = row["tuned half"]["questions"], row["other half"]["questions"]
            assert row["questions"] == sum(parts) == count
            assert row["over budget"] == 0
            assert ("p50 ms" in row) == (row["way"] == "context")
        here = rows(found[name])
        for budget in (400, 4000):
            assert 0 < here["equal", budget]["tokens"] <= here["context", budget]["tokens"]
    whole = rows(found["LoCoMo, categories 1-4"])
    for way in ("newest", "hits", "turns"):
        assert whole[way, 4000]["turns all"] == whole[way, 4000]["turn words"] == 100.0
    assert whole["full", None]["answer words"] == 100.0


def test_the_newest_are_the_last_turns_and_the_hits_the_fitting_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(
        figures(capsys, "--longmemeval", longmemeval(tmp_path), "--budgets", "40",
                "--ways", "newest,hits,turns,full")["LongMemEval_S"]
    )  # fmt: skip
    assert found["newest", 40]["sessions any"] == 0.0
    assert found["newest", 40]["all sessions"] == 50.0
    assert found["hits", 40]["turns all"] == found["turns", 40]["turns all"] == 100.0
    assert found["hits", 40]["answer words"] == 100.0
    tokens = found["full", None]["tokens"]
    assert found["full", None]["turns/1k"] == round(1000 / tokens, 3)
    assert found["hits", 40]["turns/1k"] > found["full", None]["turns/1k"]


def test_the_newest_history_has_no_gaps(memory: Memory) -> None:
    made = store(("The first turn is short.", "A long one. " * 50, "The last turn is short."))
    ((_, shown),) = context.Ways(memory, made, [60]).shown("newest", question())
    assert shown.has(normal("The last turn is short."))
    assert not shown.has(normal("The first turn is short."))


def test_a_turn_that_is_too_long_alone_is_shown_in_part(tmp_path: Path) -> None:
    made = context.longmemeval(longmemeval(tmp_path))[0]
    with context.opened(made, extract=False) as memory:
        ways = context.Ways(memory, made, [8])
        for way in ("newest", "hits", "turns"):
            ((budget, shown),) = ways.shown(way, made.questions[0])
            assert budget == 8
            assert 0 < shown.tokens <= 8


def test_hits_are_lines_with_date_and_speaker(tmp_path: Path) -> None:
    made = retrieval.locomo(locomo(tmp_path))[0]
    with context.opened(made, extract=False) as memory:
        ways = context.Ways(memory, made, [500])
        for way in ("hits", "turns", "newest", "full"):
            ((_, shown),) = ways.shown(way, made.questions[0])
            assert normal("2031-05-08, Ida The lamp on Skerrow was relit") in shown.normal


def test_with_extract_the_rules_have_read_everything(tmp_path: Path) -> None:
    made = context.longmemeval(longmemeval(tmp_path))[0]
    with context.opened(made, extract=True) as memory:
        assert {one.session for one in memory.log.chains().current()} == {"bees", "boat"}
        note = memory.home.root / "knowledge" / "memory" / "MEMORY.md"
        assert "GENERATED BRIEFING" in note.read_text()
        assert list((memory.home.root / "knowledge" / "journal").rglob("2031-05-01.md"))
        assert memory.index.status().pending == 0
        ((_, shown),) = context.Ways(memory, made, [500]).shown("hits", made.questions[0])
        assert " fact " in shown.normal or " handoff " in shown.normal


def test_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--budgets", "100,200", "--ways", "newest,hits"]
    out = run(capsys, "--longmemeval", longmemeval(tmp_path), *arguments)
    assert out.startswith(context.DEFINITIONS)
    for heading in ("LongMemEval_S: 3 ", "tuned half: 1 ", "other half: 2 "):
        assert heading in out
    lines = [line for line in out.splitlines() if line.startswith("| hits | 200 | ")]
    assert len(lines) == 3
    assert lines[0].split(" | ")[2:5] == ["100.0"] * 3
    out = run(capsys, "--longmemeval", longmemeval(tmp_path), *arguments, "--part", "tuned")
    assert out.count("| hits | 200 | ") == 1
    assert "tuned half: 1 questions" in out


@pytest.mark.parametrize("arguments", [[], ["--locomo", "x", "--ways", "hits,luck"]])
def test_it_says_what_it_wants(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        context.main(arguments)
