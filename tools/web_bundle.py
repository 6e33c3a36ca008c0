#!/usr/bin/env python3
"""Fails where the page's bundle is not of the sources in web/, by the hash that it names; needs no Node."""
import hashlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEB, PAGE = ROOT / "web", ROOT / "src/report/page"


def hash_of_sources() -> str:
    names = ["build.mjs", "package-lock.json", *(f"src/{path.name}" for path in (WEB / "src").iterdir())]
    sources = hashlib.sha256()
    for name in sorted(names):
        sources.update(f"{name}\n".encode() + (WEB / name).read_bytes())
    return sources.hexdigest()


def main() -> int:
    wanted = hash_of_sources().encode()
    stale = [name for name in ("script.js", "style.css")
             if wanted not in (PAGE / name).read_bytes()[:200]]
    for name in stale:
        print(f"src/report/page/{name}: not made of the sources in web/; cd web && npm ci && npm run build")
    print(f"web: {'ok' if not stale else 'the bundle is stale'}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
