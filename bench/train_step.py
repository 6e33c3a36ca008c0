"""Times training steps of hone and torch in turns and writes bench/results/train.md and train.json.

    bench/train_step.py [--threads N] [--rounds 3] [--cases ...] [--python PY]

A step is forward, backward, clipping at 1 and AdamW, dropout 0.1, random weights and ids. Each
round times hone and then torch, each in a process of its own that does nothing meanwhile; the
figure is the median over the rounds of their ratio. Besides wall time the ratio of processor time
is given, which a busy machine disturbs less.

Memory beyond weights, gradients and optimiser state: hone's is its arena with workspace, which is
all that a step takes; torch's is what the step adds at most to the resident size (sampled every
2 ms while the first step after the optimiser's state exists runs; glibc is told to give freed
blocks back, so that earlier steps leave no slack).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT / "../shared/data"))
SENTENCES = 512  # of SST-2: 16 batches
# Case: hone's case and options, torch's model and shape, and the least ratio.
CASES = {
    "bert-base b8 len128 fp32": ("train-bert-base-b8-len128", [], "bert-base 8 128", 1.25),
    "bert-base b8 len128 bf16 against fp32":
        ("train-bert-base-b8-len128", ["--dtype", "bf16"], "bert-base 8 128", 1.7),
    "minilm SST-2 lengths b32 against padded":
        ("train-minilm-sst2-b32", [], "minilm 32 0", 3.0),
}
MEMORY = {"plain": ([], 0.6), "checkpointed": (["--gradient_checkpointing"], 0.15)}
SLOWER = 1.35  # the most that checkpointing may cost


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--python", default=sys.executable, help="one that has torch")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5, help="of hone's timed steps a round")
    parser.add_argument("--cases", default=",".join([*CASES, "memory"]))
    parser.add_argument("--lengths", type=pathlib.Path, help="where SST-2's token counts are put",
                        default=pathlib.Path(tempfile.gettempdir()) / "hone-sst2-lengths.txt")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench/results")
    return parser.parse_args()


class Torch:
    """A worker that takes one step a line and answers with its times."""

    def __init__(self, options, shape):
        environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads),
                           MALLOC_TRIM_THRESHOLD_="0", MALLOC_MMAP_THRESHOLD_="65536")
        lengths = [str(options.lengths)] if shape.endswith(" 0") else []
        self.process = subprocess.Popen(
            [options.python, str(ROOT / "bench/train_step_torch.py"), *shape.split(),
             str(options.threads), *lengths],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=environment)

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def hone(options, case, more):
    command = [options.hone, "bench", case, "--device", "cpu", "--threads", str(options.threads),
               "--seconds", str(options.seconds), "--json", *more]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def write_lengths(options):
    """Token counts of the first SST-2 training sentences, which both sides train on."""
    source = DATA / "glue/SST-2/train.tsv"
    if not source.exists():
        sys.exit(f"{source} is not there: HONE_DATA names the folder, --cases leaves it out")
    with open(source, encoding="utf-8") as file:
        lines = file.readlines()[1:SENTENCES + 1]
    tokenizer = DATA / "tokenizers/bert-base-uncased/tokenizer.json"
    done = subprocess.run([options.hone, "tokenize", "--tokenizer", str(tokenizer), "--input", "-"],
                          input="".join(line.split("\t")[0] + "\n" for line in lines),
                          capture_output=True, encoding="utf-8", check=True)
    counts = [len(json.loads(line)["ids"]) for line in done.stdout.splitlines()]
    options.lengths.write_text("".join(f"{count}\n" for count in counts))


def compare(options, name):
    case, more, shape, least = CASES[name]
    if shape.endswith(" 0"):
        write_lengths(options)
        more = [*more, "--lengths", str(options.lengths)]
    torch = Torch(options, shape)
    torch.ask("step")
    rounds = []
    for _ in range(options.rounds):
        ours = hone(options, case, more)
        theirs = torch.ask("step")
        rounds.append({"hone": ours, "torch": theirs,
                       "ratio": ours["per_second"] * theirs["ms"] / 1e3 / theirs["sequences"],
                       "cpu_ratio": theirs["cpu_ms"] / theirs["steps"] / ours["cpu_ms"]})
    torch.close()
    result = {"case": name, "least": least, "rounds": rounds,
              "ratio": statistics.median(r["ratio"] for r in rounds),
              "cpu_ratio": statistics.median(r["cpu_ratio"] for r in rounds)}
    print(f"{name}: {result['ratio']:.2f} times torch by the clock, {result['cpu_ratio']:.2f} by "
          f"processor time (at least {least})", flush=True)
    return result


def memory(options):
    torch = Torch(options, "bert-base 32 128")
    theirs = torch.ask("memory")
    torch.close()
    results = []
    for name, (more, most) in MEMORY.items():
        ours = hone(options, "train-bert-base-b32-len128", more)
        results.append({"case": name, "most": most, "torch_bytes": theirs["bytes"], "hone": ours,
                        "ratio": ours["activation_bytes"] / theirs["bytes"]})
        print(f"memory, {name}: {ours['activation_bytes'] / 2**20:.0f} MB, "
              f"{results[-1]['ratio']:.3f} of torch's {theirs['bytes'] / 2**20:.0f} MB (at most "
              f"{most})", flush=True)
    slower = results[1]["hone"]["cpu_ms"] / results[0]["hone"]["cpu_ms"]
    print(f"checkpointing: {slower:.2f} times the processor time (at most {SLOWER})", flush=True)
    return {"cases": results, "slower": slower}


def write(options, steps, used):
    options.output.mkdir(exist_ok=True)
    record = {"threads": options.threads, "load": os.getloadavg(), "steps": steps, "memory": used}
    (options.output / "train.json").write_text(json.dumps(record, indent=1) + "\n")
    lines = ["# Training steps against torch", "",
             f"{options.threads} threads, {options.rounds} rounds; load average of the machine "
             f"{os.getloadavg()[0]:.1f}. Method: bench/train_step.py.", "",
             "| case | hone ms | torch ms | ratio | ratio of processor time | at least |",
             "|---|---|---|---|---|---|"]
    for step in steps:
        middle = sorted(step["rounds"], key=lambda r: r["ratio"])[len(step["rounds"]) // 2]
        lines.append(f"| {step['case']} | {middle['hone']['median_ms']:.0f} | "
                     f"{middle['torch']['ms'] / middle['torch']['steps']:.0f} | {step['ratio']:.2f} | "
                     f"{step['cpu_ratio']:.2f} | {step['least']} |")
    if used:
        lines += ["", "| memory, bert-base b32 len128 | hone MB | torch MB | ratio | at most |",
                  "|---|---|---|---|---|"]
        lines += [f"| {c['case']} | {c['hone']['activation_bytes'] / 2**20:.0f} | "
                  f"{c['torch_bytes'] / 2**20:.0f} | {c['ratio']:.3f} | {c['most']} |"
                  for c in used["cases"]]
        lines += ["", f"Checkpointing takes {used['slower']:.2f} times the processor time (at most "
                      f"{SLOWER})."]
    (options.output / "train.md").write_text("\n".join(lines) + "\n")


def main():
    options = arguments()
    chosen = options.cases.split(",")
    steps = [compare(options, name) for name in CASES if name in chosen]
    used = memory(options) if "memory" in chosen else None
    write(options, steps, used)


if __name__ == "__main__":
    main()
