"""Reports in Debian's Chromium, and what every one of them must keep to."""
import contextlib
import pathlib
import time

from playwright.sync_api import Error, sync_playwright

HERE = pathlib.Path(__file__).resolve().parent
WIDE, NARROW = 1100, 400
# Everything that axe knows of, WCAG's rules and good practice alike.
AXE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
  (fault) => `${fault.id}: ${fault.help}: ${fault.nodes.map((node) => node.html).slice(0, 3).join(" ")}`)"""
# The places of a picture's texts as the browser has drawn them, of which no two may meet.
MEETING = """() => [...document.querySelectorAll("svg.hone-chart")].flatMap((svg) => {
  const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent);
  const boxes = texts.map((text) => text.getBoundingClientRect()).filter((box) => box.width > 0);
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom - 2 && b.top + 2 < a.bottom - 2;
  const whole = svg.getBoundingClientRect();
  return boxes.flatMap((a, i) => [
    ...boxes.slice(0, i).flatMap((b, j) => (meet(a, b) ? [`${texts[i].textContent} / ${texts[j].textContent}`] : [])),
    ...(a.right > whole.right + 1 || a.left < whole.left - 1 ? [`${texts[i].textContent} leaves its picture`] : []),
  ]);
})"""


class Page:
    """A report that is open, with what it asked for and what it complained of."""

    def __init__(self, page):
        self.page, self.requests, self.complaints = page, [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(message.text))

    def open(self, path, pictures=True):
        self.url = path if isinstance(path, str) else path.as_uri()
        self.page.goto(self.url)
        if pictures:  # all that the script adds is there
            self.wait_until("document.querySelectorAll('.enlivened').length === JSON.parse(document.getElementById('data')"
                            ".textContent).length && document.querySelectorAll('section > .wide').length === 0")
        return self.page

    def wait_until(self, script, seconds=30):
        """Asks from outside again and again, since the page's policy lets nothing be evaluated inside."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with contextlib.suppress(Error):  # the page may just be loading again
                if self.page.evaluate(f"Boolean({script})"):
                    return
            time.sleep(0.1)
        raise AssertionError(f"not so after {seconds} s: {script}")

    def check_quiet(self):
        assert not self.complaints, self.complaints
        assert self.requests == [self.url], f"asked for {self.requests}"


class Browser:
    def __init__(self, axe):
        self.axe = axe.read_text()

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        engine = self._stack.enter_context(sync_playwright())
        self._chromium = engine.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--font-render-hinting=none", "--disable-lcd-text",
                  "--force-color-profile=srgb"])
        self._stack.callback(self._chromium.close)
        self.version = self._chromium.version
        return self

    def __exit__(self, *_):
        self._stack.close()

    @contextlib.contextmanager
    def page(self, width=WIDE, scheme="light", scripts=True):
        context = self._chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme,
                                             java_script_enabled=scripts, reduced_motion="reduce")
        try:
            yield Page(context.new_page())
        finally:
            context.close()

    def check_accessible(self, page):
        """axe is evaluated through the debugging protocol, which no content policy touches."""
        page.evaluate(self.axe)
        faults = page.evaluate(AXE)
        assert not faults, faults


def check_layout(page, width):
    overflow = page.evaluate("document.documentElement.scrollWidth")
    assert overflow <= width, f"the page is {overflow} pixels wide in a window of {width}"
    meeting = page.evaluate(MEETING)
    assert not meeting, f"labels that meet: {meeting}"
