#!/usr/bin/env python3
"""Runs what packaging/ starts several hosts with, on a cluster that is up (tools/cluster): the Slurm scripts, and
the launch of the Kubernetes manifest, which is mpirun over ssh.

  tests/cluster/scripts.py [--build build]

Exits with 1 where one does not do what one process does.
"""
import argparse
import contextlib
import json
import pathlib
import re
import subprocess
import sys

import inputs
from cluster import CLUSTER, NODES, ROOT, SHARED, bring, in_node, on_login, run
from inputs import HONE

SLURM = ROOT / "packaging/slurm"
MANIFEST = ROOT / "packaging/kubernetes/hone-train.yaml"


def expect(condition, what):
    if not condition:
        sys.exit(f"scripts: {what}")


def submit(script, *words, options=(), **environment):
    """A batch job, to its end."""
    log = SHARED / "script.log"
    log.unlink(missing_ok=True)
    export = ",".join(["ALL", *(f"{name}={value}" for name, value in {"HONE": HONE, **environment}.items())])
    done = subprocess.run([CLUSTER, "run", "sbatch", "--wait", f"--export={export}", f"--output={log}", *options,
                           SLURM / script, *map(str, words)], capture_output=True, text=True, timeout=300)
    expect(done.returncode == 0, f"{script}: exit code {done.returncode}\n{done.stderr}"
                                 f"{log.read_text() if log.exists() else ''}")


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def prepare():
    """Four nodes write the store that one process writes, byte for byte."""
    reviews = SHARED / "reviews.jsonl"
    words = [("fine", "dull")[i % 2] + " " + ("many", "some", "few")[i % 3] + f" {chr(97 + i % 26) * 3}" for i in range(5000)]
    reviews.write_text("".join(json.dumps({"reviewText": f"a film of {text}", "overall": i % 5 + 1}) + "\n"
                               for i, text in enumerate(words)))
    one = SHARED / "store-of-one"
    run([HONE, "prep", "--input", reviews, "--output", one, "--vocabulary", 100, "--threads", 1, "--quiet"])
    submit("prep.sbatch", SHARED / "store", 100, reviews, PREP="--threads 1 --quiet")
    expect(files_of(SHARED / "store") == files_of(one), "prep.sbatch: the store is not that of one process")
    print("prep.sbatch: four nodes write the store of one process", flush=True)


def explain():
    """Every row of the study is a job; those that the node can run have trained."""
    output = SHARED / "explained"
    submit("explain.sbatch", output, "--max_steps", 3, "--threads", 1)
    rows = sorted(output.glob("row-*.txt"))
    ran = [row for row in rows if not row.read_text().startswith("#")]
    lines = run([HONE, "study", "explain", "--dry_run"]).splitlines()
    expect(len(rows) == len(lines) == 7, f"explain.sbatch: {len(rows)} rows, expected 7")
    trained = [output / f"{row.stem}-trained" for row in ran]
    expect(ran and all((each / "all_results.json").exists() for each in trained), "explain.sbatch: a row has not trained")
    run([HONE, "report", output])
    page = (output / "report.html").read_text()
    expect(all(each.name in page for each in trained), "explain.sbatch: the report lacks a row")
    print(f"explain.sbatch: {len(ran)} of {len(rows)} rows can run on a node, and have", flush=True)


@contextlib.contextmanager
def ssh_servers(folder):
    """A server a node, as the operator's workers have; gives the options of a client."""
    folder.mkdir()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "config").write_text(f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nUsePAM no\n"
                                   "StrictModes no\nPermitRootLogin prohibit-password\nPidFile none\n")
    servers = []
    try:
        for node in NODES:
            in_node(node, "mkdir", "-p", "/run/sshd")
            servers.append(subprocess.Popen([CLUSTER, "in", node, "/usr/sbin/sshd", "-D", "-f", folder / "config"],
                                            stderr=subprocess.DEVNULL))
        yield (f"-i {folder}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
               "-o ConnectionAttempts=10")
    finally:
        for node, server in zip(NODES, servers):
            in_node(node, "sh", "-c", "kill $(pgrep -x sshd)", check=False)
            server.wait()


def launch_of(manifest):
    """What the launcher's container runs."""
    command = re.search(r"command: \[(mpirun.*)\]", manifest)[1]
    args = re.search(r"args:\n((?: +- --.*\n)+)", manifest)[1]
    return [word.strip().strip('"') for word in command.split(",")] + re.findall(r"- (--\S+)", args)


def kubernetes():
    """The manifest's command, with the environment that the operator gives it, has the losses of one process."""
    data = SHARED / "data"
    data.mkdir()
    for name in ("train.csv", "dev.csv"):
        (data / name).write_text(inputs.reviews())
    (data / "model").symlink_to(inputs.MODEL)
    words = [word.replace("/opt/hone/hone", str(HONE)).replace("/data/", f"{data}/")
             for word in launch_of(MANIFEST.read_text())]
    more = ["--max_steps", "10", "--logging_steps", "1", "--threads", "1", "--quiet", "--save_strategy", "no", "--seed", "5"]
    (SHARED / "hostfile").write_text("".join(f"{node} slots=1\n" for node in NODES))
    with ssh_servers(SHARED / "ssh") as client:
        on_login("env", f"OMPI_MCA_orte_default_hostfile={SHARED}/hostfile", f"OMPI_MCA_plm_rsh_args={client}",
                 "OMPI_MCA_orte_keep_fqdn_hostnames=true", *words, *more, "--per_device_train_batch_size", 4)
    own = [word.replace(f"{data}/out", f"{data}/one") for word in words[words.index(str(HONE)):]]
    run([*own, *more, "--per_device_train_batch_size", 16])
    several, one = ([json.loads(line)["loss"] for line in (data / name / "log.jsonl").read_text().splitlines()
                     if '"loss"' in line] for name in ("out", "one"))
    far = max(abs(a - b) for a, b in zip(several, one))
    expect(len(several) == len(one) == 10 and far <= 1e-5, f"hone-train.yaml: losses differ by {far}")
    print(f"hone-train.yaml: mpirun over ssh, 4 ranks, losses differ by {far:.1e} at most", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--parts", default="prepare,explain,kubernetes")
    options = parser.parse_args()
    bring(options.build, ["hone", "libhone_mpi.so", "libhone_hdf5.so"])
    inputs.make()
    for part in options.parts.split(","):
        {"prepare": prepare, "explain": explain, "kubernetes": kubernetes}[part]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
