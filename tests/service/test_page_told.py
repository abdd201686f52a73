"""Told, a subject's neighbours and the strip of a conversation, over the real service."""

from __future__ import annotations

import pytest

from tests.service.browsing import Browser
from tests.service.serving import Service

ASKED = "What does the zebra of the zoo eat?"


@pytest.fixture(scope="module")
def browser(service: Service) -> Browser:
    return Browser(service).open()


def test_a_turn_is_shown_tried_and_rated(service: Service, browser: Browser) -> None:
    fact = str(
        service.ask("/v1/remember", {"text": "The zebra of the zoo eats <grass>."}).json["id"]
    )
    service.ask("/v1/context", {"message": ASKED, "session": "told-1"})
    [turn] = service.ask("/v1/turns", {"session": "told-1"}).json["turns"]
    shown = browser.page(f"/told/{turn['id']}")
    assert "Why each line was told" in shown and "Just missed" in shown
    assert f"/page/entry/{fact}" in shown and "<grass>" not in shown
    assert ASKED in browser.page("/told?session=told-1")
    before = service.ask("/v1/turns", {}).json
    tried = browser.page("/told/try?message=What+does+the+zebra+eat%3F&budget=500")
    assert f"/page/entry/{fact}" in tried and service.ask("/v1/turns", {}).json == before
    said = browser.said(browser.send(f"/told/{turn['id']}", "rate", 1))
    assert "Noted as not useful" in said and ">not useful<" in said
    assert browser.get("/page/told/nothing").status == 404
    assert browser.get("/page/subject/nothing").status == 404
