"""The page over the real service: who may come in, what is shown, and what actions do."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.browsing import Browser, link
from tests.service.serving import SECONDS, Service, made, own_env, serving
from wakebook import Memory
from wakebook.base.errors import Locked
from wakebook.base.home import Home
from wakebook.log.query import Query
from wakebook.service.page.site import STATUS
from wakebook.service.page.views import ACTIONS, NAV, VIEWS

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> \x1b[31m \u202eabc\u200b שלום 🦊"
NOTE = "/notes/knowledge/reference/_general.md"


@pytest.fixture(scope="module")
def browser(service: Service) -> Browser:
    return Browser(service).open()


def kept(service: Service, text: str, **fields: object) -> str:
    return str(service.ask("/v1/remember", {"text": text, **fields}).json["id"])


# --- who may come in --------------------------------------------------------------------------
def test_a_link_works_once(service: Service) -> None:
    where = link(service)
    assert service.ask(where, method="HEAD", headers={"Authorization": ""}).status == 410
    first = Browser(service).get(where)
    assert first.status == 303 and first.headers["location"] == "/page/"
    cookie = first.headers["set-cookie"]
    assert all(one in cookie for one in ("HttpOnly", "SameSite=Strict", "Path=/page;"))
    again = Browser(service).get(where)
    assert again.status == 410 and "works no more" in again.body.decode()
    assert "set-cookie" not in again.headers


def test_a_link_leads_to_a_view_of_ours_only(service: Service) -> None:
    for to, where in (("/page/review", "/page/review"), ("https://evil.example", "/page/"),
                      ("//evil.example", "/page/"), ("/page/%0d%0aX:y", "/page/")):  # fmt: skip
        assert Browser(service).get(f"{link(service)}&to={to}").headers["location"] == where


def test_only_who_has_the_token_gets_a_link(service: Service) -> None:
    assert service.ask("/v1/page", {}, headers={"Authorization": ""}).status == 401


@pytest.mark.parametrize("path", ["/page", "/page/", "/page/search?q=a", "/page/events", "/page/x"])
def test_without_a_cookie_nothing_is_told(service: Service, path: str) -> None:
    kept(service, "The secret harbour is Seven Sisters.")
    for cookie in ("", f"wakebook_{service.port}=9999999999.x.y", "wakebook=1; =;;,"):
        answer = service.ask(path, headers={"Authorization": "", "Cookie": cookie})
        assert answer.status == 401 and b"wakebook page" in answer.body
        assert str(service.home).encode() not in answer.body and b"harbour" not in answer.body


def test_the_cookie_opens_the_page_and_nothing_else(browser: Browser) -> None:
    assert browser.get("/v1/status").status == 401
    assert browser.get("/metrics").status == 401


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example:1"}, {"Origin": "https://evil.example"},
     {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}],
)  # fmt: skip
def test_foreign_pages_are_refused_even_with_the_cookie(
    browser: Browser, headers: dict[str, str]
) -> None:
    assert browser.get("/page/", **headers).status == 403
    assert browser.get("/page/assets/x/page.css", **headers).status == 403
    assert browser.post("remember", {"text": "from elsewhere"}, **headers).status == 403


def test_a_form_brings_its_token_and_its_origin(browser: Browser) -> None:
    for token in ("", "0" * 64):
        answer = browser.post("remember", {"text": "no token", "token": token})
        assert answer.status == 403 and b"not from here" in answer.body
    nowhere = browser.post("remember", {"text": "x"}, **{"Origin": "", "Sec-Fetch-Site": ""})
    assert nowhere.status == 403
    answer = browser.post("remember", {"text": "x"}, **{"Content-Type": "text/plain"})
    assert answer.status == 400
    assert not Memory(browser.service.home).search("no token").hits


def test_every_answer_has_the_policy(browser: Browser) -> None:
    for path in ("/page/", "/page/nothing", "/page/assets/x/page.css", "/page/open?key=x"):
        headers = browser.get(path).headers
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'"
        )
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert browser.get("/page/").headers["cache-control"] == "no-store"


def test_a_restart_keeps_people_signed_in_and_a_new_token_does_not(tmp_path: Path) -> None:
    env = own_env(tmp_path)
    home = made(tmp_path)
    with serving(home, env) as first:
        browser = Browser(first).open()
        port = first.port
        assert browser.get("/page/").status == 200
        listening, stream = listened(browser)
        assert stream.readline().startswith(b"retry")
        assert first.stop() == 0  # although a page listens
        listening.close()
    with serving(home, env, port) as second:
        browser.service = second
        assert browser.get("/page/").status == 200
        (home / "token").write_text("another-token-of-some-length\n")
        assert browser.get("/page/").status == 401


# --- what is shown ----------------------------------------------------------------------------
def _addresses(service: Service) -> Iterator[str]:
    name = kept(service, "We open on 21 November.", subject="tidepool", type="decision")
    memory = Memory(service.home)
    file = next((service.home / "knowledge").rglob("*.md")).relative_to(service.home)
    values = {"{id}": name, "{file:path}": str(file)}
    memory.close()
    for view in VIEWS:
        path = view.path
        for key, value in values.items():
            path = path.replace(key, value)
        if "{" not in path:
            yield path + {"/said": f"?entry={name}", "/time/notes": f"?file={file}"}.get(path, "")


def test_every_view_answers_and_says_where_it_is_from(browser: Browser) -> None:
    for path in _addresses(browser.service):
        shown = browser.page(path)
        assert len(shown) < 200_000
        assert "In a terminal: <code>" in shown, path
        assert "<title>" in shown and 'id="main"' in shown and "Skip to the page" in shown
        assert " on" not in re.findall(r"<[a-z]+ (on\w+)=", shown) and " style=" not in shown


def test_looking_changes_nothing(browser: Browser) -> None:
    home, paths = browser.service.home, list(_addresses(browser.service))
    browser.page("/")

    def state() -> dict[Path, bytes]:
        files = (one for one in home.rglob("*") if one.is_file())
        own = (".cache", ".git", "index.db", "index.db-wal", "index.db-shm")
        return {one: one.read_bytes() for one in files if one.relative_to(home).parts[0] not in own}

    before = state()
    for path in paths:
        browser.page(path)
    assert state() == before


def test_the_table_of_views_is_whole() -> None:
    keys = [view.key for view in VIEWS if view.key]
    assert len(keys) == len(set(keys))
    assert len({view.path for view in VIEWS}) == len(VIEWS)
    titles = {view.title for view in VIEWS}
    assert {"Today", "Search", "Notes"} <= titles & {name for group in NAV for name in group}
    for row in (*VIEWS, *ACTIONS.values()):
        assert callable(row.function)
    assert all(view.command for view in VIEWS)


def test_hostile_text_is_shown_and_not_run(browser: Browser) -> None:
    name = kept(browser.service, HOSTILE, subject="reefs", detail=HOSTILE)
    for path in ("/", "/search?q=alert", f"/entry/{name}", f"/entry/{name}/forget", NOTE,
                 "/search?q=%3Cscript%3E%22"):  # fmt: skip
        shown = re.sub(r"<textarea.*?</textarea>", "", browser.page(path), flags=re.DOTALL)
        assert "<script>" not in shown and "<img" not in shown, path
        assert "\x1b" not in shown and "\u202e" not in shown, path
    assert "\\u202e" in browser.page(f"/entry/{name}") and "🦊" in browser.page("/")


@pytest.mark.parametrize(
    "path", ["/nothing", "/entry/nothingatall", "/notes/../../etc/passwd", "/notes/token",
             "/notes/config.toml", "/said?ref=config.toml", "/said?entry=none", "/do/remember"],
)  # fmt: skip
def test_what_is_not_there_gets_a_clear_page(browser: Browser, path: str) -> None:
    found = browser.get(f"/page{path}")
    assert found.status == 404
    assert "<h1>There is no such" in found.body.decode()


def test_the_theme_needs_no_script(browser: Browser) -> None:
    assert 'data-theme="dark"' in browser.said(browser.send("/", "theme", theme="dark"))
    assert 'data-theme="' not in browser.said(browser.send("/", "theme", theme='"><script>'))


def test_assets_are_kept_by_their_hash(browser: Browser) -> None:
    for address in re.findall(r'(?:href|src)="(/page/assets/[^"]+)"', browser.page("/")):
        found = browser.get(address)
        assert found.status == 200 and "immutable" in found.headers["cache-control"], address
    assert browser.get("/page/assets/old/page.css").headers["cache-control"] == "no-cache"
    assert browser.get("/page/assets/x/vendored.toml").status == 404


def test_an_empty_home_and_a_broken_index_have_clear_pages(tmp_path: Path) -> None:
    env = own_env(tmp_path)
    home = made(tmp_path)
    (home / "index.db").write_bytes(b"this is no database" * 1000)
    with serving(home, env) as service:
        browser = Browser(service).open()
        assert "Nothing is remembered yet" in browser.page("/")
        assert "finding" in browser.page("/search?q=anything")
        kept(service, "One thing.")
        (home / "index.db").write_bytes(b"this is no database" * 1000)
        assert "One thing." in browser.page("/")


# --- what actions do --------------------------------------------------------------------------
def test_a_correction_and_its_undo(browser: Browser) -> None:
    name = kept(browser.service, "The quay closes at 6.", subject="quay")
    done = browser.send(f"/entry/{name}", "correct", text="The quay closes at 8.", type="fact")
    shown = browser.said(done)
    assert "Corrected." in shown and "<s>The quay closes at 6.</s>" in shown
    new = re.search(r"/entry/([\w-]{12})", done.headers["location"])
    assert new and new[1] != name
    assert "Corrected." not in browser.page(f"/entry/{new[1]}")  # it is said once
    assert "Holds no longer" in browser.page(f"/entry/{name}")


def test_undo_is_offered_and_works(browser: Browser) -> None:
    name = kept(browser.service, "The ferry leaves at 7.")
    shown = browser.said(browser.send(f"/entry/{name}", "pin"))
    assert "Pinned" in shown
    assert "As it was before." in browser.said(browser.undo(shown))
    assert Memory(browser.service.home).search("ferry leaves", limit=1).hits[0].ref == name
    assert browser.undo(shown).status == 404  # once is enough


def test_what_was_done_is_said_to_a_person_and_not_to_a_script(browser: Browser) -> None:
    name = kept(browser.service, "The ferry bell is loud.")
    where = browser.send(f"/entry/{name}", "pin").headers["location"]
    fetched = browser.get(where, **{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"})
    assert fetched.status == 200 and b"Pinned: it is" not in fetched.body
    assert b"Pinned: it is" in browser.get(where, **{"Sec-Fetch-Dest": "document"}).body


def test_the_second_of_two_windows_is_told(browser: Browser) -> None:
    name = kept(browser.service, "The mast is 9 m.", subject="boat")
    shown = browser.page(f"/entry/{name}")
    token = re.search(r'name="token" value="([^"]+)"', shown)
    assert token
    fields = {"token": token[1], "id": name, "text": "The mast is 10 m.", "type": "fact"}
    assert browser.post("correct", fields).status == 303
    second = browser.post("correct", fields | {"text": "The mast is 11 m."})
    assert second.status == 400 and "changed since you saw it" in second.body.decode()
    assert "The mast is 10 m." in second.body.decode()
    assert not Memory(browser.service.home).log.entries(Query(text="11 m"))


def test_forgetting_says_what_follows_and_can_be_remembered_again(browser: Browser) -> None:
    old = kept(browser.service, "The bilge pump is red.", subject="boat")
    name = kept(browser.service, "The bilge pump is blue.", replaces=[old])
    shown = browser.page(f"/entry/{name}/forget")
    assert "Nothing has happened yet" in shown and "Holds again: " in shown
    assert "With its whole story" in shown
    after = browser.said(browser.send(f"/entry/{name}/forget", "forget", 1))
    assert "Forgotten: 2 entries" in after
    assert browser.get(f"/page/entry/{name}").status == 404
    assert "Remembered again" in browser.said(browser.undo(after))
    [hit] = Memory(browser.service.home).search("bilge pump", limit=1).hits
    assert Memory(browser.service.home).log.entry(hit.ref).content == "The bilge pump is blue."


def test_a_note_is_edited_ticked_and_accepted(browser: Browser) -> None:
    kept(browser.service, "Paint the hull.", type="task", subject="tidepool")
    note = "/notes/knowledge/projects/tidepool/progress.md"
    shown = browser.page(note)
    assert "Why is this here?" in shown
    line = re.search(r"progress\.md\?line=(\d+)#", shown)
    assert line and "/entry/" in browser.page(f"{note}?line={line[1]}").partition("<h2>")[2]
    ticked = browser.said(browser.send(note, "tick"))
    assert "Ticked." in ticked and "waits for your word" in ticked
    assert "- [x]" in (browser.service.home / note.removeprefix("/notes/")).read_text()
    assert "progress.md" in browser.page("/").partition("Needs you")[2]
    assert "Accepted: 1 entry" in browser.said(browser.send("/review", "accept-edit"))
    found = Memory(browser.service.home).search("Paint the hull", limit=1).hits
    assert found[0].status == "done"


def test_an_edit_of_a_note_that_has_changed_is_refused(browser: Browser) -> None:
    note = "/notes/knowledge/identity/USER.md"
    path = browser.service.home / "knowledge" / "identity" / "USER.md"
    text = path.read_text() + "\nI sail.\n"
    shown = browser.page(f"{note}?edit=1")
    assert "<textarea" in shown
    fields = dict(re.findall(r'name="(token|file|sum)" value="([^"]*)"', shown))
    assert "Saved." in browser.said(browser.post("save-note", fields | {"text": text}))
    assert path.read_text() == text
    second = browser.post("save-note", fields | {"text": "mine"})
    assert second.status == 400 and "changed since you saw it" in second.body.decode()
    assert path.read_text() == text


def test_a_locked_home_is_shown_and_not_changed(browser: Browser) -> None:
    home = Home(browser.service.home)
    with home.locked():
        assert browser.get("/page/").status == 200
    assert STATUS[Locked][0] == 423


# --- live -------------------------------------------------------------------------------------
def test_what_another_process_writes_is_told(browser: Browser) -> None:
    listening, stream = listened(browser)
    assert stream.getheader("content-type") == "text/event-stream"
    events, told = _events(stream), set[str]()
    assert next(events) == ("ready", {})
    Memory(browser.service.home).remember("Written by another process.")
    while not {"entries", "notes"} <= told:
        name, data = next(events)
        assert name == "changed" and data.keys() == {"kinds"}  # kinds, never words
        told |= {*data["kinds"]}
    listening.close()


def listened(browser: Browser) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    link = http.client.HTTPConnection("127.0.0.1", browser.service.port, timeout=SECONDS)
    link.request("GET", "/page/events", headers={"Cookie": cookie})
    return link, link.getresponse()


def _events(stream: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, list[str]]]]:
    name = ""
    for line in stream:
        text = line.decode().strip()
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            yield name, json.loads(text.removeprefix("data: "))
