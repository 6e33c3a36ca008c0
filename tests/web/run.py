#!/usr/bin/env python3
"""Opens reports of `hone report` in Chromium, made from the records beside this file.

    tests/web/run.py --hone build/hone --tools .cache/web [--write_baselines] [NAME...]

--tools is the folder that tools/test_web fills. The exit code is 1 where a check fails.
"""
import argparse
import gzip
import pathlib
import subprocess
import sys
import time
import traceback

import checks
from pages import HERE, NARROW, WIDE, Browser, check_layout
import screenshots

LOOKS = (("light", WIDE), ("dark", WIDE), ("dark", NARROW))
REPORTS = ("runs", "profiles", "studies")
MOST_CODE = 100_000  # bytes, gzipped


def report(hone, folder, scratch, name):
    """The page, the folder of CSV and the LaTeX document of a folder."""
    html, csv, latex = (scratch / f"{name}{end}" for end in (".html", "-csv", ".tex"))
    subprocess.run([hone, "report", folder, "--html", html, "--csv", csv, "--latex", latex], check=True,
                   capture_output=True, timeout=60, cwd=HERE)
    return html, csv, latex


def check_pages(browser, hone, scratch, write):
    """Each report in both themes, and on a telephone: quiet, accessible, nothing that meets, as it was."""
    for name in REPORTS:
        html, _, _ = report(hone, pathlib.Path("records") / name, scratch, name)
        for scheme, width in LOOKS:
            with browser.page(width, scheme) as opened:
                page = opened.open(html)
                check_layout(page, width)
                screenshots.check(page, f"{name}-{scheme}-{width}", width, scratch, write)
                page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
                page.wait_for_timeout(200)
                browser.check_accessible(page)
                opened.check_quiet()
    return f"{len(REPORTS)} reports: " + ", ".join(f"{scheme} {width}" for scheme, width in LOOKS)


def check_code(browser, hone, scratch, write):
    page = HERE.parents[1] / "src/report/page"
    size = sum(len(gzip.compress((page / name).read_bytes(), mtime=0))
               for name in ("script.js", "style.css", "chart.css"))
    assert size <= MOST_CODE, f"{size} bytes of code"
    return f"{size} bytes of code, gzipped"


CHECKS = {"pages": check_pages, "code": check_code, **checks.CHECKS}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hone", type=pathlib.Path, required=True)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--write_baselines", action="store_true")
    parser.add_argument("names", nargs="*", choices=[[], *CHECKS], metavar="NAME")
    arguments = parser.parse_args()
    scratch = arguments.tools.resolve() / "run"
    scratch.mkdir(exist_ok=True)
    names = ["pages"] if arguments.write_baselines else arguments.names or list(CHECKS)
    failed = False
    with Browser(arguments.tools / "node/node_modules/axe-core/axe.min.js") as browser:
        for name in names:
            begin = time.monotonic()
            try:
                said = "ok      " + CHECKS[name](browser, arguments.hone.resolve(), scratch, arguments.write_baselines)
            except Exception:
                said, failed = "FAILED\n" + traceback.format_exc(limit=-3), True
            print(f"{name:<12}{time.monotonic() - begin:6.1f} s  {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
