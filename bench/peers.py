"""Times what users would run in hone's place: ONNX Runtime, OpenVINO and PyTorch, BERT-base shape.

    THREADS=2 bench/peers.py [--peers onnxruntime-fp32,...] [--cases b1-len32,...] [--rounds N]

Prints one JSON line a peer and case. Every peer is a process of its own that stays alive, so that
rounds can be taken in turns (see run.py). HONE_PEERS_PYTHON is the interpreter that has them.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CACHE = pathlib.Path(os.environ.get("HONE_CACHE", ROOT / ".cache"))
PYTHON = os.environ.get("HONE_PEERS_PYTHON", sys.executable)
THREADS = int(os.environ.get("THREADS", len(os.sched_getaffinity(0))))

PEERS = ["onnxruntime-fp32", "openvino-fp32", "torch-compile-fp32", "torch-fp32", "openvino-bf16",
         "torch-bf16", "onnxruntime-int8"]
# Sentences in one pass, and the passes timed in one round.
CASES = {"b1-len32": (1, 30), "b1-len128": (1, 15), "sst2-b32": (872, 1),
         "sst2-b32-sorted": (872, 1)}


class Gone(Exception):
    """A peer that is not installed, failed or died; the message says which."""


class Peer:
    """One worker process and the rounds it has run."""

    def __init__(self, name):
        self.name = name
        self.rounds = {}
        environment = dict(os.environ, THREADS=str(THREADS), OMP_NUM_THREADS=str(THREADS))
        if name == "torch-bf16" and "amx_tile" in pathlib.Path("/proc/cpuinfo").read_text():
            # Some guests show AMX without its tile palettes, and oneDNN then dies with SIGILL.
            environment["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"
        self.log = CACHE / "peers" / f"{name}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [PYTHON, str(HERE / "peer_worker.py"), name], env=environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.version = self.receive()["version"]

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            raise Gone(f"died with {f'signal {-code}' if code < 0 else f'exit code {code}'} "
                       f"(log: {self.log})")
        answer = json.loads(line)
        if "error" in answer:
            raise Gone(answer["error"])
        return answer

    def round(self, case):
        request = {"case": case, "reps": CASES[case][1]}
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() says how it died
        self.rounds.setdefault(case, []).append(self.receive()["times_ms"])

    def row(self, case):
        return {"peer": self.name, "case": case, "threads": THREADS, "version": self.version,
                **summary(self.rounds[case], CASES[case][0])}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def summary(rounds, sentences):
    """The median round's median; the spread is over everything that was timed."""
    times = sorted(t for one in rounds for t in one)
    median = statistics.median(statistics.median(one) for one in rounds)
    return {"median_ms": round(median, 3), "p10_ms": round(times[len(times) // 10], 3),
            "p90_ms": round(times[(len(times) * 9) // 10], 3),
            "per_second": round(sentences / median * 1e3, 2)}


def prepare():
    """Exports and tokenises once; returns what went wrong, or None."""
    (CACHE / "peers").mkdir(parents=True, exist_ok=True)
    log = CACHE / "peers" / "prepare.log"
    with log.open("w") as out:
        done = subprocess.run([PYTHON, str(HERE / "peer_prepare.py")], stdout=out, stderr=out)
    if done.returncode == 0:
        return None
    last = [line for line in log.read_text().splitlines() if line.strip()][-1:]
    return f"{last[0] if last else 'no output'} (log: {log})"


def start(names):
    """The peers that start, and {name: reason} of those that do not."""
    running, missing = [], {}
    problem = prepare()
    for name in names:
        try:
            if problem:
                raise Gone(problem)
            running.append(Peer(name))
        except Gone as error:
            missing[name] = str(error)
    return running, missing


def chosen(text, known, what):
    names = text.split(",") if text else list(known)
    for name in names:
        if name not in known:
            sys.exit(f"{what} {name!r} is not one of {', '.join(known)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", help=f"of {','.join(PEERS)}")
    parser.add_argument("--cases", help=f"of {','.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cases = chosen(options.cases, CASES, "case")
    running, missing = start(chosen(options.peers, PEERS, "peer"))
    for name, reason in missing.items():
        print(json.dumps({"peer": name, "skipped": reason}), flush=True)
    for case in cases:
        for _ in range(options.rounds):
            for peer in list(running):
                try:
                    peer.round(case)
                except Gone as error:
                    print(json.dumps({"peer": peer.name, "case": case, "skipped": str(error)}),
                          flush=True)
                    running.remove(peer)
        for peer in running:
            print(json.dumps(peer.row(case)), flush=True)
    for peer in running:
        peer.close()


if __name__ == "__main__":
    main()
