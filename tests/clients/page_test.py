"""The page at GET / in a browser: it loads from the server alone, labels a typed text, and shows
throughput, latency and queue. Writes a screenshot beside the run's other files."""
import os
import pathlib
import shutil
import tempfile
from urllib.parse import urlsplit

from browser import Browser
from served import EMBEDDER, LABELS, SCORES, TEXTS, URL, VECTORS, done

LINES = "document.body.innerText.toLowerCase()"


def requested(browser):
    return [event["params"]["request"]["url"] for event in browser.events
            if event.get("method") == "Network.requestWillBeSent"]


def complaints(browser):
    return [event["params"] for event in browser.events
            if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]


def label_text(browser, text, scores):
    browser.evaluate("document.querySelector('textarea').focus(); "
                     "document.querySelector('textarea').select()")
    browser.call("Input.insertText", text=text)
    browser.evaluate("document.querySelector('button').click()")
    best = f"{max(scores):.4f}"
    for label in LABELS:
        browser.wait_until(f"{LINES}.includes({label.lower()!r})", f"label {label}")
    browser.wait_until(f"{LINES}.includes({best!r})", f"the score {best} of {text!r}")


def embed_text(browser):
    """Another model of the same server, chosen on the page."""
    browser.evaluate(f"const name = document.getElementById('name'); name.value = {EMBEDDER!r}; "
                     "name.dispatchEvent(new Event('change'))")
    browser.wait_until(f"{LINES}.includes('{EMBEDDER}: embedding')", "the embedding model")
    browser.evaluate("document.querySelector('button').click()")
    first = f"{VECTORS[2][0]:.4f}"
    browser.wait_until(f"{LINES}.includes({first!r})", f"a vector that begins with {first}")


def main():
    scratch = pathlib.Path(os.environ["SCRATCH"])
    profile = tempfile.mkdtemp(prefix="profile-", dir=scratch)
    browser = Browser(profile)
    try:
        for domain in "Page", "Network", "Runtime", "Log":
            browser.call(f"{domain}.enable")
        browser.call("Page.navigate", url=f"{URL}/")
        browser.wait_until("document.querySelector('textarea') && document.querySelector('button')",
                           "a box and a button")
        for text, scores in zip(TEXTS[:3], SCORES):
            label_text(browser, text, scores)
        for number in "rate", "p50", "p99", "queue":
            browser.wait_until(f"/\\d/.test(document.getElementById({number!r}).textContent)", number)
        browser.wait_until("document.querySelectorAll('#histogram div').length > 0", "the histogram")
        browser.screenshot(scratch / "page.png")
        embed_text(browser)
        urls = requested(browser)
    finally:
        browser.close()
        shutil.rmtree(profile, ignore_errors=True)
    outside = [url for url in urls
               if url != "about:blank" and urlsplit(url).netloc != urlsplit(URL).netloc
               and not url.startswith("data:")]
    assert urls and not outside, f"requests to others: {outside}"
    assert not complaints(browser), complaints(browser)
    done(f"labels of 3 texts and a vector, {len(urls)} requests, all to the server; {scratch / 'page.png'}")


main()
