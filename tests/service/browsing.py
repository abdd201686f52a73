"""A browser without a window: it follows a link into the page, keeps cookies and sends forms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from tests.service.serving import Answer, Service


class Browser:
    def __init__(self, service: Service) -> None:
        self.service, self.cookies = service, dict[str, str]()

    def open(self) -> Browser:
        """As a person does who runs `wakebook page`."""
        assert self.get(link(self.service)).status == 303
        return self

    def get(self, path: str, **headers: str) -> Answer:
        return self._ask(path, None, {"Sec-Fetch-Site": "none", **headers})

    def page(self, path: str) -> str:
        """What a view shows."""
        found = self.get(f"/page{path}")
        assert found.status == 200, (path, found.status, found.body[:2000])
        return found.body.decode()

    def send(self, path: str, action: str, number: int = 0, **fields: str) -> Answer:
        """Fill in a form of a view, and send it."""
        forms = re.findall(rf'<form method="post" action="/page/do/{action}".*?</form>',
                           self.page(path), re.DOTALL)  # fmt: skip
        return self.post(action, _hidden(forms[number]) | fields)

    def undo(self, shown: str) -> Answer:
        """Take back what a page says was done."""
        [(action, form)] = re.findall(
            r'class="said" role="status".*?/page/do/(\w+)"(.*?)</form>', shown, re.DOTALL
        )
        return self.post(action, _hidden(form))

    def post(self, action: str, fields: Mapping[str, str], **headers: str) -> Answer:
        port = self.service.port
        given = {"Origin": f"http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"}
        given |= {"Content-Type": "application/x-www-form-urlencoded"} | headers
        return self._ask(f"/page/do/{action}", urlencode(fields).encode(), given)

    def said(self, answer: Answer) -> str:
        """The page that a form leads to."""
        assert answer.status == 303, (answer.status, answer.body[:2000])
        return self.page(answer.headers["location"].removeprefix("/page"))

    def _ask(self, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        given = {"Authorization": "", "Cookie": cookie, **headers}
        found = self.service.ask(path, body, headers=given)
        for name, one in SimpleCookie(found.headers.get("set-cookie", "")).items():
            self.cookies[name] = one.value
        return found


def _hidden(form: str) -> dict[str, str]:
    found = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form)
    return {name: unescape(value) for name, value in found}


def link(service: Service) -> str:
    return str(service.ask("/v1/page", {}).json["path"])
