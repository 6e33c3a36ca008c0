"""hone serve beyond its capacity and under attack; called by serve.py --overload CASE,...

Cases: overload, deadline, idle, end, swap, swaps, slow; bound (what the cores' peak allows) and budget
(memory under --memory-budget). Each is measured and reported; page.py says which bar it is held to.
"""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

import cpu_quota
import load
from process import Running, ask

QUEUE_INPUTS = 512  # what --max-concurrent-requests is by default
QUEUE_SECONDS = 0.75  # what --max-queue-seconds is by default
BUDGET = "72MB"  # of the whole process
SWAP_SECONDS = 15  # of a window: some thousands of requests, so that a p99 is of dozens
ATTACKER_CORES = 0.2
SWAP_PAUSE = 1  # seconds between a swap and the next


class MemoryWatch:
    """The most memory that a server has while the block runs, by samples."""

    def __init__(self, running):
        self.running, self.most, self.over = running, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.over.wait(0.25):
            self.most = max(self.most, self.running.memory())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def capacity(running, bodies):
    """Texts a second with so many requests under way that the server never waits for one."""
    return load.closed(running.port, bodies, 64, 4)["texts_per_second"]


def metrics(running):
    """The server's counters and gauges by name."""
    text = ask(running.port, "GET", "/metrics")[2].decode()
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#"]
    return {name: float(value) for name, value in lines}


def overload(comparison, server, bodies):
    """Four times the capacity for a minute, and a tenth of it before and after.

    A tenth leaves room for the queue to empty: at half, that alone would take twice its time.
    """
    with Running(server, {}) as running:
        full = capacity(running, bodies)
        little = full / 10
        before = running.memory()
        with MemoryWatch(running) as watch:
            phases = load.run(running.port, bodies, "--rate", little, "--seconds", 5, "--then",
                              f"{4 * full},60", "--then", f"{little},1", "--then",
                              f"{little},5", "--drain", 10)["phases"]
        seen = metrics(running)
        batches = seen.get("te_batch_next_size_count", 0)
        batch = seen.get("te_batch_next_size_sum", 0) / batches if batches else 0
        return {"capacity": full, "before": phases[0], "during": phases[1],
                "first_second_after": phases[2], "after": phases[3],
                "memory_growth_bytes": max(watch.most - before, 0), "mean_batch": batch,
                "accepted_limit_ms": (min(QUEUE_INPUTS / full, QUEUE_SECONDS)
                                      + 2 * batch / full) * 1e3}


def deadline(comparison, server, bodies):
    """Requests that are late or whose clients leave, at twice the capacity."""
    with Running(server, {}) as running:
        full = capacity(running, bodies)
        before = metrics(running)
        late = load.run(running.port, bodies, "--rate", 2 * full, "--seconds", 5, "--header",
                        "x-request-timeout-ms: 50")["phases"][0]
        between = metrics(running)
        left = load.run(running.port, bodies, "--rate", 2 * full, "--seconds", 5, "--abandon",
                        0.5)["phases"][0]
        after = metrics(running)

        def changed(first, second):
            return {n: second[n] - first.get(n, 0) for n in second
                    if "bucket" not in n and second[n] != first.get(n, 0)}
        return {"capacity": full, "late": late, "abandoned": left,
                "metrics_late": changed(before, between),
                "metrics_abandoned": changed(between, after)}


def idle(comparison, server, bodies, count=10_000):
    """Connections that were opened and are silent, and one that asks meanwhile."""
    with Running(server, {}) as running:
        load.closed(running.port, bodies, 4, 2)
        before = running.memory()
        alone = load.closed(running.port, bodies, 1, 2)
        silent = []
        try:
            for _ in range(count):
                silent.append(socket.create_connection(("127.0.0.1", running.port), timeout=10))
            time.sleep(1)
            memory = running.memory() - before
            beside = load.closed(running.port, bodies, 1, 2)
            for one in silent:
                one.setblocking(False)
            closed = sum(is_closed(one) for one in silent)
        finally:
            for one in silent:
                one.close()
        return {"connections": count, "closed_by_the_server": closed, "memory_bytes": memory,
                "p99_ms_alone": alone["accepted"]["p99_ms"],
                "p99_ms_beside": beside["accepted"]["p99_ms"]}


def is_closed(connection):
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def end(comparison, server, bodies):
    """SIGTERM under load, many times; then to a server that is idle but has open connections.

    A request is lost where its answer broke off or never came. One whose connection was closed
    without a byte of an answer may never have been read (the client sent it while the server was
    closing what was idle); those are counted apart.
    """
    random.seed(1)
    counts, slowest = {}, 0.0
    for _ in range(comparison.options.trials):
        with Running(server, {}) as running:
            sender = subprocess.Popen(
                load.generator(running.port, bodies, "--rate", 200, "--seconds", 0.8,
                               "--drain", 3), stdout=subprocess.PIPE, text=True)
            time.sleep(random.uniform(0.2, 0.6))
            begin = time.monotonic()
            running.process.send_signal(signal.SIGTERM)
            running.process.wait(40)
            slowest = max(slowest, time.monotonic() - begin)
            result = json.loads(sender.communicate()[0])["phases"][0]
        for name, value in (*result["statuses"].items(), *result["errors"].items()):
            counts[name] = counts.get(name, 0) + value
    with Running(server, {}) as running:
        silent = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(100)]
        begin = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        running.process.wait(40)
        idle_seconds = time.monotonic() - begin
        for one in silent:
            one.close()
    return {"trials": comparison.options.trials, "requests": counts, "slowest_end_s": slowest,
            "lost": counts.get("closed within the answer", 0) + counts.get("no answer in time", 0),
            "closed_without_an_answer": counts.get("closed without an answer", 0),
            "idle_end_s": idle_seconds}


def swap(comparison, server, bodies, windows=5, pause=SWAP_PAUSE):
    """The model loaded anew under half of the capacity, again and again.

    Quiet windows and windows of swaps go by turns, so that each is compared with the one before
    it, on the machine as it was then.
    """
    with Running(server, {}) as running:
        half = capacity(running, bodies) / 2
        model = json.loads(ask(running.port, "GET", "/info")[2])["served_model_name"]
        later = ["--then", f"{half},{SWAP_SECONDS}"] * (2 * windows - 1)
        sender = subprocess.Popen(
            load.generator(running.port, bodies, "--rate", half, "--seconds", SWAP_SECONDS,
                           "--warmup", 1, *later), stdout=subprocess.PIPE, text=True)
        first = time.monotonic() + 1
        seconds, refused = [], 0
        for window in range(windows):
            begin = first + (2 * window + 1) * SWAP_SECONDS
            time.sleep(max(begin - time.monotonic(), 0))
            # A load that might reach into the quiet window behind this one is not begun.
            while time.monotonic() + max(seconds, default=0) < begin + SWAP_SECONDS:
                asked = time.monotonic()
                status = ask(running.port, "POST", f"/v2/repository/models/{model}/load")[0]
                refused += status != 200
                seconds.append(time.monotonic() - asked)
                time.sleep(min(pause, max(begin + SWAP_SECONDS - time.monotonic(), 0)))
        phases = json.loads(sender.communicate()[0])["phases"]
        return {"swaps": len(seconds), "refused": refused, "pause_seconds": pause,
                "window_seconds": SWAP_SECONDS,
                "load_seconds": sorted(seconds)[len(seconds) // 2],
                "windows": [{"before": phases[2 * i], "during": phases[2 * i + 1]}
                            for i in range(windows)],
                "alive": running.process.poll() is None}


def swaps(comparison, server, bodies):
    """The same with a load always under way."""
    return swap(comparison, server, bodies, windows=3, pause=0)


ATTACKS = {"header": ["-H"], "body": ["-B"], "range": ["-R", "-a", "10", "-b", "3000"],
           "slow read": ["-X", "-w", "1", "-y", "10", "-n", "5", "-z", "32", "-k", "3"]}


def under_attack(running, bodies, flags, connections):
    """Another client's times before and during an attack.

    The attacker stands for machines that are not this one. With 4,000 connections it keeps a core
    busy by itself, mostly in select(), where a priority does not help others: as root it is held to
    a share of one.
    """
    rate = capacity(running, bodies) / 4
    before = load.at_rate(running.port, bodies, rate, 8)
    # A slow reader wants a long answer; the others what every client asks for.
    path = "/metrics" if "-X" in flags else bodies.path
    target = f"http://127.0.0.1:{running.port}{path}"
    with open(os.devnull, "w") as nothing:
        attack = subprocess.Popen(
            ["nice", "-n", "19", "slowhttptest", *flags, "-c", str(connections), "-r", "1000",
             "-i", "5", "-l", "20", "-p", "3", "-u", target], stdout=nothing, stderr=nothing)
    share = None
    try:
        if os.access(cpu_quota.GROUPS, os.W_OK):
            share = cpu_quota.Quota("attacker", ATTACKER_CORES)
            share.add(attack.pid)
        time.sleep(5)
        during = load.at_rate(running.port, bodies, rate, 8)
        held = len(os.listdir(f"/proc/{running.process.pid}/fd"))
        memory = running.memory()
    finally:
        attack.terminate()
        attack.wait()
        if share:
            share.remove()
    return {"before": before, "during": during, "memory_bytes": memory, "open_files": held,
            "attacker_cores": ATTACKER_CORES if share else None}


def slow(comparison, server, bodies, connections=4000, rounds=3):
    """slowhttptest's attacks, by turns, each on a server of its own."""
    if not shutil.which("slowhttptest"):
        return {"not_available": "slowhttptest (Debian package) is not installed"}
    attacks = {name: [] for name in ATTACKS}
    for _ in range(rounds):
        for name, flags in ATTACKS.items():
            with Running(server, {}) as running:
                attacks[name].append(under_attack(running, bodies, flags, connections))
    return {"connections": connections, "attacks": attacks}


def bound(comparison, server, bodies):
    """What the cores could answer if all they did were multiply-adds, as fast as registers allow.

    Counted are the products that a classifier cannot do without: all layers over all tokens, of
    the last one keys and values alone, and the rest of it over the one row that is read.
    """
    config = json.loads((comparison.model / "config.json").read_text())
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    layers = config["num_hidden_layers"]
    matrices = 2 * (4 * hidden * hidden + 2 * hidden * inner)  # of a layer and a token
    lines = subprocess.run([comparison.options.hone, "predict", "--model", str(comparison.model)],
                           text=True, input="".join(t + "\n" for t in comparison.texts),
                           capture_output=True, check=True).stdout.splitlines()
    tokens = [json.loads(line)["tokens"] for line in lines]
    flops = sum(n * (layers - 1) * (matrices + 4 * n * hidden) + n * 4 * hidden * hidden + matrices
                for n in tokens) / len(tokens)
    said = subprocess.run([comparison.options.hone, "bench", "bert-base-b1-len128", "--json"],
                          text=True, capture_output=True, check=True).stdout
    case = json.loads(said.splitlines()[-1])
    peak = 1e9 * case["gflops"] / case["share_of_peak"]
    return {"tokens_per_text": sum(tokens) / len(tokens), "flops_per_text": flops,
            "peak_flops": peak, "texts_per_second": peak / flops}


def budget(comparison, server, bodies):
    """Memory and answers where weights are read layer by layer."""
    small = type(server)(comparison.model, comparison.options.hone, ["--memory-budget", BUDGET])
    with Running(small, {}) as running:
        comparison.check(running)
        rates = {n: load.closed(running.port, bodies, n, 4) for n in (1, 64)}
        return {"budget": BUDGET, "memory_bytes": running.memory(),
                "one_connection": rates[1]["accepted"],
                "texts_per_second": rates[64]["texts_per_second"]}


CASES = {"overload": overload, "deadline": deadline, "idle": idle, "end": end, "swap": swap,
         "swaps": swaps, "slow": slow, "bound": bound, "budget": budget}


def measure(comparison, names):
    server = comparison.server("hone")
    server.install()
    bodies = load.Bodies(server, comparison.texts, 1)
    for name in names:
        comparison.keep("hone", **{f"case_{name}": CASES[name](comparison, server, bodies)})
