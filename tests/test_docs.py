"""What the code has, the documents say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import wakebook
from wakebook.base import config
from wakebook.base.errors import WakebookError
from wakebook.cli import COMMANDS
from wakebook.log.entry import Entry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
MAP = (ROOT / "docs" / "README.md").read_text()
REFERENCE = (ROOT / "docs" / "commands.md").read_text()
HISTORY = ("decisions.md", "benchmarks.md")  # they tell of old names, too
TOLD = [path.read_text() for path in (ROOT / "docs").glob("*.md") if path.name not in HISTORY]
TOLD += [path.read_text() for path in (ROOT / "src").rglob("*_files/**/*.md")]
FORMATS = (ROOT / "docs" / "formats.md").read_text()


def test_every_command_is_documented() -> None:
    for name in COMMANDS:
        assert f"wakebook {name}" in REFERENCE, name


def test_documents_name_the_commands_of_today() -> None:
    unlisted = {
        "index",
        "window",
        "hook",
        "mcp",
        "completion",
        "link",
        "git-hook",
        "export",
        "demo",
        "team",
    }
    for document in (README, MAP, REFERENCE, *TOLD):
        for name in re.findall(
            r"[`$] ?wakebook ([a-z][\w-]*)|^wakebook ([a-z][\w-]*)", document, re.M
        ):
            assert "".join(name) in {*COMMANDS, *unlisted}, name


def test_both_ways_to_start_stand_at_the_top() -> None:
    top = README[:1500]
    assert "make demo" in top and "make test" in top


def test_every_setting_is_documented_with_its_default() -> None:
    for name, section in config.Config().values().items():
        for key, value in section.values().items():
            row = f"| {name} | {key} | {json.dumps(value, ensure_ascii=False)} |"
            assert row in FORMATS, row


def test_every_field_of_an_entry_is_documented() -> None:
    for name in Entry.__struct_fields__:
        if name != "extra":
            assert f"| `{name}` |" in FORMATS, name


def test_every_exit_code_is_on_the_map() -> None:
    codes = {cls.exit_code for cls in WakebookError.__subclasses__()}
    listed = MAP[MAP.index("## Exit codes") :]
    for code in codes | {0, 1, 2, 10}:
        assert re.search(rf"\b{code}\b", listed), code


def test_every_room_is_in_the_file_tree() -> None:
    tree = README[README.index("\nsrc/wakebook/\n") :]
    for path in (ROOT / "src" / "wakebook").glob("*.py"):
        if not path.name.startswith("__") and path.name != "version.py":
            assert path.name in tree, path.name
    for path in (ROOT / "src" / "wakebook").iterdir():
        if (path / "__init__.py").exists():
            assert f"{path.name}/" in tree, path.name


def test_every_page_is_on_the_map_and_the_readme_is_short() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in MAP, page.name
    assert len(README.splitlines()) <= 180


def test_links_between_documents_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (document.parent / link).exists(), f"{document.name}: {link}"


def test_the_public_names() -> None:
    names = ["Conversation", "Entry", "Memory", "Query", "WakebookError", "__version__"]
    assert wakebook.__all__ == names
    for name in wakebook.__all__:
        assert getattr(wakebook, name)


def test_nothing_is_left_to_be_filled_in() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        assert "@@" not in document.read_text(), document.name
