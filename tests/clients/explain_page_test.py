"""The page of `hone explain --html` in a browser, from a file: it loads nothing, shows texts that
look like markup as they are, filters by answer and by error, and opens with 10,000 texts."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from browser import Browser
from served import done

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "models/goldens/bert-words"
HOSTILE = ["</script><script>window.broken = 1</script> a great film",
           "<img src=x onerror='window.broken = 1'> not good", "<!-- <script> the movie was dull",
           "a \u2028 film & \"great\" \u65e5\u672c \U0001F600 not dull"]
GOLD = ["negative", "positive", "negative", "positive"]
ROWS = "document.querySelectorAll('details').length"


def explained(folder, name, rows):
    source, page = folder / f"{name}.jsonl", folder / f"{name}.html"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    subprocess.run([os.environ["HONE"], "explain", "--model", GOLDEN, "--method", "ig", "--steps",
                    "2", "--input", source, "--html", page, "--quiet", "--output", folder / "out"],
                   check=True, timeout=110)
    return page, [json.loads(line) for line in (folder / "out").read_text().splitlines()]


def choose(browser, name, value):
    browser.evaluate(f"{{ const box = document.getElementById({name!r}); "
                     f"if (box.type === 'checkbox') box.checked = {json.dumps(value)}; "
                     f"else box.value = {json.dumps(value)}; "
                     "box.dispatchEvent(new Event('input', {bubbles: true})); } 0")


def check_hostile(browser, page, answers):
    browser.call("Page.navigate", url=page.as_uri())
    browser.wait_until(f"{ROWS} === {len(HOSTILE)}", "a row a text")
    shown = browser.evaluate("[...document.querySelectorAll('.text')].map((box) => box.textContent)")
    assert shown == HOSTILE, shown
    browser.evaluate("document.querySelectorAll('details').forEach((row) => { row.open = true; })")
    browser.wait_until("document.querySelectorAll('.more').length === 4", "the rows' numbers")
    assert not browser.evaluate("window.broken"), "a text ran as a script"
    assert not browser.evaluate("document.querySelectorAll('img').length"), "a text became markup"
    wrong = sum(answer["label"] != label for answer, label in zip(answers, GOLD))
    assert 0 < wrong < len(GOLD)
    choose(browser, "wrong", True)
    assert browser.evaluate(ROWS) == wrong
    choose(browser, "wrong", False)
    for label in "negative", "positive":
        choose(browser, "answer", label)
        assert browser.evaluate(ROWS) == sum(answer["label"] == label for answer in answers)
    choose(browser, "answer", "")
    choose(browser, "search", "ONERROR")
    assert browser.evaluate(ROWS) == 1
    choose(browser, "search", "")


def main():
    scratch = pathlib.Path(os.environ["SCRATCH"])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="explain-", dir=scratch))
    page, answers = explained(folder, "hostile",
                              [{"text": text, "label": label} for text, label in zip(HOSTILE, GOLD)])
    many, _ = explained(folder, "many", [{"text": HOSTILE[i % 4] + f" {i}"} for i in range(10_000)])
    browser = Browser(folder / "profile")
    try:
        for domain in "Page", "Network", "Runtime", "Log":
            browser.call(f"{domain}.enable")
        check_hostile(browser, page, answers)
        browser.screenshot(scratch / "explain.png")
        begin = time.monotonic()
        browser.call("Page.navigate", url=many.as_uri())
        browser.wait_until(f"document.querySelector('#count')?.textContent.startsWith('10000 ') && {ROWS}",
                           "10,000 texts")
        seconds = time.monotonic() - begin
        before = browser.evaluate(ROWS)
        browser.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        browser.wait_until(f"{ROWS} > {before}", "more rows as one scrolls")
        events = browser.events
    finally:
        browser.close()
    urls = [event["params"]["request"]["url"] for event in events
            if event.get("method") == "Network.requestWillBeSent"]
    complaints = [event["params"] for event in events
                  if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
    assert all(url.startswith(("file:", "about:")) for url in urls), urls
    assert not complaints, complaints
    shutil.rmtree(folder, ignore_errors=True)
    done(f"{len(HOSTILE)} hostile texts, filters, 10,000 texts open in {seconds:.2f} s; "
         f"{scratch / 'explain.png'}")


main()
