#!/usr/bin/env python3
"""Times the page of `hone report` with a curve of a million points in Chromium, without a GPU.

    make test-web && .cache/web/venv/bin/python bench/report_page.py [--points N]

Writes bench/results/report-page.md. The first picture counts from where the browser began to load
the file to the frame behind the one in which the curve's SVG is on the page. A frame of panning is
timed from one animation frame to the next, while the tenth of the curve that is seen moves by a
fiftieth of itself in each.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/web"))
from pages import Browser  # noqa: E402

PAN = """() => new Promise((done) => {
  const view = document.querySelector(".plot").view, whole = view.right - view.left;
  view.show(view.left + 0.3 * whole, view.left + 0.4 * whole);
  const frames = [], work = [];
  let last = null;
  const step = (now) => {
    if (last !== null) frames.push(now - last);
    last = now;
    const begin = performance.now();
    view.pan(frames.length < 100 ? 0.02 : -0.02);
    work.push(performance.now() - begin);
    if (frames.length < 200) requestAnimationFrame(step);
    else done([frames, work]);
  };
  requestAnimationFrame(step);
})"""
FIRST = """requestAnimationFrame(function look() {
  if (document.querySelector("figure svg .curve")) requestAnimationFrame((now) => { window.firstPicture = now; });
  else requestAnimationFrame(look);
});"""


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def write_log(folder, points):
    draw = random.Random(1)
    with (folder / "log.jsonl").open("w") as log:
        for step in range(points):
            loss = 2 * math.exp(-4 * step / points) + 0.2 * draw.random()
            log.write(f'{{"step":{step},"loss":{loss:.6f}}}\n')


def timed_page(browser, html):
    """Milliseconds: to the first picture and to the live one, of a frame, and of the script's work for it."""
    with browser.page() as opened:
        opened.page.add_init_script(FIRST)
        page = opened.open(html)
        live = page.evaluate("performance.now()")
        first = page.evaluate("window.firstPicture")
        frames, work = page.evaluate(PAN)
        opened.check_quiet()
    return {"first": first, "live": live, "frame": statistics.mean(frames),
            "late": sorted(frames)[int(0.95 * len(frames))], "work": statistics.median(work)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build/hone")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / ".cache/web")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(dir=options.tools))
    html = folder / "report.html"
    try:
        write_log(folder, options.points)
        begin = time.monotonic()
        subprocess.run([options.hone, "report", folder, "--html", html], check=True, capture_output=True)
        made = time.monotonic() - begin
        size = html.stat().st_size
        with Browser(options.tools / "node/node_modules/axe-core/axe.min.js") as browser:
            rounds = [timed_page(browser, html) for _ in range(options.rounds)]
            version = browser.version
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
    median = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
    text = f"""# The page of hone report with {options.points:,} points
{processor()}, {os.cpu_count()} cores, no GPU; Chromium {version}, headless; {time.strftime("%Y-%m-%d")}. Made by `bench/report_page.py`; medians of {options.rounds} rounds.

| | | bar |
|---|--:|--:|
| `hone report` makes the page of `log.jsonl` | {made:.1f} s, {size / 1e6:.1f} MB | |
| first picture, from the start of loading | {median["first"]:.0f} ms | 1000 ms |
| the curve can be moved | {median["live"]:.0f} ms | |
| moving a tenth of it: frames a second | {1e3 / median["frame"]:.0f} | 30 |
| of 20 frames the slowest comes after | {median["late"]:.0f} ms | 33 ms |
| the script's work for one | {median["work"]:.1f} ms | |
"""
    print(text)
    if options.points == 1_000_000:
        (ROOT / "bench/results/report-page.md").write_text(text)
    return 0 if median["first"] <= 1000 and median["frame"] <= 1000 / 30 else 1


if __name__ == "__main__":
    sys.exit(main())
