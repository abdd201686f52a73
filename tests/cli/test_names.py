"""The commands' names: what `--help` lists, and the old names that still work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import wakebook.cli
from tests.journeys.command import call, run
from wakebook.cli import COMMANDS, GROUPS, PLACES, cli
from wakebook.verbs import VERBS

NAMES = {
    "Start": ["setup", "init", "models", "catch-up", "import", "serve"],
    "Look": ["page", "search", "show", "log", "history", "status"],
    "Keep": ["remember", "forget", "erase", "review", "notes", "subjects", "topics"],
    "Care": ["doctor", "jobs", "rebuild", "sync"],
    "For agents": ["wake", "context"],
}
BELOW = {
    "decisions": ["useful", "useless"],
    "export": ["obsidian"],
    "history": ["when", "diff", "at", "snapshot", "explore", "undo", "restore", "commit"],
    "jobs": ["list", "run", "watch"],
    "models": ["test", "use", "prompts"],
    "notes": ["brief", "review"],
    "rebuild": ["list", "show", "merge", "drop"],
    "review": ["accept", "reject", "dismiss"],
    "serve": ["install", "uninstall", "stop", "status"],
    "sync": ["add", "status", "clone", "undo", "key", "share", "take", "heal", "remove"],
    "subjects": ["list", "add", "type", "rename", "merge", "delete"],
    "topics": ["list", "check", "new", "test", "fire", "observe", "decisions"],
    "window": ["flush", "prune"],
}
OLD = {  # all 44 names of the flat list that are not listed now, and their subcommands
    "at": "", "audit": "", "brief": "", "commit": "", "completion": "", "costs": "", "demo": "",
    "diff": "", "explore": "", "flush": "", "gates": "useful useless",
    "hook": "", "prompts": "", "prune": "", "restore": "",
    "service": "install uninstall stop status",
    "snapshot": "", "tick": "", "undo": "", "vault": "build", "watch": "", "when": "", "why": "",
}  # fmt: skip
STILL = (
    "init catch-up serve mcp import jobs wake context topics log search index show remember forget "
    "subjects notes review rebuild status doctor"
).split()


def found(*path: str) -> click.Command:
    command: click.Command | None = cli
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name)
    assert command is not None, path
    return command


def listed() -> dict[str, list[str]]:
    """The sections of `wakebook --help`, each with the commands in it."""
    sections: dict[str, list[str]] = {}
    for line in run("--help").split("\n"):
        if title := re.fullmatch(r"(\S.*):", line):
            names = sections.setdefault(title[1], [])
        elif command := re.match(r"  ([a-z][\w-]*)  ", line):
            names.append(command[1])
    return sections


def test_help_groups_at_most_25_commands_by_what_a_person_wants() -> None:
    assert {name: names for name, names in listed().items() if name != "Options"} == NAMES
    assert {name: names.split() for name, names in GROUPS.items()} == NAMES
    assert len(COMMANDS) == len(set(COMMANDS)) <= 28


def test_every_subcommand_is_named_beside_its_command() -> None:
    overview = re.sub(r"\s+", " ", run("--help"))
    for name, below in BELOW.items():
        path = {"decisions": ["topics", name], "review": ["notes", name]}.get(name, [name])
        group = found(*path)
        assert isinstance(group, click.Group) and list(group.commands) == below
        assert path[0] not in COMMANDS or len(path) > 1 or f": {', '.join(below)}." in overview
        for one in below:
            assert f"Usage: wakebook {' '.join(path)} {one} " in run(*path, one, "--help")


def test_no_summary_is_cut_off() -> None:
    for path in [[name] for name in COMMANDS] + [["review", one] for one in BELOW["review"]]:
        about = found(*path).get_short_help_str(limit=100)
        assert about and not about.endswith("..."), path


def test_nothing_of_the_flat_list_is_lost() -> None:
    assert len(OLD) + len(STILL) == 44
    assert set(OLD) | set(STILL) < set(PLACES)
    assert set(PLACES) - set(OLD) - set(COMMANDS) == {
        *"export git-hook index link mcp team window".split()
    }


@pytest.mark.parametrize("name", OLD)
def test_an_old_name_answers_and_is_hidden(name: str) -> None:
    assert f"Usage: wakebook {name} " in run(name, "--help")
    for below in OLD[name].split():
        assert f"Usage: wakebook {name} {below} " in run(name, below, "--help")
    assert name not in COMMANDS
    assert name not in [one for names in listed().values() for one in names]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *[(name, f"history {name}") for name in BELOW["history"]],
        *[(name, f"window {name}") for name in BELOW["window"]],
        *[(name, f"notes {name}") for name in BELOW["notes"]],
        *[(f"service {name}", f"serve {name}") for name in BELOW["serve"]],
        ("gates", "topics decisions"),
        ("prompts", "models prompts"),
        ("tick", "jobs run"),
        ("vault build", "export obsidian"),
        ("watch", "jobs watch"),
    ],
)
def test_an_old_name_is_the_same_command(old: str, new: str) -> None:
    assert found(*old.split()) is found(*new.split())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("audit", "status --sessions"),
        ("audit -v --json", "status --sessions --verbose --json"),
        ("costs", "status --costs"),
        ("costs --by day --since 7d --json", "status --costs --by day --since 7d --json"),
        ("jobs --json", "jobs list --json"),
        ("rebuild --list", "rebuild list"),
        ("rebuild --show nope", "rebuild show nope"),
        ("rebuild --merge nope", "rebuild merge nope"),
        ("rebuild --drop nope --json", "rebuild drop nope --json"),
        ("why memory/MEMORY.md:1", "show memory/MEMORY.md:1"),
        ("why memory/MEMORY.md:1 --json", "show memory/MEMORY.md:1 --json"),
        ("why nope.md:1", "show nope.md:1"),
    ],
)
def test_an_old_way_says_the_same(old: str, new: str) -> None:
    run("init")
    run("remember", "The launch is on 21 November")
    before, after = (_called(one.split()) for one in (old, new))
    assert before == after and before[1]


def _called(words: list[str]) -> tuple[int, bytes]:

    done = call(*words)
    return done.code, done.out + done.err


def test_options_stand_before_and_after_a_subcommand(tmp_path: object) -> None:
    home = f"{tmp_path}/there"
    run("init", home)
    after = run("topics", "list", "--home", home, "--json")
    assert after.startswith("{")
    for words in (
        ["--home", home, "topics", "list", "--json"],
        ["topics", "--home", home, "list", "--json"],
        ["topics", "--home", home, "--json", "list"],
        ["topics", "--json", "list", "--home", home],
    ):
        assert run(*words) == after
    assert "no Wakebook home" in run("topics", "--json", "list", code=3)


def test_a_groups_own_option_is_not_lost_before_a_subcommand() -> None:
    assert "--dry-run does not go with 'merge'" in run("rebuild", "--dry-run", "merge", "x", code=2)
    assert "--full does not go with 'review'" in run("notes", "--full", "review", code=2)
    assert "--sessions or --costs" in run("status", "--sessions", "--costs", code=2)
    assert "go with --costs" in run("status", "--by", "day", code=2)
    assert "go with --sessions" in run("status", "-v", code=2)


def test_search_and_log_take_the_filters_of_the_service() -> None:
    own = {"home", "as_json", "words", "details"}
    for name in ("search", "log"):
        fields = set(VERBS[name].asks.__struct_fields__) - {"text", "cwd"}
        assert {one.name for one in found(name).params} - own == fields, name


def test_every_section_of_the_help_is_a_commands() -> None:
    def functions(command: click.Command) -> Iterator[str]:
        if command is not cli and command.callback:
            yield f"{command.callback.__module__}.{command.callback.__name__}"
        for name in PLACES if command is cli else getattr(command, "commands", ()):
            assert isinstance(command, click.Group)
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from functions(below)

    text = Path(wakebook.cli.__file__).with_name("help.md").read_text(encoding="utf-8")
    sections = re.findall(r"(?m)^## (.+)$", text)
    known = {name.removeprefix("wakebook.cli.") for name in functions(cli)}
    assert len(sections) == len(set(sections)) > 30
    assert set(sections) <= known | {"epilog"}


def test_a_typing_error_is_told_the_nearest_name() -> None:
    assert "Did you mean 'status'" in run("statsu", code=2)
    assert "Did you mean 'undo'" in run("udno", code=2)


COLD = """
import sys, runpy
sys.argv = ["wakebook", *sys.argv[1:]]
try:
    runpy.run_module("wakebook", run_name="__main__")
except SystemExit:
    pass
print(sum(name.partition(".")[0] == "wakebook" for name in sys.modules))
"""


@pytest.mark.parametrize(
    ("words", "most"), [("search postgres", 40), ("context hello", 80), ("wake", 8)]
)
def test_a_cold_start_loads_few_modules(words: str, most: int) -> None:
    import subprocess
    import sys

    run("init")
    run("remember", "We go with Postgres")
    run(*words.split(), code=0)
    done = subprocess.run(
        [sys.executable, "-c", COLD, *words.split()], capture_output=True, text=True
    )
    assert int(done.stdout.split()[-1]) <= most, done.stderr
