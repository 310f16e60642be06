"""Debian's Chromium without a window, told by the DevTools protocol over a pair of pipes what to open, and asked what it shows.

https://chromedevtools.github.io/devtools-protocol describes the methods and events. Widths are those of an emulated device: a
window is never narrower than 500 pixels.
"""

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

SECONDS = 60  # for one answer or event, on a busy machine

# The elements of a page that stick out to the right of it or are cut off there. A graph's lines are scrolled, and the first
# line of an error ends in an ellipsis.
CUT_OFF = """
[...document.querySelectorAll("body, body *:not(svg *)")].filter((element) => {
  if (element.closest("pre") || element.matches(".headline")) return false;
  const hides = getComputedStyle(element).overflowX !== "visible" && element.scrollWidth > element.clientWidth;
  return hides || element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5;
}).map((element) => `${element.tagName} ${element.className}: ${element.textContent.slice(0, 80)}`)
"""


def chromium():
    path = shutil.which("chromium", path="/usr/bin")
    assert path, "chromium is a package of Debian's, which is in scripts/packages-test.txt"
    return path


class Browser:
    """A process of Chromium with a profile of its own; close it."""

    def __init__(self, *flags):
        self._folder = tempfile.TemporaryDirectory(prefix="hearth-browser-")
        self._log = pathlib.Path(self._folder.name) / "log"
        self._pages, self._last_id, self._buffer = {}, 0, b""
        # Chromium reads from 3 and writes to 4, whatever these are called here.
        (reads, self._to), (self._from, writes) = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (reads, writes)]
        command = ["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "chromium", chromium()]
        command += ["--headless", "--remote-debugging-pipe", f"--user-data-dir={self._folder.name}/profile"]
        command += ["--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server"]
        command += ["--disable-background-networking", "--disable-component-update"]
        # Chromium has no sandbox for root.
        command += ["--no-sandbox", *flags] if os.geteuid() == 0 else flags
        with open(self._log, "w") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=theirs, start_new_session=True,
                env=dict(os.environ, HOME=self._folder.name),
            )  # fmt: skip
        for end in (reads, writes, *theirs):
            os.close(end)

    def call(self, method, session=None, **parameters):
        """What the method answers."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        os.write(self._to, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while (answer := self.receive(end, method)).get("id") != self._last_id:
            pass
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def receive(self, end, waits_for):
        """The next message, of which an event's page has heard already."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
            part = os.read(self._from, 1 << 16) if ready else b""
            assert part, f"Chromium {'has ended' if ready else 'is silent'}: {waits_for}\n{self._log.read_text()[-2000:]}"
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        if (page := self._pages.get(message.get("sessionId"))) and "method" in message:
            page.hear(message["method"], message["params"])
        return message

    def open(self, url, width=1280, height=1000, scheme="light", javascript=True):
        """A Page that has loaded, in a context that shares nothing with others."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, context)
        for domain in ("Audits", "Log", "Network", "Page", "Runtime"):
            page.call(f"{domain}.enable")
        # As if it was looked at: pages that are not do not bring themselves up to date.
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.call("Emulation.setScriptExecutionDisabled", value=not javascript)
        page.resize(width, height)
        page.go(url)
        return page

    def close(self):
        with contextlib.suppress(AssertionError, OSError):
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Page:
    """`complaints`: what its console has, an exception that nobody caught, what it broke of its policy or could not load.
    `requests`: the URLs that it has asked for. `reloads_after`: the seconds after which it says that it loads again."""

    def __init__(self, browser, session, context):
        self._browser, self._session, self._context = browser, session, context
        self.complaints, self.requests, self.reloads_after, self.width, self._loads = [], [], None, None, 0

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def hear(self, event, what):
        if event == "Page.loadEventFired":
            self._loads += 1
        elif event == "Page.frameScheduledNavigation":
            self.reloads_after = what["delay"]
        elif event == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif event == "Log.entryAdded":
            self.complaints.append(what["entry"]["text"])
        elif event == "Runtime.consoleAPICalled":
            self.complaints.append(f"console.{what['type']}: {what['args']}")
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(str(what["exceptionDetails"]))
        elif event == "Audits.issueAdded":
            self.complaints.append(str(what["issue"]))

    def go(self, url):
        loads = self._loads
        answer = self.call("Page.navigate", url=url)
        assert "errorText" not in answer, f"{url}: {answer['errorText']}"
        end = time.monotonic() + SECONDS
        while self._loads == loads:
            self._browser.receive(end, f"the end of loading {url}")

    def resize(self, width, height=1000):
        self.width = width
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def evaluate(self, expression):
        """What JavaScript makes of it, as JSON has it. Allowed too where the page's own is off."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def texts(self, selector):
        """What is shown of each element that is meant; nothing of one that is hidden or folded."""
        shown = "(one) => one.checkVisibility() ? one.innerText.trim() : ''"
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map({shown})")

    def wait_until(self, expression):
        """Until JavaScript finds it true; fails if that does not come."""
        end = time.monotonic() + SECONDS
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"{expression} did not become true: {self.texts('main')}"
            time.sleep(0.05)

    def overflow(self):
        """What does not fit the width; nothing if all does."""
        # A phone zooms out where something is too wide: innerWidth is then more than its width.
        wide = self.evaluate("document.scrollingElement.scrollWidth")
        found = self.evaluate(CUT_OFF)
        return found + ([f"the page is {wide} pixels wide, not {self.width}"] if wide > self.width else [])

    def take_picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)
