"""A `hone serve` that lives as long as a with block."""
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

START_SECONDS = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class HoneServer:
    def __init__(self, hone, models, log, *options):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = pathlib.Path(log)
        self.command = [hone, "serve", "--hostname", "127.0.0.1", "--port", str(self.port),
                        "--json-output", *options]
        for name, folder in models.items():
            self.command += ["--model", f"{name}={folder}"]

    def model_url(self, name):
        """Where clients that know an address alone find this model."""
        return f"{self.url}/models/{name}"

    def healthy(self):
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        limit = time.monotonic() + START_SECONDS
        while not self.healthy():
            if self.process.poll() is not None or time.monotonic() > limit:
                self.process.kill()
                raise SystemExit(f"hone serve did not start: {self.log.read_text()}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise SystemExit("hone serve did not end within 15 s of SIGTERM") from None
        if code != 0:
            raise SystemExit(f"hone serve ended with {code}: {self.log.read_text()[-2000:]}")
