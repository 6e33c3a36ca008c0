"""A server's process and those that it started: time to ready, memory, processor time, the end."""
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import time

from servers import FOLDER, NotAvailable

TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(port, method, path, body=None, headers=None, timeout=30):
    """Status, headers and body of one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def is_ready(port, path):
    try:
        return ask(port, "GET", path, timeout=5)[0] == 200
    except OSError:
        return False
    except http.client.HTTPException:
        return False


class Running:
    """A started server. Leaving the block ends it and whatever it started."""

    def __init__(self, server, settings, wait=120, extra=()):
        self.server, self.settings, self.port = server, settings, free_port()
        self.log = FOLDER / f"{server.name}.log"
        begin = time.monotonic()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*server.command(self.port, settings), *extra], stdout=log, stderr=log,
                cwd=server.workdir,
                env=server.environment(settings), start_new_session=True)
        try:
            self.await_ready(begin, wait)
        except BaseException:
            self.stop()
            raise
        self.ready_seconds = time.monotonic() - begin

    def await_ready(self, begin, wait):
        while not is_ready(self.port, self.server.ready_path):
            if self.process.poll() is not None or time.monotonic() - begin > wait:
                lines = self.log.read_text(errors="replace").strip().splitlines()
                said = lines[-1][:200] if lines else "it said nothing"
                raise NotAvailable(f"is not ready after {time.monotonic() - begin:.0f} s: {said} "
                                   f"(log: {self.log})")
            time.sleep(0.002)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, wait=10):
        """Ends the process's whole session, which nothing else is in."""
        for name in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, name)
            except ProcessLookupError:
                break
            try:
                self.process.wait(wait)
            except subprocess.TimeoutExpired:
                continue
            if not self.tree():
                break
        self.process.wait()

    def tree(self):
        """The processes of its session."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[3]) == self.process.pid and fields[0] != "Z":
                    found.append(entry)
        return found

    def memory(self):
        """Bytes by proportional set size: a page that processes share counts once."""
        total = 0
        for entry in self.tree():
            try:
                lines = (entry / "smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        return total

    def processor_seconds(self):
        total = 0
        for entry in self.tree():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            total += (int(fields[11]) + int(fields[12])) / TICKS
        return total
