from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from wakebook.log.chains import resolve
from wakebook.log.entry import Entry, new_id
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import obsidian
from wakebook.notes.obsidian import (
    JOURNAL,
    TOPIC,
    LogPages,
    Unclosed,
    VaultPage,
    Written,
    code,
    insert,
    marks,
    name,
    plain,
)

NOON = datetime(2026, 2, 20, 12, 0, tzinfo=UTC)
SUBJECTS = Registry(
    {
        "auth-migration": Subject("auth-migration", "Auth Migration"),
        "petra": Subject("petra", "Petra", "person"),
        "lagoon": Subject("lagoon", "Lagoon", "system"),
        "old-idea": Subject("old-idea", "Old Idea", "project", (), True),
    }
)


def said(content: str, type_: str = "fact", days: float = 0, **fields: object) -> Entry:
    base = {
        "id": new_id(),
        "timestamp": NOON + timedelta(days=days),
        "type": type_,
        "session": "abc12345-6789",
        "status": "open" if type_ == "task" else None,
    }
    return Entry(content=content, **(base | fields))  # type: ignore[arg-type]


def linked(key: str) -> str:
    return f"[[{key}]]"


def built(
    *entries: Entry,
    registry: Registry = SUBJECTS,
    zone: tzinfo = UTC,
    written: Written = frozenset(),
) -> dict[str, str]:
    """The text of every page, by its name, without marks."""
    vault = LogPages(resolve(entries), registry, zone, written)
    return {page.name: text(vault, page) for page in vault.pages()}


def text(vault: LogPages, page: VaultPage) -> str:
    return re.sub(r" \^w[^\n]*", "", vault.text(page, None, linked))


def section(page: str, heading: str) -> list[str]:
    rest = page.split(f"## {heading}\n")[1].split("\n\n")[0]
    return [line for line in rest.splitlines() if line and not line.startswith("##")]


def pairs(kind: str, *entries: Entry) -> set[tuple[str, str]]:
    return {(kind, code(entry.id)) for entry in entries}


# --- pages -------------------------------------------------------------------------------


def test_a_day_and_a_subject_with_their_sections() -> None:
    pages = built(
        said("Queue-based retries.", "decision", detail="they cascade", subject="auth-migration"),
        said("Backfill the 47 jobs", "task", subject="auth-migration"),
        said("Is it enough?", "question", subject="auth-migration"),
        said("Retries work\nThe backfill has not begun", "handoff"),
        said("Unpacked the boxes", "task", status="done"),
    )
    assert list(pages) == ["2026-02-20", "Auth Migration Project"]
    day, topic = pages.values()
    about = "([[subject/auth-migration]])"
    assert section(day, "Log") == [
        f"- Queue-based retries — they cascade {about}",
        "- Done: Unpacked the boxes",
    ]
    assert section(day, "Todo") == [f"- Backfill the 47 jobs {about}"]
    assert section(day, "Questions") == [f"- Is it enough? {about}"]
    assert section(day, "Sessions") == ["- abc12345 — 12:00", "  Retries work"]
    assert section(topic, "Log") == [
        "- 2026-02-20: Queue-based retries — they cascade ([[day/2026-02-20]])"
    ]
    assert section(topic, "Pending") == ["- Backfill the 47 jobs ([[day/2026-02-20]])"]
    assert section(topic, "Open Questions") == ["- Is it enough? ([[day/2026-02-20]])"]


def test_frontmatter_names_the_type_and_whose_page_it_is() -> None:
    pages = built(*(said("x", subject=slug) for slug in ("auth-migration", "petra", "lagoon")))
    fronts = {page: yaml.safe_load(text.split("---\n")[1]) for page, text in pages.items()}
    assert fronts["2026-02-20"] == {
        "type": "journal",
        "tags": ["journals"],
        "created": NOON.date(),
        "wakebook": "day/2026-02-20",
    }
    assert fronts["Auth Migration Project"]["aliases"] == ["Auth Migration"]
    assert fronts["Auth Migration Project"]["tags"] == ["projects"]
    assert fronts["Petra"]["type"] == "person"
    assert "## Contact\n- Role:" in pages["Petra"] and "## Contact" not in pages["Lagoon"]
    assert "aliases" not in fronts["Lagoon"]


def test_days_are_those_of_the_users_clock() -> None:
    late = said("Late", days=0.45)  # 22:48 in UTC
    assert list(built(late)) == ["2026-02-20"]
    assert list(built(late, zone=ZoneInfo("Europe/Athens"))) == ["2026-02-21"]
    first = said("Before everything").with_(timestamp=datetime(1, 1, 1, tzinfo=UTC))
    assert list(built(first, zone=ZoneInfo("America/Lima"))) == ["0001-01-01"]


def test_what_was_written_is_not_written_again_wherever_it_is() -> None:
    old, new = said("Old", subject="lagoon"), said("New", subject="lagoon")
    written = frozenset(pairs(JOURNAL, old) | pairs(TOPIC, old))
    pages = built(old, new, written=written)
    assert section(pages["2026-02-20"], "Log") == ["- New ([[subject/lagoon]])"]
    assert section(pages["Lagoon"], "Log") == ["- 2026-02-20: New ([[day/2026-02-20]])"]
    moved = built(old, written=written, zone=ZoneInfo("Pacific/Kiritimati"))
    assert moved == {}


def test_a_correction_says_what_it_corrects() -> None:
    launch = said("The launch is on the 14th", subject="lagoon")
    task = said("Send the form", "task")
    asked = said("Which day?", "question", subject="lagoon")
    pages = built(
        launch,
        task,
        asked,
        said("The launch is on the 21st", days=1, subject="lagoon", replaces=(launch.id,)),
        said("Sent the form", "task", 1, status="done", replaces=(task.id,)),
        said("A Friday", days=1, replaces=(asked.id,)),
        said("It was the 14th", days=2, replaces=("gone-gone-00",)),
    )
    assert section(pages["2026-02-20"], "Log") == [
        "- The launch is on the 14th ([[subject/lagoon]])",
        "- To do: Send the form",
        "- Asked: Which day? ([[subject/lagoon]])",
    ]
    assert section(pages["2026-02-20"], "Todo") == []
    assert section(pages["2026-02-21"], "Log") == [
        "- The launch is on the 21st — corrects “The launch is on the 14th” of "
        "[[day/2026-02-20]] ([[subject/lagoon]])",
        "- Done: Sent the form — finishes “Send the form” of [[day/2026-02-20]]",
        "- A Friday — answers “Which day?” of [[day/2026-02-20]] ([[subject/lagoon]])",
    ]
    assert section(pages["Lagoon"], "Log")[-1].startswith("- 2026-02-21: A Friday — answers")
    assert section(pages["2026-02-22"], "Log") == ["- It was the 14th"]


def test_another_reading_of_the_same_words_is_written_once() -> None:
    path = "raw/conversations/2026/02/20/1200-a.md"
    rules = said("Its the 14th", transcript=path, by="rules", subject="lagoon")
    wrong = said("Nobody said this", transcript=path, by="rules", subject="lagoon")
    model = said("The 14th", transcript=path, by="some/model", replaces=(rules.id,))
    handoff = said("Where it stands", "handoff", replaces=(wrong.id,))
    fresh = built(rules, wrong, model, handoff)
    assert section(fresh["2026-02-20"], "Log") == [
        "- The 14th — replaces “Its the 14th” ([[subject/lagoon]])"
    ]
    written = frozenset(pairs(JOURNAL, rules, wrong) | pairs(TOPIC, rules, wrong))
    later = built(rules, wrong, model, handoff, written=written)
    assert section(later["Lagoon"], "Log")[0] == (
        "- 2026-02-20: Withdrawn: “Nobody said this” ([[day/2026-02-20]])"
    )
    told = frozenset((kind, code(wrong.id) + "-x") for kind in (JOURNAL, TOPIC))
    again = built(rules, wrong, model, handoff, written=written | told)
    assert "Withdrawn" not in "".join(again.values())


def test_a_page_hears_of_a_correction_on_another_one() -> None:
    wrong = said("Petra runs on port 80", subject="petra")
    right = said("Lagoon runs on port 80", subject="lagoon", replaces=(wrong.id,))
    assert section(built(wrong, right)["Petra"], "Log") == [
        "- 2026-02-20: Petra runs on port 80 ([[day/2026-02-20]])",
        "- 2026-02-20: No more: “Petra runs on port 80” — now: Lagoon runs on port 80, see "
        "[[subject/lagoon]] ([[day/2026-02-20]])",
    ]


def test_a_deleted_subject_gets_no_page() -> None:
    assert list(built(said("x", subject="old-idea"))) == ["2026-02-20"]


def test_circles_without_a_subject_end() -> None:
    one = said("One")
    two = said("Two", replaces=(one.id,))
    assert list(built(one.with_(replaces=(two.id,)), two)) == ["2026-02-20"]


# --- names -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("display", "expected"),
    [
        ('A*B"C\\D/E<F>G:H|I?J#K^L[M]N', "A B C D E F G H I J K L M N"),
        ("...hidden.", "hidden"),
        ("Größe 東京 🚤", "Größe 東京 🚤"),
        ("Caf\u0065\u0301", "Café"),
        ("a\nb\tc\x00d\u202ee", "a b c d e"),
        ("100%% sure", "100% sure"),
        ("CON", "CON_"),
        ("[[]]", ""),
        ("\u200b", ""),
        ("\ud800x", "x"),
    ],
)
def test_a_name_that_every_system_takes(display: str, expected: str) -> None:
    assert name(display) == expected


@given(st.text())
def test_any_name_is_short_and_harmless(display: str) -> None:
    found = name(display)
    assert len(found.encode()) <= obsidian.NAME_BYTES + 1
    assert not re.search(r'[*"\\/<>:|?#^\[\]\x00-\x1f]|%%', found)
    assert found == found.strip() and not found.startswith(".")


def test_pages_of_odd_subjects_have_names() -> None:
    registry = Registry(
        {
            "a": Subject("a", "???"),
            "b": Subject("b", "The Lagoon project"),
            "c": Subject("c", "2026-02-20", "other"),
            "d": Subject("d", "x" * 5000, "tool"),
        }
    )
    names = list(built(*(said("x", subject=slug) for slug in "abcd"), registry=registry))
    assert names[:4] == ["2026-02-20", "A Project", "The Lagoon project", "2026-02-20 (c)"]
    assert names[4] == "x" * obsidian.NAME_CHARACTERS


# --- plain text --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[[Link]] and ![[embed]]", r"\[\[Link\]\] and !\[\[embed\]\]"),
        ("#tag and C# and a (#b)", r"\#tag and C# and a (\#b)"),
        ("--- \n- a", r"\--- - a"),
        ("1. first", r"1\. first"),
        ("> quoted -> arrow", r"\> quoted -> arrow"),
        ("%%hidden%% 100%", r"\%\%hidden\%\% 100%"),
        ("<script>x</script> &lt; a&b", r"\<script>x\</script> \&lt; a&b"),
        ("snake_case and _em_", r"snake_case and \_em\_"),
        ("==high== ~~gone~~ a=b", r"\=\=high\=\= \~\~gone\~\~ a=b"),
        ("$5 `code` *b* C:\\x", r"\$5 \`code\` \*b\* C:\\x"),
        ("see ^w-abc", r"see \^w-abc"),
        ("https://a.b/c_d#e?f=[1]%", "https://a.b/c_d#e?f=%5B1%5D%25"),
        ("a\u2028b\x0bc\x00d", "a b cd"),
    ],
)
def test_text_stays_text(content: str, expected: str) -> None:
    assert plain(content) == expected


@given(st.text(alphabet="ab _*[]#^%=~$`<>&|\\-+1.\n!/:;", min_size=1))
def test_nothing_but_text_comes_out_of_any_text(content: str) -> None:
    line = plain(content)
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "x", line)  # without what is escaped
    assert "\n" not in line
    assert not re.search(r"[\[\]`*<$]|%%|==|~~", bare)
    assert not re.match(r"[-+>]|\d+[.)](\s|$)|#", line)
    unescaped = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", line)
    assert unescaped == " ".join(content.split())


def test_ids_give_marks_of_their_own() -> None:
    ids = ["a-_000000000", "a_-000000000", "a--000000000", "a-0_00000000"]
    assert len({code(one) for one in ids}) == 4
    line = f"- x {obsidian.mark(JOURNAL, code(ids[0]))}  \r\nno ^w-abc here\n"
    assert marks(line) == {(JOURNAL, code(ids[0]))}


# --- putting lines in --------------------------------------------------------------------

LINES = {"Log": ["- one", "- two"], "Todo": ["- three"]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "## Log\n- one\n- two\n\n## Todo\n- three\n"),
        ("## Log\n\n## Todo\n", "## Log\n- one\n- two\n\n## Todo\n- three\n"),
        ("## Log\n- zero\n\n\n## Todo", "## Log\n- zero\n- one\n- two\n\n\n## Todo\n- three\n"),
        ("# Mine\ntext", "# Mine\ntext\n\n## Log\n- one\n- two\n\n## Todo\n- three\n"),
        (
            "## Log\r\nA thought.\r\n\r\n## Todo\r\n",
            "## Log\r\nA thought.\r\n\r\n- one\r\n- two\r\n\r\n## Todo\r\n- three\r\n",
        ),
        (
            "## Todo\n- a\n\n---\n## Log\n- b\n### Mine\nx\n",
            "## Todo\n- a\n- three\n\n---\n## Log\n- b\n- one\n- two\n### Mine\nx\n",
        ),
        (
            "```\n## Log\n```\n%%\n## Todo\n%%\n",
            "```\n## Log\n```\n%%\n## Todo\n%%\n\n## Log\n- one\n- two\n\n## Todo\n- three\n",
        ),
        (
            "---\na: 1\n---\n# log #\n## Todo",
            "---\na: 1\n---\n# log #\n- one\n- two\n## Todo\n- three\n",
        ),
    ],
)
def test_lines_go_to_the_end_of_their_section(before: str, after: str) -> None:
    assert insert(before, LINES) == after


@pytest.mark.parametrize("beginning", ["```python\n", "~~~\n", "%%\n", "<!-- a\n"])
def test_what_never_ends_is_refused(beginning: str) -> None:
    with pytest.raises(Unclosed, match="line 2 begins"):
        insert(f"text\n{beginning}## Log\n", LINES)
    assert insert(f"## Log\n## Todo\n## Mine\n{beginning}", LINES).endswith(beginning)


pieces = st.sampled_from(
    "## Log\n|## Todo\n|- a\n|text|\n|\r\n|---\n|```\n|%%\n|### x\n|<!-- |-->\n|  b\n| ".split("|")
)


@given(st.lists(pieces).map("".join))
def test_no_byte_that_was_there_is_lost_or_moved(before: str) -> None:
    try:
        after = insert(before, LINES)
    except Unclosed:
        return
    rest = iter(after)
    assert all(char in rest for char in before)  # in this order
    for line in ("- one", "- two", "- three"):
        assert after.splitlines().count(line) == 1
