"""Chromium without a window, driven through its debugging pipe (JSON ended by NUL)."""
import base64
import contextlib
import json
import os
import select
import subprocess
import time


class Browser:
    """One page. Events are kept in `events` as they come."""

    def __init__(self, profile, width=1100, height=900):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # The pipe's ends must be descriptors 3 and 4 of the browser.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "chromium", "chromium",
             "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             f"--user-data-dir={profile}", f"--window-size={width},{height}",
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=[to_browser, from_browser], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._last_id, self._session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]

    def close(self):
        with contextlib.suppress(Exception):
            self._session = None
            self.call("Browser.close", seconds=5)
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self, until):
        """The next message, or None where none comes in time."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, until - time.monotonic()))
            if not ready:
                return None
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError("chromium ended")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, seconds=60, **parameters):
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + seconds
        while answer := self._read(until):
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)
        raise RuntimeError(f"{method}: no answer in {seconds} s")

    def evaluate(self, script):
        out = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in out:
            raise RuntimeError(f"{script}: {out['exceptionDetails']}")
        return out["result"].get("value")

    def wait_until(self, script, what, seconds=30):
        """Waits until the script's value is true, and says what is missing where it never is."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.evaluate(f"Boolean({script})"):
                return
            time.sleep(0.1)
        raise AssertionError(f"{what}: not there after {seconds} s; the page says:\n"
                             + self.evaluate("document.body.innerText"))

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))
