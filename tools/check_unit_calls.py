#!/usr/bin/env python3
"""Fails where `hone serve` makes a system call that its unit of systemd forbids.

    tools/check_unit_calls.py UNIT PROGRAM MODEL

The unit's filter is spelled out by systemd-analyze. The server runs under strace: it starts, answers,
explains, loads its model anew by SIGHUP, by which threads of low priority come, and ends by SIGTERM.
A call that the filter forbids fails with EPERM, which a program may not tell.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

CALL = re.compile(r"^\d+ +([a-z_0-9]+)\(")
LISTENS = re.compile(r"listening on (http://\S+)")
WAIT = 60  # seconds


def group(name):
    """The calls of a group of systemd's, those of the groups in it too."""
    said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], check=True,
                          capture_output=True, text=True).stdout
    words = [line.strip() for line in said.splitlines()[1:]]
    return expand(word for word in words if word and not word.startswith("#"))


def expand(words):
    calls = set()
    for word in words:
        calls |= group(word) if word.startswith("@") else {word}
    return calls


def allowed_by(unit):
    """The first line says what the filter is, a list of what is allowed; later ones change it."""
    allowed = set()
    for line in unit.read_text().splitlines():
        key, _, value = line.partition("=")
        if key != "SystemCallFilter":
            continue
        if not allowed and value.startswith("~"):
            sys.exit(f"{unit}: SystemCallFilter begins with what is forbidden")
        calls = expand(value.lstrip("~").split())
        allowed = allowed - calls if value.startswith("~") else allowed | calls
    return allowed | group("@default")


def post(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=WAIT) as answer:
        return answer.read()


def calls_of(program, model):
    """The system calls of a server from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "calls"
        command = ["strace", "-f", "-qq", "-o", str(log), program, "serve", "--model", model,
                   "--hostname", "127.0.0.1", "--port", "0", "--json-output"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as process:
            lines = iter(process.stderr.readline, "")
            found = next((match for line in lines if (match := LISTENS.search(line))), None)
            if not found:
                sys.exit(f"{program} serve does not start under strace")
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            server = int(children.read_text().split()[0])
            post(found[1], "/predict", {"inputs": "the film"})
            post(found[1], "/explain", {"inputs": "the film", "steps": 1})
            os.kill(server, signal.SIGHUP)
            next(line for line in lines if "loaded anew" in line)
            post(found[1], "/predict", {"inputs": "the film"})
            os.kill(server, signal.SIGTERM)
            code = process.wait(WAIT)
        if code != 0:
            sys.exit(f"{program} serve ended with {code} under strace")
        return {match[1] for line in log.read_text().splitlines() if (match := CALL.match(line))}


def main():
    unit, program, model = sys.argv[1:]
    made = calls_of(program, model)
    if "setpriority" not in made:
        sys.exit("no thread took a low priority, so that this checked nothing of reloads")
    forbidden = sorted(made - allowed_by(pathlib.Path(unit)))
    if forbidden:
        sys.exit(f"{unit}: SystemCallFilter forbids {', '.join(forbidden)}, which hone serve calls")
    print(f"{unit}: {len(made)} system calls, all within its filter")


if __name__ == "__main__":
    main()
