"""Runs the generator of load against a server, and finds the rate that keeps a latency."""
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = os.environ.get("HONE_LOAD_GENERATOR", str(ROOT / "build/load_generator"))
UNBOUNDED = 4000  # connections; a server that has so many requests under way is saturated anyway


class Bodies:
    """A file of a server's request bodies, `batch` texts each."""

    def __init__(self, server, texts, batch):
        self.batch, self.path = batch, server.path()
        self.file = tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8")
        groups = -(-len(texts) // batch)
        for first in range(0, groups * batch, batch):
            chosen = [texts[(first + i) % len(texts)] for i in range(batch)]
            self.file.write(json.dumps(server.body(chosen)) + "\n")
        self.file.flush()


def generator(port, bodies, *options):
    """The command; `bodies` None asks without any."""
    command = [GENERATOR, "--port", str(port), "--json", "--realtime", "--connections",
               str(UNBOUNDED), *map(str, options)]
    if bodies:
        command += ["--bodies", bodies.file.name, "--batch", str(bodies.batch), "--path",
                    bodies.path]
    return command


def run(port, bodies, *options):
    done = subprocess.run(generator(port, bodies, *options), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"load_generator: {done.stderr.strip()}")
    return json.loads(done.stdout)


def closed(port, bodies, connections, seconds, warmup=1):
    return run(port, bodies, "--closed", connections, "--seconds", seconds, "--warmup",
               warmup)["phases"][0]


def at_rate(port, bodies, texts_per_second, seconds, warmup=1, seed=1):
    """Open loop. The wait for late answers is short: a run that has some is over the limit."""
    return run(port, bodies, "--rate", texts_per_second / bodies.batch, "--seconds", seconds,
               "--warmup", warmup, "--seed", seed, "--drain", 5)["phases"][0]


def keeps(result, limit_ms):
    """Whether all requests were answered well, 99% of them within the limit."""
    return result["ok"] == result["sent"] and result["accepted"]["p99_ms"] <= limit_ms


def saturation(port, bodies, guess, seconds=6):
    """Texts a second of good answers where more is asked for than can be answered.

    The rate is raised until answers no longer follow it.
    """
    best, asked = 0.0, guess
    for _ in range(6):
        result = at_rate(port, bodies, asked, seconds, warmup=2)
        best = max(best, result["texts_per_second"])
        if result["texts_per_second"] < 0.85 * asked:
            break
        asked = max(asked, best) * 1.5
    return best


def rate_within(port, bodies, limit_ms, high, seconds=6, steps=5):
    """The highest rate of texts that keeps the limit, by bisection below `high`.

    Returns the rate and its run; 0 and None where even a fiftieth of `high` is too much. A rate
    that misses is tried once more with other moments, since one stall of the machine can do that.
    """
    low, best = high / 50, None
    for step in range(steps + 1):
        rate = low if step == 0 else (low + high) / 2
        passed = None
        for seed in (1, 2):
            result = at_rate(port, bodies, rate, seconds, seed=seed)
            if result["valid"] and keeps(result, limit_ms):
                passed = result
                break
        if passed is None and step == 0:
            return 0.0, None
        if passed is None:
            high = rate
        else:
            low, best = rate, passed
    return low, best
