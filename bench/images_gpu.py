#!/usr/bin/env python3
"""Times ResNets in hone and in PyTorch on one GPU, by turns; writes bench/results/images-gpu.md.

    bench/images_gpu.py [--hone build-cuda/hone] [--peers DIR] [--cases PARTS] [--seconds 1] [--output DIR]
    bench/images_gpu.py --peers DIR --prepare

PyTorch is what gpu_images_lstm.py in --peers DIR makes of torchvision's models: channels_last,
compiled, the whole step in one CUDA graph; to answer, norms folded and uint8 pixels. It runs in a
process of its own between two runs of `hone bench` in each dtype. hone's steps copy their pixels
from the host; PyTorch's have them on the device. Memory is all that hone takes of the device, and
what PyTorch's tensors take at their peak. --prepare compiles PyTorch's models for all cases side by
side, so that later calls find them in its cache. Exit code 1 where a bar is missed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = "gpu_images_lstm.py"

# Name: hone's case, its dtypes, how the peer is called, the bar as times as fast, the share of the
# peer's memory that is allowed, and the bound in images a second (790 TFLOP/s, 4.3 TB/s).
CASES = {
    "ResNet-50, 224, batch 256, training":
        ("train-resnet50-b256", ("bf16", "fp16"),
         "resnet('r50', 'resnet50', 256, 224, 1000, torch.bfloat16, False)", 1.1, 0.8, 16400),
    "ResNet-18, CIFAR, batch 128, training":
        ("train-resnet18-cifar-b128", ("bf16", "fp16"),
         "resnet('r18', 'resnet18', 128, 32, 10, torch.bfloat16, True)", 1.3, None, 237000),
    "ResNet-34, CIFAR, batch 128, training":
        ("train-resnet34-cifar-b128", ("bf16",),
         "resnet('r34', 'resnet34', 128, 32, 10, torch.bfloat16, True)", 1.3, None, 114000),
    "ResNet-50, CIFAR, batch 128, training":
        ("train-resnet50-cifar-b128", ("bf16",),
         "resnet('r50', 'resnet50', 128, 32, 10, torch.bfloat16, True)", 1.3, None, 52000),
    "ResNet-18, torchvision's, 32 pixels, batch 512, training, mixed":
        ("train-resnet18-32px-b512", ("fp16",),
         "resnet('r18', 'resnet18', 512, 32, 1000, torch.float16, False)", 1.0, None, None),
    "ResNet-18, torchvision's, 32 pixels, batch 512, training, fp32":
        ("train-resnet18-32px-b512", ("fp32",),
         "resnet('r18', 'resnet18', 512, 32, 1000, torch.float32, False)", 1.0, None, None),
    "ResNet-50, 224, batch 256, answers":
        ("resnet50-b256", ("bf16",), "rinfer('r50', 'resnet50', 256, 224)", 1.25, None, 79000),
    "ResNet-50, 224, batch 1, answers, host to host":
        ("resnet50-b1", ("bf16",), "rinfer('r50', 'resnet50', 1, 224)", 1 / 0.85, None, None),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build-cuda/hone"))
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--cases", default="", help="parts of names, separated by |")
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--peer-seconds", type=int, default=300)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--peer", help="run this case's peer in this process")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench/results")
    return parser.parse_args()


def run_peer(peers, name):
    """Runs one case of the peers' script, of which the functions alone are taken."""
    source = (peers / SCRIPT).read_text()
    space = {}
    exec(compile(source[:source.index("\nemit(case='versions'")], SCRIPT, "exec"), space)
    torch = space["torch"]
    space["emit"](versions=f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}",
                  device=torch.cuda.get_device_name())
    exec(CASES[name][2], space)


def peer_command(options, name):
    return [sys.executable, __file__, "--peers", str(options.peers), "--peer", name]


def read_lines(text):
    facts = {}
    for line in text.splitlines():
        if line.startswith("{"):
            facts.update(json.loads(line))
    return facts


def peer(options, name):
    try:
        done = subprocess.run(peer_command(options, name), capture_output=True, text=True,
                              timeout=options.peer_seconds, env=dict(os.environ, OUT=""))
    except subprocess.TimeoutExpired:
        return {"error": f"over {options.peer_seconds} s"}
    facts = read_lines(done.stdout)
    if "ms" not in facts:
        facts.setdefault("error", done.stderr.strip()[-300:])
    return facts


def prepare(options, names):
    running = [(name, subprocess.Popen(peer_command(options, name), stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)) for name in names]
    for name, process in running:
        facts = read_lines(process.communicate()[0])
        print(f"prepared {name}: {facts.get('error', 'done')}", flush=True)


def hone(options, case, dtype):
    command = [options.hone, "bench", case, "--device", "cuda", "--dtype", dtype, "--tune", "--seconds",
               str(options.seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip()}
    return json.loads(done.stdout.splitlines()[-1])


def batch_of(case):
    return int(case.rsplit("-b", 1)[1])


def row_of(name, dtype, runs, theirs):
    case, _, _, bar, memory_bar, bound = CASES[name]
    ms = statistics.median(run["median_ms"] for run in runs)
    row = {"case": name, "dtype": dtype, "hone_ms": ms, "hone_img_s": batch_of(case) / ms * 1e3,
           "bar": bar, "bound_img_s": bound, "hone_bytes": runs[0].get("device_bytes"),
           "memory_bar": memory_bar}
    peer_ms = theirs.get("host_ms") if "host to host" in name else theirs.get("ms")
    if peer_ms:
        row |= {"peer_ms": peer_ms, "times": peer_ms / ms}
        if "peak_MB" in theirs and row["hone_bytes"]:
            row |= {"peer_bytes": theirs["peak_MB"] * 2**20}
            row["memory"] = row["hone_bytes"] / row["peer_bytes"]
    return row


def table(rows):
    show = lambda value, form: "" if value is None else format(value, form)
    lines = ["| case | dtype | hone ms | images/s | share of the bound | PyTorch ms | times as fast "
             "| at least | hone GB | PyTorch GB |", "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        share = row["hone_img_s"] / row["bound_img_s"] if row["bound_img_s"] else None
        giga = lambda key: row[key] / 1e9 if row.get(key) else None
        cells = [row["case"], row["dtype"], f"{row['hone_ms']:.3f}", f"{row['hone_img_s']:.0f}",
                 show(share, ".2f"), show(row.get("peer_ms"), ".3f"), show(row.get("times"), ".2f"),
                 f"{row['bar']:.2f}", show(giga("hone_bytes"), ".2f"), show(giga("peer_bytes"), ".2f")]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def op_table(run):
    """Where a step's time and bytes go; steps run one by one for this, which takes longer."""
    total = sum(run["op_ms"].values())
    lines = ["| operation | ms | share | GB | GB/s | TFLOP/s |", "|---|--:|--:|--:|--:|--:|"]
    for name, ms in sorted(run["op_ms"].items(), key=lambda item: -item[1]):
        if ms < 0.005 * total:
            continue
        giga, flop = run["op_gbyte"][name], run["op_gflop"][name]
        lines.append(f"| {name} | {ms:.3f} | {ms / total:.2f} | {giga:.2f} | {1e3 * giga / ms:.0f} | "
                     f"{flop / ms:.0f} |")
    return lines + [f"| all | {total:.3f} | | {sum(run['op_gbyte'].values()):.2f} | | |"]


def missed(row):
    return row.get("times", row["bar"]) < row["bar"] or (
        row["memory_bar"] is not None and row.get("memory", 0) > row["memory_bar"])


def main():
    options = arguments()
    if options.peer:
        return run_peer(options.peers, options.peer)
    parts = [part for part in options.cases.split("|") if part]
    names = [name for name in CASES if not parts or any(part in name for part in parts)]
    if options.prepare:
        return prepare(options, names)
    rows, facts, tables = [], {}, []
    for name in names:
        case, dtypes = CASES[name][:2]
        runs = {dtype: [hone(options, case, dtype)] for dtype in dtypes}
        theirs = peer(options, name) if options.peers else {}
        facts = facts or {key: theirs[key] for key in ("device", "versions") if key in theirs}
        for dtype in dtypes:
            runs[dtype].append(hone(options, case, dtype))
            for run in runs[dtype] + [theirs]:
                if "error" in run:
                    print(f"{name}, {dtype}: {run['error']}", flush=True)
            good = [run for run in runs[dtype] if "error" not in run]
            if not good:
                continue
            rows.append(row_of(name, dtype, good, theirs))
            print(json.dumps(rows[-1]), flush=True)
            if "op_ms" in good[0]:
                tables += ["", f"{name}, {dtype}, a step's operations one by one:", "",
                           *op_table(good[0])]
    lines = ["# ResNets on a GPU", "",
             f"{facts.get('device', '')}, {facts.get('versions', '')}; `bench/images_gpu.py --peers DIR` "
             "says how. hone's times are those before and behind PyTorch's in the middle.", "",
             *table(rows), *tables]
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "images-gpu.md").write_text("\n".join(lines) + "\n")
    (options.output / "images-gpu.json").write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")
    print("\n".join(lines))
    return 1 if any(missed(row) for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
