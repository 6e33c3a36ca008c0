"""Compares hone serve with other servers and writes bench/results/serve.md and serve.json.

    bench/serve.py [--servers hone,triton,...] [--steps start,tune,latency,saturation,search]
                   [--overload overload,deadline,idle,end,swap,swaps,slow,bound,budget]

Each server in turn has the same cores, the same MiniLM classifier in fp32 and SST-2's sentences;
its answers are checked against hone predict before it is timed. The load comes from
build/load_generator: open loop, Poisson, timed from the intended moment of sending. Steps that
were not asked for keep their figures of an earlier run in .cache/serving/figures.json, so that a
long comparison can be made in parts on a machine that is quiet now and then.
"""
import argparse
import datetime
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "serving"))

import load  # noqa: E402
import servers  # noqa: E402
from process import Running, ask  # noqa: E402

DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT / "../shared/data"))
FIGURES = servers.FOLDER / "figures.json"
STEPS = ["start", "tune", "latency", "saturation", "search"]
BATCHES = [1, 32]
# The share of its saturation at which the best peer's p99 is taken as the limit for all: busy, but
# not so near to the edge that the p99 is of the machine's stalls.
LOADED = 0.7
REVIEWS = ["a gorgeous , witty , seductive movie .", "two hours i will not get back .",
           "the plot is thin , but the actors carry it from the first scene to the last .",
           "dull .", "it 's slow -- very , very slow .", "worth seeing twice ."]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ["hone", *servers.PEERS]
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--servers", default=",".join(names), help=f"of {','.join(names)}")
    parser.add_argument("--steps", default=",".join(STEPS), help=f"of {','.join(STEPS)}, or none")
    parser.add_argument("--overload", default="", help="of serve_overload.py's cases, for hone")
    parser.add_argument("--seconds", type=float, default=6, help="of each run that is timed")
    parser.add_argument("--trials", type=int, default=100, help="of the end under load")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench/results")
    options = parser.parse_args()
    options.servers = options.servers.split(",")
    options.steps = [] if options.steps == "none" else options.steps.split(",")
    for given, known in ((options.servers, names), (options.steps, STEPS)):
        for name in given:
            if name not in known:
                sys.exit(f"{name!r} is not one of {', '.join(known)}")
    return options


def raise_file_limit():
    """For this process and all that it starts: thousands of connections need as many files."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def read_texts():
    source = DATA / "glue/SST-2/dev.tsv"
    if not source.exists():
        print(f"{source} is not there: built-in reviews take its place")
        return REVIEWS, "built-in reviews"
    lines = source.read_text(encoding="utf-8").split("\n")[1:]
    return [line.split("\t")[0].strip() for line in lines if line], "SST-2 dev"


def expected_answers(hone, model, texts):
    done = subprocess.run([hone, "predict", "--model", str(model), "--format", "jsonl",
                           "--json"], text=True,
                          input="".join(json.dumps({"text": t}) + "\n" for t in texts),
                          capture_output=True)
    if done.returncode != 0:
        sys.exit(f"hone predict: {done.stderr.strip()}")
    return [json.loads(line)["scores"] for line in done.stdout.splitlines()]


def check(running, texts, expected):
    """Raises NotAvailable where an answer is off by more than 1e-4."""
    server = running.server
    for first in range(0, len(texts), 32):
        for batch in ([texts[first]], texts[first:first + 32]):
            status, _, body = ask(running.port, "POST", server.path(),
                                  json.dumps(server.body(batch)),
                                  {"Content-Type": "application/json"})
            if status != 200:
                raise servers.NotAvailable(f"answers {status}: {body[:200]!r}")
            for i, answer in enumerate(server.read(json.loads(body))):
                for label, score in expected[first + i].items():
                    if abs(answer[label] - score) > 1e-4:
                        raise servers.NotAvailable(
                            f"gives {answer} for {batch[i]!r} where hone predict gives "
                            f"{expected[first + i]}")


def median(values):
    return sorted(values)[len(values) // 2]


def median_of(rounds):
    """Every figure's median over rounds."""
    return {name: median([one[name] for one in rounds]) for name in rounds[0]}


class Comparison:
    def __init__(self, options):
        self.options = options
        self.texts, self.source = read_texts()
        self.figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
        import start
        self.model = start.minilm_classifier()
        if self.model is None:
            sys.exit("MiniLM cannot be had, and without a model there is nothing to serve")
        self.expected = expected_answers(options.hone, self.model, self.texts)
        self.text_file = servers.FOLDER / "texts.txt"
        self.text_file.parent.mkdir(parents=True, exist_ok=True)
        self.text_file.write_text("".join(text + "\n" for text in self.texts), encoding="utf-8")

    def server(self, name):
        if name == "hone":
            return servers.Hone(self.model, self.options.hone)
        return servers.PEERS[name](self.model)

    def check(self, running):
        check(running, self.texts, self.expected)

    def keep(self, name, **figures):
        self.figures.setdefault(name, {}).update(figures)
        scratch = FIGURES.with_suffix(".tmp")
        scratch.write_text(json.dumps(self.figures, indent=1))
        scratch.rename(FIGURES)
        print(f"{name}: {json.dumps(figures)}", flush=True)

    def measure(self, name):
        """All steps that were asked for; a server that cannot do one is named and left out."""
        server = self.server(name)
        try:
            server.install()
            server.prepare()
            self.keep(name, version=server.version(), not_available=None)
            for step in self.options.steps:
                getattr(self, step)(server)
        except servers.NotAvailable as error:
            self.keep(name, not_available=str(error))

    def start(self, server):
        """Start to ready, and memory once all texts were answered; medians of three starts."""
        ready, memory = [], []
        for _ in range(3):
            with Running(server, server.settings[0]) as running:
                self.check(running)
                ready.append(running.ready_seconds)
                memory.append(running.memory())
        self.keep(server.name, ready_seconds=median(ready), memory_bytes=median(memory))

    def tune(self, server):
        """The settings with the most answers to a few connections, for each size of batch."""
        if len(server.settings) == 1:
            chosen = {str(batch): server.settings[0] for batch in BATCHES}
            self.keep(server.name, settings=chosen)
            return
        rates = {batch: [] for batch in BATCHES}
        for settings in server.settings:
            with Running(server, settings) as running:
                for batch in BATCHES:
                    bodies = load.Bodies(server, self.texts, batch)
                    result = load.closed(running.port, bodies, 8 if batch == 1 else 2, 3)
                    rates[batch].append(result["texts_per_second"])
        self.keep(server.name, settings={
            str(batch): server.settings[rates[batch].index(max(rates[batch]))]
            for batch in BATCHES},
            tuned=[{**s, **{f"texts_per_second_{b}": rates[b][i] for b in BATCHES}}
                   for i, s in enumerate(server.settings)])

    def seconds(self, batch):
        """Batches come less often, and a p99 wants some hundred of them."""
        return self.options.seconds * (1 if batch == 1 else 2)

    def chosen(self, server, batch):
        return self.figures[server.name].get("settings", {}).get(str(batch), server.settings[0])

    def latency(self, server):
        """One connection that asks again once it is answered.

        hone's rounds alternate with calls in one process, so that both see the same machine.
        """
        bodies = load.Bodies(server, self.texts, 1)
        rounds, inside = [], []
        with Running(server, self.chosen(server, 1)) as running:
            for _ in range(3):
                rounds.append(load.closed(running.port, bodies, 1,
                                          self.options.seconds)["accepted"])
                if server.name == "hone":
                    inside.append(self.in_process(1))
            self.keep(server.name, one_connection=median_of(rounds))
            if server.name != "hone":
                return
            before = running.processor_seconds()
            health = load.run(running.port, None, "--method", "GET", "--path", "/health",
                              "--closed", 4, "--seconds", 4)["phases"][0]
            spent = running.processor_seconds() - before
        self.keep("hone", health_microseconds=spent / max(health["ok"], 1) * 1e6,
                  in_process_1=median_of(inside), in_process_32=self.in_process(32),
                  predict_texts_per_second=self.predict_rate())

    def in_process(self, batch):
        """Calls of the public API, one after the other."""
        done = subprocess.run(
            [str(ROOT / "build/in_process_bench"), "--model", str(self.model), "--texts",
             str(self.text_file), "--batch", str(batch), "--seconds", str(self.options.seconds)],
            capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def predict_rate(self):
        """Texts a second of hone predict on the same texts, its start and end left out."""
        times = {}
        for copies in (2, 10):
            text = "".join(t + "\n" for t in self.texts) * copies
            begin = datetime.datetime.now()
            subprocess.run([self.options.hone, "predict", "--model", str(self.model)], text=True,
                           input=text, stdout=subprocess.DEVNULL, check=True)
            times[copies] = (datetime.datetime.now() - begin).total_seconds()
        return 8 * len(self.texts) / (times[10] - times[2])

    def saturation(self, server):
        for batch in BATCHES:
            with Running(server, self.chosen(server, batch)) as running:
                bodies = load.Bodies(server, self.texts, batch)
                guess = 2 * load.closed(running.port, bodies, 8, 2)["texts_per_second"]
                reached = load.saturation(running.port, bodies, guess, self.seconds(batch))
            with Running(server, self.chosen(server, batch)) as running:
                load.closed(running.port, bodies, 2, 1)
                loaded = load.at_rate(running.port, bodies, LOADED * reached, self.seconds(batch))
            self.keep(server.name, **{f"saturation_{batch}": reached,
                                      f"loaded_p99_ms_{batch}": loaded["accepted"]["p99_ms"]})

    def limit(self, batch):
        """The best peer's p99: the peer that answers most, at LOADED of what it answers."""
        peers = [f for name, f in self.figures.items()
                 if name in servers.PEERS and f.get(f"saturation_{batch}")]
        if not peers:
            return None
        best = max(peers, key=lambda f: f[f"saturation_{batch}"])
        return best[f"loaded_p99_ms_{batch}"]

    def search(self, server):
        for batch in BATCHES:
            limit = self.limit(batch)
            if limit is None:
                raise servers.NotAvailable("no peer's saturation was measured")
            bodies = load.Bodies(server, self.texts, batch)
            with Running(server, self.chosen(server, batch)) as running:
                load.closed(running.port, bodies, 2, 1)
                high = 1.1 * self.figures[server.name][f"saturation_{batch}"]
                rate, result = load.rate_within(running.port, bodies, limit, high,
                                                self.seconds(batch))
            self.keep(server.name, **{f"within_{batch}": rate, f"within_limit_ms_{batch}": limit,
                                      f"within_run_{batch}": result})


def main():
    options = arguments()
    raise_file_limit()
    # An end by signal leaves the blocks that run servers, which end those.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    import page
    from run import processor
    comparison = Comparison(options)
    for name in options.servers:
        comparison.measure(name)
    if options.overload:
        import serve_overload
        serve_overload.measure(comparison, options.overload.split(","))
    made = {"date": datetime.date.today().isoformat(), "texts": comparison.source,
            "command": "bench/serve.py " + " ".join(sys.argv[1:]), **processor(),
            "threads": servers.THREADS, "loaded_share": LOADED, "servers": comparison.figures}
    made["bars"] = page.bars(made)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in (("serve.json", json.dumps(made, indent=1)), ("serve.md", page.page(made))):
        scratch = options.output / f"{name}.tmp"
        scratch.write_text(text.rstrip("\n") + "\n")
        scratch.rename(options.output / name)
    print(page.page(made))


if __name__ == "__main__":
    sys.exit(main())
