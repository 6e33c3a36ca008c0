"""What the tests of a cluster share: the cluster (tools/cluster), its processes, how a job is started and ended."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLUSTER = ROOT / "tools/cluster"
SHARED = pathlib.Path(os.environ.get("CLUSTER_DIR", "/var/tmp/hone-cluster")) / "shared"
NODES = ["n1", "n2", "n3", "n4"]
PROGRAMS = ("hone", "comm_probe")
STARTERS = {"srun": ["srun", "--mpi=pmix", "-N4"], "mpirun": ["salloc", "-Q", "-N4", "mpirun", "--quiet"]}


def bring(build, names):
    """Copies what was built to where all nodes see it."""
    for name in names:
        shutil.copy(build / name, SHARED / name)


def run(words, check=True, **options):
    """What a command printed; one that fails ends the test."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=240,
                          stdin=subprocess.DEVNULL, **options)
    if check and done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def on_login(*words, check=True):
    return run([CLUSTER, "run", *words], check)


def in_node(node, *words, check=True):
    subprocess.run([CLUSTER, "in", node, *map(str, words)], check=check, stdin=subprocess.DEVNULL)


def network_of(node):
    return os.readlink(f"/proc/{(SHARED.parent / node / 'pid').read_text().strip()}/ns/net")


def ranks(nodes=NODES):
    """The numbers of the processes of ranks on these nodes; the guardians that they forked are left out."""
    networks, found, parents = {network_of(node) for node in nodes}, [], {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            stat = (process / "stat").read_text()
            name, rest = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()
            if name in PROGRAMS and rest[0] != "Z" and os.readlink(process / "ns/net") in networks:
                parents[int(process.name)] = int(rest[1])
                found.append(int(process.name))
        except (OSError, ValueError):
            continue
    return [pid for pid in found if parents[pid] not in parents or is_launched(pid)]


def is_launched(pid, number=None):
    """Whether hone's own launcher started the process; as the rank of that number, where one is given."""
    try:
        environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.startswith(b"HONE_RANK=") and number in (None, int(word[10:])) for word in environment)


def wait_for(condition, seconds):
    """The seconds that it took; none where it did not come."""
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        if condition():
            return time.monotonic() - begin
        time.sleep(0.02)
    return None


def idle():
    return len(on_login("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()) >= len(NODES)


def state_of(job):
    return re.search(r"JobState=(\w+)", on_login("scontrol", "show", "job", job))[1]


class Job:
    """A command on the login node, with all that it prints."""

    def __init__(self, words):
        self.printed = tempfile.TemporaryFile("w+")  # a pipe that nobody reads would hold the job up
        self.process = subprocess.Popen([CLUSTER, "run", *map(str, words)], stdin=subprocess.DEVNULL,
                                        stdout=self.printed, stderr=subprocess.STDOUT, start_new_session=True)

    def ended(self):
        return self.process.poll() is not None

    def end(self, patience):
        """Waits so long, then ends what is left. Gives what was printed, and whether it ended by itself."""
        alone = wait_for(self.ended, patience) is not None
        if not alone:
            on_login("scancel", "-u", "root", check=False)
            if wait_for(self.ended, 20) is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        for pid in ranks():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.printed.seek(0)
        return self.printed.read(), alone
