# SPDX-License-Identifier: GPL-2.0
"""`exporter --ui`: the page and its policy, and documents that are those of the commands."""

import base64
import hashlib
import json
import re
import time

import jsonschema
import pytest
import tables
from command import ok
from conftest import TOP
from scrape import FRESH, exporter, samples
from tables import steer
from traffic import connection, info, upload

SCHEMA = json.loads((TOP / "docs/reference/stats.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SIZE = 300_000
steer_loaded = tables.steer_loaded


@pytest.fixture(autouse=True)
def _loaded(both_loaded):
    pass


def document(served, name):
    status, headers, text = served.request(f"/{name}.json")
    assert status == 200
    assert headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-store"
    return json.loads(text)


def changing(connection):
    """Without what is another from one moment to the next."""
    subflows = [
        {k: s[k] for k in ("id", "local", "remote", "path", "counters")}
        for s in connection["subflows"]
    ]
    kept = ("token", "netns", "scheduler", "local", "remote", "steer", "counters", "waits")
    return {k: connection[k] for k in kept} | {"subflows": subflows}


def test_the_documents_are_those_of_the_commands(labs, steer_loaded):
    """By schema and by what is in them; rates come with the second look."""
    steer("path add name lte local 10.0.2.0/24 cap 100K period month")
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_steer"
    with exporter("--ui", "--interval", "60") as served, connection(lab) as conn:
        # each document has a look of its own: the last one is old by then
        upload(conn, SIZE).finish().acknowledged()
        time.sleep(FRESH)
        first = document(served, "stats")
        upload(conn, SIZE).finish().acknowledged()
        time.sleep(FRESH)
        told = document(served, "stats")
        mine = ok("stats", "--netns", lab.client.name)["connections"]
        token = info(conn.client).token
        accounts = document(served, "accounts")
        assert accounts == ok("steer", "account", "show")
        code, _, err = served.end()
    assert (code, err) == (0, "")
    for one in (first, told):
        VALIDATOR.validate(one)
    found = [c for c in told["connections"] if c["netns"] == lab.client.name]
    assert [changing(c) for c in found] == [changing(c) for c in mine]
    assert int(found[0]["token"], 16) == token
    assert {s["path"] for s in found[0]["subflows"]} == {"lte", None}
    assert told["interval_s"] > FRESH - 0.1
    sent = found[0]["rates"]["bytes_per_s"] * told["interval_s"]
    assert sent == pytest.approx(SIZE, rel=0.1)
    assert accounts["accounts"][0]["over_cap"] is True


def test_no_accounts_without_their_scheduler():
    with exporter("--ui") as served:
        assert document(served, "accounts") == {"accounts": []}
        assert document(served, "stats")["connections"] == []


def test_the_busiest_alone(labs):
    lab = labs().endpoints()
    lab.client.scheduler = "bpf_minrtt"
    with (
        exporter("--ui", "--top", "1") as served,
        connection(lab) as idle,
        connection(lab) as conn,
    ):
        upload(idle, 1000).finish().acknowledged()
        upload(conn, SIZE).finish().acknowledged()
        served.text()
        told = document(served, "stats")
        assert [int(c["token"], 16) for c in told["connections"]] == [info(conn.client).token]
        assert told["notes"] == ["less busy and not shown: 1 of 2 connections"]
        # what Prometheus gets has no such limit
        assert served.sum("mptcp_sched_connections", netns=lab.client.name) == 2


def test_the_page_runs_what_is_in_it_and_nothing_else():
    """The policy names style and script by their hashes; nothing else may be loaded."""
    with exporter("--ui") as served:
        status, headers, page = served.request("/")
        assert served.request("/", "HEAD")[0] == 200
        assert served.request("/", "POST")[0] == 405
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    for name in ("script", "style"):
        (text,) = re.findall(f"<{name}>(.*?)</{name}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy.pop(f"{name}-src") == f"'sha256-{digest}'"
    assert policy == {
        "default-src": "'none'",
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
    assert not re.search(r"\son\w+=|\sstyle=|innerHTML|eval\(", page)


def test_without_it_nothing_is_there():
    with exporter() as served:
        status, headers, text = served.request("/")
        assert status == 200 and headers["Content-Type"] == "text/plain; charset=utf-8"
        assert "see /metrics" in text and "Content-Security-Policy" not in headers
        for path in ("/stats.json", "/accounts.json"):
            assert served.request(path)[0] == 404
    with exporter("--ui") as served:
        status, _, text = served.request("/nosuch")
        assert status == 404 and "/stats.json" in text
        assert any(s.name == "mptcp_sched_build_info" for s in samples(served.text()))


def test_where_it_is_is_told():
    """By the address that was asked for; a socket's page is its proxy's."""
    with exporter("--ui", listen="unix:/run/mptcp-sched-test") as served:
        assert served.request("/")[0] == 200
        assert served.page is None
    with exporter("--ui") as served:
        assert served.page + "metrics" == served.where
