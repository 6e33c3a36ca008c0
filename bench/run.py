"""Runs hone and its peers in turns and writes bench/results/cpu.md and cpu.json.

    bench/run.py [--threads N] [--rounds 3] [--cases ...] [--peers ...|none] [--start-peer]

Ratios come from one run: each round times hone and then every peer on the same case. Peers that
are not installed are named and left out. Exit code 1 where a bar is missed.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT / "../shared/data"))
# Case: hone's case, dtype, and the peers' cases of which it is the rival.
CASES = {
    "b1-len32": ("bert-base-b1-len32", "fp32", ["b1-len32"]),
    "b1-len128": ("bert-base-b1-len128", "fp32", ["b1-len128"]),
    "sst2-b32": ("bert-base-sst2-b32", "fp32", ["sst2-b32", "sst2-b32-sorted"]),
    "b1-len32-bf16": ("bert-base-b1-len32", "bf16", ["b1-len32"]),
    "b1-len128-bf16": ("bert-base-b1-len128", "bf16", ["b1-len128"]),
    "b1-len32-int8": ("bert-base-b1-len32", "int8", ["b1-len32"]),
    "b1-len128-int8": ("bert-base-b1-len128", "int8", ["b1-len128"]),
    "sst2-b32-int8": ("bert-base-sst2-b32", "int8", ["sst2-b32"]),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/hone"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", help=f"of {','.join(CASES)},start")
    parser.add_argument("--peers", help="as peers.py names them, or none")
    parser.add_argument("--start-peer", action="store_true", help="time transformers' start too")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench/results")
    return parser.parse_args()


def sst2_lengths(hone):
    """A file of SST-2 dev's token counts by hone's own tokenizer.

    None without the data, or where hone bench cannot be given lengths: it then draws its own, and
    the SST-2 bars are not judged.
    """
    source = DATA / "glue/SST-2/dev.tsv"
    usage = subprocess.run([hone, "bench", "--help"], capture_output=True, text=True).stdout
    if not source.exists() or "--lengths" not in usage:
        print("SST-2 lengths are drawn: " + (f"{source} is not there" if not source.exists()
                                             else "hone bench has no --lengths"))
        return None
    lines = source.read_text(encoding="utf-8").split("\n")[1:]
    sentences = "".join(line.split("\t")[0] + "\n" for line in lines if line)
    tokenizer = DATA / "tokenizers/bert-base-uncased/tokenizer.json"
    done = subprocess.run([hone, "tokenize", "--tokenizer", str(tokenizer), "--input", "-"],
                          input=sentences, capture_output=True, encoding="utf-8", check=True)
    from peers import CACHE
    path = CACHE / "sst2-lengths.txt"
    path.parent.mkdir(exist_ok=True)
    lengths = [len(json.loads(line)["ids"]) for line in done.stdout.splitlines()]
    path.write_text("".join(f"{length}\n" for length in lengths))
    theirs = CACHE / "peers" / "sst2.json"
    if theirs.exists() and [len(ids) for ids in json.loads(theirs.read_text())] != lengths:
        sys.exit("hone tokenize and tokenizers count SST-2's tokens differently")
    return path


def hone_round(options, case, lengths):
    name, dtype, _ = CASES[case]
    command = [options.hone, "bench", name, "--device", "cpu", "--dtype", dtype, "--threads",
               str(options.threads), "--json"]
    if "sst2" in case and lengths:
        command += ["--lengths", str(lengths)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    if result.get("checked") is not True:
        sys.exit(f"{' '.join(command)}: the result was not checked")
    return result


def combine(rounds):
    """The median round; its spread reaches over all rounds."""
    middle = sorted(rounds, key=lambda r: r["median_ms"])[len(rounds) // 2]
    return {**middle, "p10_ms": min(r["p10_ms"] for r in rounds),
            "p90_ms": max(r["p90_ms"] for r in rounds)}


def measure(options, cases, lengths, running, missing):
    """Rows of hone and of the peers. Rounds are interleaved case by case."""
    from peers import Gone
    rows = []
    timed = set()  # peers' cases: those of bf16 and int8 share them with fp32
    for case in cases:
        mine = []
        for _ in range(options.rounds):
            mine.append(hone_round(options, case, lengths))
            for peer in list(running):
                try:
                    for theirs in CASES[case][2]:
                        if theirs not in timed:
                            peer.round(theirs)
                except Gone as error:
                    missing[peer.name] = f"{theirs}: {error}"
                    running.remove(peer)
            print(f"{case}: hone {mine[-1]['median_ms']:.1f} ms", flush=True)
        rows.append({"peer": "hone", **combine(mine), "case": case, "dtype": CASES[case][1]})
        for theirs in CASES[case][2]:
            if theirs not in timed:
                rows += [{**p.row(theirs), "dtype": p.name.rsplit("-", 1)[1]} for p in running]
                timed.add(theirs)
    return rows


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = [line.split(":", 1)[1].strip() for line in text.splitlines()
             if line.startswith("model name")]
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "").split()
    sets = [f for f in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16",
                        "amx_int8") if f in flags]
    return {"processor": found[0] if found else platform.processor(), "cores": len(found),
            "instruction_sets": sets, "system": platform.platform()}


def main():
    options = arguments()
    os.environ["THREADS"] = str(options.threads)  # peers.py reads it as it is imported
    import peers
    import report
    import start
    wanted = options.cases.split(",") if options.cases else [*CASES, "start"]
    for case in wanted:
        if case not in CASES and case != "start":
            sys.exit(f"case {case!r} is not one of {', '.join([*CASES, 'start'])}")
    names = [] if options.peers == "none" else peers.chosen(options.peers, peers.PEERS, "peer")
    running, missing = peers.start(names) if names else ([], {})
    lengths = sst2_lengths(options.hone) if any("sst2" in case for case in wanted) else None
    rows = measure(options, [c for c in wanted if c in CASES], lengths, running, missing)
    for peer in running:
        peer.close()
    if "start" in wanted and (row := start.measure(options.hone)):
        rows.append({"peer": "hone", "dtype": "fp32", **row})
        if options.start_peer and (row := start.measure_transformers(peers.PYTHON)):
            rows.append({"dtype": "fp32", **row})
    version = subprocess.run([options.hone, "--version"], capture_output=True, text=True).stdout
    made = {"date": datetime.date.today().isoformat(), "command": "bench/run.py "
            + " ".join(sys.argv[1:]), "hone": version.strip(), "threads": options.threads,
            "rounds": options.rounds, "real_sst2_lengths": lengths is not None, **processor(),
            "not_measured": missing, "rows": rows}
    made["bars"] = report.bars(made)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in (("cpu.json", json.dumps(made, indent=1)), ("cpu.md", report.page(made))):
        scratch = options.output / f"{name}.tmp"
        scratch.write_text(text.rstrip("\n") + "\n")
        scratch.rename(options.output / name)
    print(report.page(made))
    return 1 if any(bar["passed"] is False for bar in made["bars"]) else 0


if __name__ == "__main__":
    sys.exit(main())
