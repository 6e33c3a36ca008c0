"""The cases of tests/cluster/failures.py: how a run is started, what is done to it, and what must come of it."""
import dataclasses
import functools
import os
import shlex
import signal
import subprocess
from collections.abc import Callable

from cluster import CLUSTER, NODES, ROOT, SHARED, STARTERS, in_node, is_launched, on_login, ranks, state_of, wait_for
from inputs import DATA, HONE, MODEL, train_words

TIMEOUT = 5  # seconds of silence that ranks allow
# A machine that is busy gets a little more than the time that the ranks themselves keep.
AT_ONCE, SILENT = 5, TIMEOUT + 3
NODE, RANK = "n3", 2
OUT = SHARED / "out"
STEPS, EPOCH, FOREVER = 100, 20, 10**6
DISK, SMALL_DISK = "/tmp/disk", "9m"  # a checkpoint has 4 MB
COLLECTIVE = r"(sum|gather|broadcast|barrier|window).*\(collective \d+, step \d+\)"


class Wrong(Exception):
    """What a run did that it must not."""


@dataclasses.dataclass
class Case:
    what: str                         # how the page names it
    words: Callable                   # (starter): the command on the login node
    said: str                         # what the one line must match that hone says
    lose: Callable | None = None      # what is done at step 5; absent: the run ends by itself
    heal: Callable | None = None      # what is done behind the run, however it ends
    check: Callable | None = None     # (starter): what must be left, or Wrong
    limit: float = AT_ONCE            # seconds in which all ranks must have ended, from lose() or the start
    code: int | None = None           # the starter's exit code, where it is known
    patience: float = 10              # seconds that the starter may take longer than the ranks
    starter_ends: bool = True         # whether it has to end by itself
    starters: tuple = tuple(STARTERS)
    mute: tuple = ()                  # starters that may lose what hone says, as they end with it


def at_step(number):
    try:
        return (OUT / "log.jsonl").read_bytes().count(b'"loss"') >= number
    except OSError:
        return False


def started(words):
    return lambda starter: [*STARTERS[starter], *words]


def signalled(number):
    return lambda: [os.kill(pid, number) for pid in ranks([NODE])]


def cluster(*words):
    return lambda: subprocess.run([CLUSTER, *words], check=True)


def script(*lines):
    path = SHARED / "each.sh"
    path.write_text("\n".join(["#!/bin/bash", *lines]) + "\n")
    path.chmod(0o755)
    return path


def shell(words):
    return shlex.join(map(str, words))


def refused(what, field, value, *more, **different):
    """Rank 2 is started with other words than the rest."""
    def words(starter):
        same, other = train_words(OUT, STEPS), train_words(OUT, STEPS, *more, **different)
        return [*STARTERS[starter],
                script(f'[ "$(hostname)" != {NODE} ] || exec {shell(other)}', f"exec {shell(same)}")]

    def nothing_is_trained(_):
        if at_step(1):
            raise Wrong("a step was trained")

    said = rf"hone: {field}: ranks differ: '{value}' on rank 0 \(n1\), '{value}' on rank {RANK} \({NODE}\)$"
    return Case(what, words, said, check=nothing_is_trained, code=1)


@functools.cache
def straight(starter, steps=STEPS):
    """The weights of a run that nobody disturbs."""
    folder = SHARED / f"straight-{starter}"
    if not folder.exists():
        on_login(*STARTERS.get(starter, OWN_LAUNCHER), *train_words(folder, steps),
                 *([] if starter in STARTERS else OWN_RANKS))
    return (folder / "model.safetensors").read_bytes()


def same_bits(starter, steps=STEPS):
    if (OUT / "model.safetensors").read_bytes() != straight(starter, steps):
        raise Wrong("the weights are not those of a run that nobody disturbed")


def goes_on(starter):
    """From its last checkpoint the run ends with the bits of one that nobody disturbed."""
    if not list(OUT.glob("checkpoint-*")):
        raise Wrong("there is no checkpoint")
    on_login(*STARTERS[starter], *train_words(OUT, STEPS, "--resume_from_checkpoint", "last"))
    same_bits(starter)


# Disks that are full

def on_small_disk(starter):
    """The first node, whose rank writes, has the output folder on a small disk."""
    in_node("n1", "mkdir", DISK)
    in_node("n1", "mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", DISK)
    return [*STARTERS[starter], *train_words(f"{DISK}/out", STEPS, "--save_total_limit", 10)]


def goes_on_elsewhere(starter):
    """What the small disk holds is brought to one with room, and the run goes on there."""
    in_node("n1", "cp", "-r", f"{DISK}/out", OUT)
    goes_on(starter)


def on_own_disks(starter):
    """Each node has an output folder of its own; that of rank 2 is full."""
    in_node(NODE, "sh", "-c", f"mkdir {DISK} && mount -t tmpfs -o size=16k tmpfs {DISK} && "
                              f"head -c 16384 /dev/zero > {DISK}/zeros")
    return [*STARTERS[starter], *train_words(f"{DISK}/out", STEPS)]


def leave_disks():
    for node in NODES:
        in_node(node, "sh", "-c", f"! mountpoint -q {DISK} || umount {DISK}; rm -rf {DISK}")


# Starts anew

OWN_LAUNCHER = ["srun", "-N1", "-n1"]
OWN_RANKS = ["--nproc-per-node", "4", "--max-restarts", "1"]
OWN_STEPS = 10 * STEPS  # ranks of one host are quick


def by_own_launcher(*more):
    return lambda starter: [*OWN_LAUNCHER, *train_words(OUT, OWN_STEPS, *OWN_RANKS, *more)]


def kill_own_rank():
    """Kills rank 2 when there is a checkpoint."""
    wait_for(lambda: any(OUT.glob("checkpoint-*")), 30)
    os.kill(next(pid for pid in ranks() if is_launched(pid, RANK)), signal.SIGKILL)


def has_all_steps(_):
    steps = (OUT / "log.jsonl").read_bytes().count(b'"loss"')
    if steps != OWN_STEPS:
        raise Wrong(f"the log has {steps} steps, expected {OWN_STEPS}")


def end_by_slurm():
    """What Slurm does at a job's time limit, or where another job is to have its nodes."""
    on_login("scancel", "--signal=TERM", on_login("squeue", "-h", "-o", "%A").split()[0])


def in_queue(_):
    """A batch job; the script waits for it, as a starter does, and prints what it printed."""
    more = train_words(OUT, STEPS)[8:]
    return [script(f"export HONE={HONE}", f"job=$(sbatch --parsable --output={SHARED}/job.log {ROOT}/packaging/slurm/train.sbatch "
                   f"{MODEL} {DATA} {OUT} {shell(more)})",
                   'while [ -n "$(squeue -h -j $job 2>/dev/null)" ]; do sleep 0.2; done',
                   f"cat {SHARED}/job.log",
                   "scontrol show job $job | grep -q JobState=COMPLETED")]


LOST = rf"hone: rank {RANK} on {NODE} %s; it was last seen at {COLLECTIVE}$"
FULL = r"hone: rank %d on %s, step \d+: \S+: cannot write: No space left on device"
APART = (r"hone: ranks have come apart: rank 0 on n1 is at {} \(collective \d+, step 10\), "
         r"rank 3 on n4 is at {} \(collective \d+, step {}\)$").format
PROBE = [SHARED / "comm_probe", 10**6, 10000, TIMEOUT, SHARED / "step"]
HASH = "[0-9a-f]{32}"
CASES = {
    "killed": Case("rank killed", started(train_words(OUT, FOREVER)), LOST % "has ended",
                   lose=signalled(signal.SIGKILL)),
    "frozen": Case("rank frozen", started(train_words(OUT, FOREVER)), LOST % r"has been silent for \S+ s",
                   lose=signalled(signal.SIGSTOP), limit=SILENT),
    "cut": Case("network cut", started(train_words(OUT, FOREVER)), LOST % r"has been silent for \S+ s",
                lose=cluster("cut", NODE), heal=cluster("heal", NODE), limit=SILENT, starter_ends=False),
    "full": Case("disk full, of the checkpoints", on_small_disk, FULL % (0, "n1"), check=goes_on_elsewhere,
                 heal=leave_disks, limit=30, code=1),
    "full-own": Case("disk full, of another rank", on_own_disks, FULL % (RANK, NODE), heal=leave_disks, code=1),
    "version": refused("version differs", "version", r"0\.\d+\.\w+", program=SHARED / "other/hone"),
    "config": refused("config differs", "config.json, layer_norm_eps", r"1e-\d+", model=SHARED / "other-config"),
    "tokenizer": refused("tokenizer differs", "tokenizer.json", HASH, model=SHARED / "other-tokenizer"),
    "weights": refused("weights differ", r"weights, \S+", HASH, model=SHARED / "other-weights"),
    "data": refused("data differ", "training data", HASH, data=SHARED / "other.csv"),
    "scored": refused("evaluation data differ", r"evaluation data, \S+", HASH, "--validation_file",
                      SHARED / "other.csv"),
    "dtype": refused("dtype differs", "precision", r"\w+", "--bf16"),
    "nan": Case("no number on one rank, fp32",
                started(train_words(OUT, STEPS, model=SHARED / "large", data=SHARED / "rare.csv")),
                r"hone: step \d+: the loss is not a finite number, first in .*, on rank \d \(n\d\); ", code=1),
    "nan-fp16": Case("no number on one rank, fp16",
                     started(train_words(OUT, EPOCH, "--fp16", model=SHARED / "large", data=SHARED / "rare.csv")),
                     r"warning: step \d+: too large for fp16 at loss scale .*, on rank \d \(n\d\); nothing is changed",
                     limit=30, code=0),
    "skipped": Case("collectives out of order: one left out", started([*PROBE, "skip"]),
                    APART("sum of .*", "sum of .*", 11)),
    "short": Case("collectives out of order: a shorter one", started([*PROBE, "shorten"]),
                  APART("sum of 40.0 kB", "sum of 40.0 kB", 10)),
    "term": Case("SIGTERM from the scheduler", started(train_words(OUT, STEPS)), r"hone: interrupted; go on from",
                 lose=end_by_slurm, check=goes_on, mute=("mpirun",)),
    "restart": Case("`--max-restarts`", by_own_launcher(), r"hone: restart 1 of 1, with 4 ranks",
                    lose=kill_own_rank, check=lambda _: same_bits("own", OWN_STEPS), limit=60, code=0,
                    starters=("own",)),
    "fewer": Case("`--max-restarts` with `--min_ranks`", by_own_launcher("--min_ranks", 3),
                  r"hone: restart 1 of 1, with 3 ranks", lose=kill_own_rank, check=has_all_steps, limit=60, code=0,
                  starters=("own",)),
    "queue": Case("`--requeue` with `--resume_from_checkpoint last`", in_queue, LOST % "has ended",
                  lose=signalled(signal.SIGKILL), check=lambda _: same_bits("srun"), patience=300, code=0,
                  starters=("sbatch",)),
    "flag": Case("`--max-restarts` under another starter", started(train_words(OUT, STEPS, "--max-restarts", 1)),
                 r"hone: --max-restarts: hone restarts what it started itself; ", code=2),
}
