"""A browser that a test drives through Chrome's debugging protocol: real clicks and keys, any width, its console.

The protocol runs over a pair of pipes, so that nothing listens on the network.
"""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-pipe"
)
KEYS = {"Tab": 9, "Enter": 13, " ": 32}
SECONDS = 20


class Browser:
    """One page in a headless browser."""

    def __init__(self, program: str, profile: Path) -> None:
        theirs_in, self._ours_out = os.pipe()
        self._ours_in, theirs_out = os.pipe()
        # the browser reads from descriptor 3 and writes to descriptor 4
        shell = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        flags = [*FLAGS.split(), f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", shell, program, *flags],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer, self._number, self._session = b"", 0, ""
        self.problems: list[str] = []
        self.requests: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """The result of one command of the protocol; what the console says meanwhile is kept."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        message = json.dumps({"id": self._number, "method": method, "params": params, **session})
        os.write(self._ours_out, message.encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, page: Path | str, width: int, *, dark: bool = False) -> None:
        """Load a file or an address in a window of this width, and wait until it stands still."""
        address = page.as_uri() if isinstance(page, Path) else page
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        calm = {"name": "prefers-reduced-motion", "value": "reduce"}  # else a click can miss what still moves
        self.call("Emulation.setEmulatedMedia", features=[scheme, calm])
        self.call("Page.navigate", url=address)
        ready = f"location.href === {json.dumps(address)} && document.readyState === 'complete'"
        self.until(ready)
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript on the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def click(self, selector: str) -> None:
        """A click of the mouse on the middle of an element."""
        x, y = self.value(
            f"(() => {{ const found = document.querySelector({json.dumps(selector)}); found.scrollIntoView({{block: "
            "'center', inline: 'center', behavior: 'instant'}); const box = found.getBoundingClientRect();"
            "return [box.left + box.width / 2, box.top + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, *, control: bool = False) -> None:
        """A key of the keyboard, with Ctrl held down or without."""
        common = {
            "modifiers": 2 if control else 0,
            "key": key,
            "code": "Space" if key == " " else key,
            "windowsVirtualKeyCode": KEYS[key],
        }
        said = {"text": {"Enter": "\r", " ": " "}[key]} if key != "Tab" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **said)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Text into what has the focus."""
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path) -> None:
        """The whole page as a picture."""
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(picture))

    def close(self) -> None:
        os.close(self._ours_out)
        os.close(self._ours_in)
        self._process.terminate()
        self._process.wait(SECONDS)

    def until(self, condition: str) -> None:
        """Wait until an expression of JavaScript holds."""
        end = time.monotonic() + SECONDS
        while not self.value(condition):
            assert time.monotonic() < end, condition
            time.sleep(0.02)

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._ours_in], [], [], max(0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            read = os.read(self._ours_in, 1 << 20)
            assert read, "the browser has ended"
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        self._note(answer)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}:
            self.problems.append(json.dumps(event["params"])[:2000])
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
