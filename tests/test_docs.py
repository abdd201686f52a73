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
FORMATS = (ROOT / "docs" / "formats.md").read_text()


def test_every_command_is_in_the_readme() -> None:
    for name in COMMANDS:
        assert f"wakebook {name}" in README, name


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


def test_every_exit_code_is_in_the_readme() -> None:
    codes = {cls.exit_code for cls in WakebookError.__subclasses__()}
    listed = README[README.index("Exit codes:") :].split("\n\n")[0]
    for code in codes | {0, 1, 2, 10}:
        assert re.search(rf"\b{code}\b", listed), code


def test_every_module_of_the_core_is_in_the_file_tree() -> None:
    tree = README[README.index("src/wakebook/ ") :]
    for path in (ROOT / "src" / "wakebook").glob("*.py"):
        if path.name not in ("__main__.py",):
            assert path.name in tree, path.name
    for path in (ROOT / "src" / "wakebook").iterdir():
        if path.is_dir() and not path.name.startswith("_"):
            assert f"{path.name}/" in tree, path.name
    for path in (ROOT / "src" / "wakebook" / "capture").glob("[a-z]*.py"):
        assert path.name in tree, path.name


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
