#!/usr/bin/env python3
"""Times hone and PyTorch on one GPU in turns and writes bench/results/gpu.md, gpu.json and gpu.svg.

    bench/gpu.py --peers DIR [--hone build-cuda/hone] [--output DIR]

RoBERTa-base, bf16, dropout 0.1 in training, batches of the same lengths for all. DIR holds
gpu_expert.py (the strongest PyTorch: packed, compiled, one CUDA graph a step), gpu_users.py (what
people run: padded, torch.compile) and sst2_lengths.json; both print a JSON line a case. hone runs
before, between and behind them; its figure is the median. Exit code 1 where a bar is missed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Name: hone's case and lengths; the beginning of the expert's and the users' case and the field of
# its time; the least ratio to each; and what the matrix products and AdamW alone take, in ms, as
# PyTorch times them in a graph (for one short input: what reading the weights takes).
CASES = {
    "train b32, SST-2 lengths": ("train-roberta-base-sst2-b32", "train",
                                 "packed compile + graph train bs32 sst2", 1.6, 6.0, 1.94),
    "train b32, len 128": ("train-roberta-base-b32-len128", None,
                           "packed compile + graph train bs32 len128", 1.3, 2.5, 4.45),
    "train b32, len 512": ("train-roberta-base-b32-len512", None,
                           "packed compile + graph train bs32 len512", 1.25, 1.45, 14.4),
    "infer b1, len 32, host to host": ("roberta-base-b1-len32", None,
                                       "packed compile + graph infer b1 len32, host", 1 / .6,
                                       1 / .35, .04),
    "infer b128, SST-2 lengths": ("roberta-base-sst2-b128", "dev",
                                  "packed compile + graph infer b128 sst2", 1.35, 4.0, .94),
    "infer b128, len 128": ("roberta-base-b128-len128", None,
                            "packed compile + graph infer b128 len128", 1.15, 1.35, 4.49),
}
# The users' compiled cases of the same shapes: parts of their names.
USERS = {
    "train b32, SST-2 lengths": "bs32 bf16 sst2-train-lens compile",
    "train b32, len 128": "bs32 bf16 len128 compile",
    "train b32, len 512": "bs32 bf16 len512 compile",
    "infer b1, len 32, host to host": "b1 len32 graphs",
    "infer b128, SST-2 lengths": "b128 sst2-dev-lens compile",
    "infer b128, len 128": "b128 len128 compile",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build-cuda/hone"))
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable, help="one that has torch")
    parser.add_argument("--cases", help="parts of names, comma-separated")
    parser.add_argument("--seconds", type=int, default=1, help="of hone's timed rounds a case")
    parser.add_argument("--peer-seconds", type=int, default=900, help="the most that a peer may take")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench/results")
    return parser.parse_args()


def hone_round(options, lengths):
    times = {}
    for name, (case, which, *_) in CASES.items():
        if options.cases and not any(part in name for part in options.cases.split(",")):
            continue
        command = [options.hone, "bench", case, "--device", "cuda", "--dtype", "bf16", "--tune",
                   "--seconds", str(options.seconds), "--json"]
        if which:
            command += ["--lengths", lengths[which]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        times[name] = json.loads(done.stdout)
        print(f"hone {name}: {times[name]['median_ms']:.3f} ms", flush=True)
    return times


def peer_lines(options, script):
    path = options.peers / script if options.peers else None
    if not path or not path.exists():
        print(f"{script}: not there, left out")
        return []
    environment = dict(os.environ, LENGTHS=str(options.peers / "sst2_lengths.json"))
    environment.pop("OUT", None)
    # Lines as they come, so that a peer that is cut off has said what it could.
    process = subprocess.Popen([options.python, str(path)], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env=environment)
    watchdog = threading.Timer(options.peer_seconds, process.kill)
    watchdog.start()
    lines = []
    for line in process.stdout:
        if line.startswith("{"):
            lines.append(json.loads(line))
            print(f"{script}: {line.strip()}", flush=True)
    watchdog.cancel()
    if process.wait():
        print(f"{script}: exit code {process.returncode}")
    return lines


def expert_ms(lines, start):
    for line in lines:
        if line["case"].startswith(start):
            return line.get("ms", line.get("p50_ms"))
    return None


def users_ms(lines, name):
    for line in lines:
        if USERS[name] in line["case"]:
            return line.get("step_ms", line.get("p50_ms"))
    return None


MEMORY_CASE = "train b32, len 128"  # whose peak memory is compared
MEMORY_BAR = 0.8  # of a peer's, at most


def memory_row(rounds, expert, users):
    """Gigabytes at the peak of a training step: all that hone takes of the device, and what the
    peers' tensors take."""
    ours = max((r[MEMORY_CASE]["device_bytes"] for r in rounds if MEMORY_CASE in r), default=0)
    theirs = next((line["peak_gb"] for line in expert
                   if line["case"].startswith("packed compile train bs32 len128")
                   and "peak_gb" in line), None)
    many = next((line["peak_MB"] * 2**20 / 1e9 for line in users
                 if USERS[MEMORY_CASE] in line["case"] and "peak_MB" in line), None)
    return {"hone_gb": ours / 1e9, "expert_gb": theirs, "users_gb": many}


def memory_line(row):
    parts = [f"; {who} {row[key]:.2f} GB ({row['hone_gb'] / row[key]:.2f} of it, at most {MEMORY_BAR})"
             for who, key in (("the strongest PyTorch", "expert_gb"),
                              ("users' torch.compile", "users_gb")) if row[key]]
    return f"Peak memory, {MEMORY_CASE}: hone {row['hone_gb']:.2f} GB{''.join(parts)}."


def svg(rows):
    """A bar a case: the ratio to the expert's, its number behind it; a line at 1."""
    left, width, high = 230, 420, 34
    scale = width / max([row["expert_ratio"] for row in rows] + [2.0])
    across, down = left + width + 60, high * len(rows) + 60
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" '
           'font-family="sans-serif" font-size="13">',
           "<title>How many times as fast hone is as the strongest PyTorch</title>",
           f'<rect width="{across}" height="{down}" fill="#fff"/>',
           '<text x="10" y="18">times as fast as the strongest PyTorch (higher is better)</text>']
    for i, row in enumerate(rows):
        y, bar = 32 + i * high, row["expert_ratio"] * scale
        out.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{row["case"]}</text>')
        out.append(f'<rect x="{left}" y="{y}" width="{bar:.1f}" height="22" fill="#3b7dd8"/>')
        out.append(f'<text x="{left + bar + 8:.1f}" y="{y + 16}">{row["expert_ratio"]:.2f}</text>')
    x = left + scale
    out.append(f'<line x1="{x:.1f}" y1="26" x2="{x:.1f}" y2="{32 + high * len(rows)}" '
               'stroke="#555" stroke-dasharray="4 3"/>')
    out.append(f'<text x="10" y="{down - 10}" fill="#555">dashed: PyTorch</text></svg>')
    return "\n".join(out) + "\n"


def main():
    options = arguments()
    lengths = {}
    folder = pathlib.Path(tempfile.mkdtemp())
    if options.peers:
        for key, values in json.loads((options.peers / "sst2_lengths.json").read_text()).items():
            lengths[key] = str(folder / f"{key}.txt")
            pathlib.Path(lengths[key]).write_text("".join(f"{n}\n" for n in values))
    rounds = [hone_round(options, lengths)]
    expert = peer_lines(options, "gpu_expert.py")
    rounds.append(hone_round(options, lengths))
    users = peer_lines(options, "gpu_users.py")
    rounds.append(hone_round(options, lengths))
    machine = subprocess.run([options.hone, "info"], capture_output=True, text=True).stdout
    facts = [line for line in machine.splitlines() if line.startswith(("device", "cuda"))]
    rows, missed = [], False
    for name, (_, _, start, bar, user_bar, floor) in CASES.items():
        if name not in rounds[0]:
            continue
        ours = statistics.median(r[name]["median_ms"] for r in rounds)
        theirs, many = expert_ms(expert, start), users_ms(users, name)
        row = {"case": name, "hone_ms": ours, "expert_ms": theirs, "users_ms": many, "bar": bar,
               "users_bar": user_bar, "floor_ms": floor, "share_of_floor": floor / ours}
        if theirs:
            row["expert_ratio"] = theirs / ours
            row["floor_ratio"] = theirs / floor
            missed |= row["expert_ratio"] < bar
        if many:
            row["users_ratio"] = many / ours
            missed |= row["users_ratio"] < user_bar
        rows.append(row)
    number = lambda x, digits=2: "–" if x is None else f"{x:.{digits}f}"
    lines = ["# hone and PyTorch on a GPU", "",
             "RoBERTa-base, bf16, batches of the same lengths; `bench/gpu.py` says how. Medians; "
             "times of hone before, between and behind the peers'.", "", *[f"    {f}" for f in facts], "",
             "| case | hone ms | strongest PyTorch ms | times as fast | at least | users' "
             "torch.compile ms | times as fast | at least | products and AdamW alone ms | share |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r['case']} | {r['hone_ms']:.3f} | {number(r['expert_ms'], 3)} | "
                     f"{number(r.get('expert_ratio'))} | {r['bar']:.2f} | "
                     f"{number(r['users_ms'], 3)} | {number(r.get('users_ratio'))} | "
                     f"{r['users_bar']:.2f} | {r['floor_ms']} | {100 * r['share_of_floor']:.0f}% |")
    memory = memory_row(rounds, expert, users)
    if memory["hone_gb"]:
        lines += ["", memory_line(memory)]
        missed |= any(memory[key] and memory["hone_gb"] > MEMORY_BAR * memory[key]
                      for key in ("expert_gb", "users_gb"))
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "gpu.md").write_text("\n".join(lines) + "\n")
    (options.output / "gpu.json").write_text(json.dumps(
        {"machine": facts, "cases": rows, "memory": memory, "hone": rounds, "expert": expert,
         "users": users},
        indent=1) + "\n")
    if all("expert_ratio" in r for r in rows):
        (options.output / "gpu.svg").write_text(svg(rows))
    print("\n".join(lines))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
