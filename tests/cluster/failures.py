#!/usr/bin/env python3
"""Lets runs fail on a cluster that is up (tools/cluster) in every way of cases.py, and watches how they end.

  tests/cluster/failures.py [--build build] [--times 20] [--cases killed,frozen] [--starters srun,mpirun]
                            [--output bench/results/failures]

A case passes where all ranks have ended within its time, one line says why, and what is left is what must be.
With --output, FILE.json and FILE.md have the results; cases that were not run keep what they had. Exits with 1
where a case does not pass.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import sys

import inputs
from cases import CASES, OUT, Wrong, at_step
from cluster import ROOT, SHARED, Job, bring, idle, on_login, ranks, wait_for

START, IDLE = 60, 60  # seconds for ranks to come to step 5, and for nodes to be idle again


def clear():
    shutil.rmtree(OUT, ignore_errors=True)
    (SHARED / "step").unlink(missing_ok=True)


def what_hone_says(text):
    return [line for line in text.splitlines() if line.startswith(("hone: ", "warning: "))]


def judge(case, starter, text, seconds, alone, code):
    lines = what_hone_says(text)
    told = [line for line in lines if re.search(case.said, line)]
    if seconds is None or seconds > case.limit:
        raise Wrong(f"ranks were left after {case.limit} s: {text!r}")
    if not told and starter not in case.mute:
        raise Wrong(f"expected one line like {case.said!r}: {text!r}")
    if len(set(lines)) != len(lines) or len(told) > 1:
        raise Wrong(f"it is said more than once: {text!r}")
    if case.starter_ends and not alone:
        raise Wrong("the starter did not end")
    if case.code not in (None, code):
        raise Wrong(f"exit code {code}, expected {case.code}")
    return told[0] if told else ""


def watch(case, job):
    """The seconds until all ranks had ended, from what was done to them, or from the start."""
    if not case.lose:
        return wait_for(lambda: job.ended() and not ranks(), case.limit + 20)
    if wait_for(lambda: at_step(5), START) is None:
        raise Wrong("the ranks did not come to step 5")
    case.lose()
    return wait_for(lambda: not ranks(), case.limit + 20)


def once(case, starter):
    """The seconds that the ranks took to end and the line that says why; or what went wrong."""
    clear()
    job = Job(case.words(starter))
    seconds, wrong = None, None
    try:
        seconds = watch(case, job)
    except Wrong as error:
        wrong = error
    text, alone = job.end(case.patience)
    if case.heal and not case.check:
        case.heal()
    try:
        if wrong:
            raise Wrong(f"{wrong}: {text!r}")
        if wait_for(idle, IDLE) is None:
            raise Wrong("the nodes are not idle again")
        said = judge(case, starter, text, seconds, alone, job.process.returncode)
        if case.check:
            case.check(starter)
        return seconds, said, ""
    except (Wrong, SystemExit) as error:
        return seconds, "", str(error)
    finally:
        if case.heal and case.check:
            case.heal()


def run(name, starter, times):
    """The result of a case under a starter, which is printed too."""
    case = CASES[name]
    results = [once(case, starter) for _ in range(times)]
    good = [(seconds, said) for seconds, said, wrong in results if not wrong]
    faults = [kind_of(wrong) for _, _, wrong in results if wrong]
    longest = max((seconds for seconds, _ in good), default=None)
    result = {"case": name, "what": case.what, "starter": starter, "runs": times, "passed": len(good),
              "longest_s": longest and round(longest, 2), "limit_s": case.limit, "said": good[-1][1].replace(str(SHARED), "DIR") if good else "",
              "faults": faults}
    print(f"{starter:7} {name:10} {len(good)} of {times}; longest {result['longest_s']} s: {result['said']}", flush=True)
    for _, _, wrong in results:
        if wrong:
            print(f"  {wrong}", flush=True)
    return result


def kind_of(wrong):
    """What is kept of a run that did not pass. The crash is Open MPI's, before hone has said anything."""
    if "Signal: Segmentation fault" in wrong and "hone: " not in wrong:
        return "Open MPI crashed in MPI_Init"
    return wrong[:200]


def page(record):
    """The results as a page."""
    lines = ["# How runs end that fail", "",
             f"{record['machine']}; four nodes in namespaces of it, one rank each, {record['mpi']}, {record['slurm']}, "
             f"{record['date']}. A training of a small model by `hone train`, with `--comm_timeout 5`; collectives out "
             "of order by a program of their own. A run passes where all ranks have ended within the limit, one line "
             "says why, and what is left is as it must be: a run that goes on from a checkpoint ends with the bits of "
             "one that nobody disturbed. Made by `make test-cluster TIMES=20 RESULTS=bench/results/failures`; "
             "fewer runs in a row were made in parts, by the script's --cases and --times.", "",
             "| case | started by | runs | passed | longest, s | limit, s | what is said |", "|---|---|--:|--:|--:|--:|---|"]
    for row in record["rows"]:
        said = row["said"].removeprefix("hone: ").replace("|", "\\|")
        lines.append(f"| {row['what']} | {row['starter']} | {row['runs']} | {row['passed']} | {row['longest_s']} | "
                     f"{row['limit_s']:g} | {said and f'`{said}`'} |")
    lines += [""] + [f"- {row['what']}, {row['starter']}, not passed: {wrong}"
                     for row in record["rows"] for wrong in row["faults"]]
    lines += ["", "Seconds count from what was done to the run until no rank was left; where nothing was done, from the "
              "start of the job. Restarts include the rest of the run."]
    return "\n".join(lines) + "\n"


def write(output, results):
    """Replaces the rows that were run; the rest stay."""
    file = output.with_suffix(".json")
    old = json.loads(file.read_text())["rows"] if file.exists() else []
    rows = {(row["case"], row["starter"]): row for row in old + results}
    names = list(CASES)
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    record = {"machine": f"{cpu}, {os.cpu_count()} cores", "date": datetime.date.today().isoformat(),
              "mpi": on_login("mpirun", "--version").splitlines()[0].replace("mpirun (Open MPI)", "Open MPI"),
              "slurm": on_login("srun", "--version").strip().replace("slurm-wlm", "Slurm"),
              "rows": sorted(rows.values(), key=lambda row: names.index(row["case"]))}
    file.write_text(json.dumps(record, indent=1) + "\n")
    output.with_suffix(".md").write_text(page(record))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--starters", default="srun,mpirun,own,sbatch")
    parser.add_argument("--output", type=pathlib.Path, help="without its extension")
    options = parser.parse_args()
    bring(options.build, ["hone", "libhone_mpi.so", "comm_probe"])
    inputs.make()
    failed = False
    for name in options.cases.split(","):
        for starter in options.starters.split(","):
            if starter not in CASES[name].starters:
                continue
            result = run(name, starter, options.times)
            failed = failed or result["passed"] < result["runs"]
            if options.output:
                write(options.output, [result])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
