# SPDX-License-Identifier: GPL-2.0
"""The page of `exporter --ui` in a browser, with transfers that go on, and how it looks.

Not in CI, which has no browser: `./vmtest.sh test page` installs one. What is served there,
test_exporter_ui.py sees. Pictures are left in build/out/page.
"""

import contextlib
import re
import time

import pytest
import tables
from browser import browser
from conftest import TOP
from lab import Path as LabPath
from scrape import exporter
from tables import steer
from traffic import connection, token_of, upload

PICTURES = TOP / "build/out/page"
steer_loaded = tables.steer_loaded
SLOW = LabPath(mbit=2)


@pytest.fixture
def steering(both_loaded, steer_loaded):
    """bpf_steer, whose caps are a line and a bar each."""
    steer("path add name lte local 10.0.2.0/24 cap 300K period month")
    steer("path add name dsl local 10.0.1.0/24 cap 1G period month")


@contextlib.contextmanager
def sending(lab, schedulers):
    """A connection by each that sends for longer than a test looks."""
    with contextlib.ExitStack() as stack:
        found, transfers = [], []
        for name in schedulers:
            lab.client.scheduler = name
            conn = stack.enter_context(connection(lab))
            found.append(conn)
            # of the whole transfer, which is to go on for as long as somebody looks
            conn.client.settimeout(3600)
            transfers.append(upload(conn, 64 << 20))
        try:
            yield found
        finally:
            for transfer in transfers:
                transfer.stop = True
            for conn in found:
                conn.abort()
            for transfer in transfers:
                for thread in transfer.threads:
                    thread.join(30)


def shown(page, selector):
    return page.value(f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)")


def width(page):
    """What the page takes; a scroll bar may be beside it."""
    return page.value("document.documentElement.scrollWidth")


def test_connections_as_they_are(labs, steering):
    """Numbers that stats has, bars and lines that move, by mouse or keyboard, wide and narrow."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    lab = labs(SLOW, SLOW).endpoints()
    with (
        exporter("--ui") as served,
        # it takes a minute to start where the CPU is emulated
        browser() as page,
        sending(lab, ("bpf_steer", "bpf_ecf")) as conns,
    ):
        url = served.where.removesuffix("metrics")
        page.open(url, 1280, 900)
        page.wait("document.querySelectorAll('details.conn').length === 2")
        page.wait("/live/.test(document.getElementById('state').textContent)")
        tokens = {token_of(c.client) for c in conns}
        assert {re.search(r"0x\w{8}", t)[0] for t in shown(page, "summary .about")} == tokens
        # of both a rate, and lines of several points
        line = "[...document.querySelectorAll('polyline')].every(l => l.points.length > 6)"
        page.wait(f"document.querySelectorAll('polyline').length === 4 && {line}")
        page.screenshot(PICTURES / "desktop.png")
        assert len(shown(page, ".path")) == 4
        assert all(re.search(r"\d [kM]?B/s", t) for t in shown(page, "summary .rate"))
        # what was given in an interval may be nothing
        shares = page.wait(
            "(found => found.every(f => f[0].endsWith('%')) && found)("
            "[...document.querySelectorAll('.path .meter')].map("
            "m => [m.querySelector('.value').textContent, m.querySelector('.fill').style.width]))"
        )
        assert 197 <= sum(int(said.split()[0]) for said, _ in shares) <= 203
        assert all(round(float(w[:-1])) == int(said.split()[0]) for said, w in shares), shares
        colours = (
            "[...document.querySelectorAll('.fill')].map(e => getComputedStyle(e).backgroundColor)"
        )
        assert "rgba(0, 0, 0, 0)" not in page.value(colours), "every bar is seen"
        assert any("over cap" in t for t in shown(page, ".cap .value"))
        assert width(page) <= 1280
        by_keyboard(page)
        paused(page)
        filtered(page)
        page.open(url, 390, 844, phone=True)
        page.wait("document.querySelectorAll('polyline').length === 4")
        page.wait(f"{line} || document.querySelector('polyline').points.length > 3")
        page.screenshot(PICTURES / "phone.png")
        assert width(page) == 390, "nothing is beside the phone's screen"
        page.open(url, 1280, 900, dark=True)
        page.wait("document.querySelectorAll('polyline').length === 4")
        page.screenshot(PICTURES / "dark.png")
        said, asked = page.complaints()
        assert said == []
        assert {u for u in asked if not u.startswith(("data:", "about:"))} == {
            url + name for name in ("", "stats.json", "accounts.json")
        }
        assert served.end()[0] == 0
        page.open("about:blank", 1280, 900)


def by_keyboard(page):
    """Tab comes by all that can be used, what has the focus is seen, and Enter opens and shuts."""
    names = []
    for _ in range(4):
        page.press("Tab")
        names.append(page.value("document.activeElement.id || document.activeElement.tagName"))
        assert page.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert names == ["pause", "filter", "SUMMARY", "SUMMARY"]
    before = page.value("document.activeElement.parentElement.open")
    page.press("Enter")
    page.wait(f"document.activeElement.parentElement.open === {'false' if before else 'true'}")
    page.press("Enter")


def paused(page):
    page.press("p")
    page.wait("/paused/.test(document.getElementById('state').textContent)")
    before = shown(page, ".path .more")
    # longer than between two rounds
    time.sleep(3)
    assert shown(page, ".path .more") == before
    page.press("p")
    page.wait("/live/.test(document.getElementById('state').textContent)")


def filtered(page):
    page.press("/")
    assert page.value("document.activeElement.id") == "filter"
    page.call("Input.insertText", text="bpf_ecf")
    page.wait("document.querySelectorAll('details.conn').length === 1")
    assert "1 of 2 connections" in shown(page, "#title")


def test_an_exporter_that_has_gone_is_told(both_loaded):
    with exporter("--ui") as served, browser() as page:
        page.open(served.where.removesuffix("metrics"), 800, 600)
        page.wait("/No connection uses/.test(document.body.innerText)")
        served.end()
        page.wait("/no answer/.test(document.getElementById('state').textContent)")
        assert page.value("document.getElementById('state').className") == "bad"
