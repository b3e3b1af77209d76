# SPDX-License-Identifier: GPL-2.0
"""A headless Chromium, driven through its pipe by the DevTools protocol."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from lab import SLOW

BROWSER = "chromium-headless-shell"
FAR = 240 * SLOW
# What a test may press: the key, its code, its number.
KEYS = {
    "Tab": ("Tab", "Tab", 9),
    "Enter": ("Enter", "Enter", 13),
    "p": ("p", "KeyP", 80),
    "/": ("/", "Slash", 191),
}


class Browser:
    def __init__(self, folder):
        assert shutil.which(BROWSER), f"no {BROWSER}: `./vmtest.sh test page` installs it"
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()
        # it reads from 3 and writes to 4: neither may be one of these
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs_in, theirs_out)]
        self.process = subprocess.Popen(
            [
                *("bash", "-c", 'exec "${@:3}" 3<&"$1" 4>&"$2"', "bash", *map(str, ends)),
                BROWSER,
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-extensions",
                f"--user-data-dir={folder}",
            ],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for fd in (theirs_in, theirs_out, *ends):
            os.close(fd)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.to)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.back)

    def _read(self, seconds):
        """One message, None after that time."""
        deadline = time.monotonic() + seconds
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                return None
            data = os.read(self.back, 1 << 16)
            assert data, f"the browser ended: {self.process.poll()}"
            self.rest += data
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        while answer := self._read(FAR):
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self.events.append(answer)
        raise AssertionError(f"{method}: no answer")

    def wait(self, expression, seconds=FAR):
        """Until this is true there."""
        deadline = time.monotonic() + seconds
        while not (value := self.value(expression)):
            assert time.monotonic() < deadline, (expression, self.value("document.body.innerText"))
            time.sleep(0.3)
        return value

    def value(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def open(self, url, width, height, phone=False, dark=False):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def press(self, name):
        key, code, number = KEYS[name]
        text = {"text": "\r" if name == "Enter" else key} if name != "Tab" else {}
        for kind in ("keyDown", "keyUp"):
            words = text if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=code,
                windowsVirtualKeyCode=number,
                **words,
            )

    def screenshot(self, file):
        """The whole page, also what is below the window."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self):
        """Errors and refusals that the browser told of, and where anything was fetched from."""
        self.value("1")
        said = [
            e["params"]
            for e in self.events
            if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")
        ]
        asked = {
            e["params"]["request"]["url"]
            for e in self.events
            if e.get("method") == "Network.requestWillBeSent"
        }
        return said, asked


@contextlib.contextmanager
def browser():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = Browser(folder)
        try:
            yield made
        finally:
            made.close()
