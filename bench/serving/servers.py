"""The servers that bench/serve.py compares: how each is installed, started, asked and read.

Every peer has an interpreter of its own under .cache/serving, with pinned packages, and settings
of which serve.py takes the fastest. All bind to the loopback device.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = pathlib.Path(os.environ.get("HONE_CACHE", ROOT / ".cache")).resolve()
FOLDER = CACHE / "serving"
LABELS = ["negative", "positive"]  # of the model that start.py makes
THREADS = len(os.sched_getaffinity(0))


class NotAvailable(Exception):
    """A server that cannot be installed or started here; the message says why."""


class Server:
    """What hone and the peers have in common."""
    name = ""
    packages = []
    settings = [{}]  # those that are tried
    ready_path = "/health"
    workdir = None  # where it is started

    def __init__(self, model):
        self.model = model

    def install(self):
        """Makes the interpreter once; a marker says that it is whole."""
        marker = FOLDER / self.name / "installed.txt"
        wanted = "\n".join(self.packages)
        if marker.exists() and marker.read_text() == wanted:
            return
        print(f"installing {self.name}: {' '.join(self.packages)}", flush=True)
        shutil.rmtree(FOLDER / self.name, ignore_errors=True)
        log = FOLDER / f"{self.name}-install.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as out:
            for command in ([sys.executable, "-m", "venv", str(FOLDER / self.name)],
                            [self.python(), "-m", "pip", "install", "--quiet", *self.packages]):
                if subprocess.run(command, stdout=out, stderr=out).returncode != 0:
                    raise NotAvailable(f"cannot be installed (log: {log})")
        marker.write_text(wanted)

    def python(self):
        return str(FOLDER / self.name / "bin/python")

    def prepare(self):
        """What is done once, before the first start."""

    def version(self):
        return " ".join(self.packages)

    def environment(self, settings):
        """OMP_NUM_THREADS is what PyTorch and others take for all that has no setting here."""
        return dict(os.environ, HONE_BENCH_SETTINGS=json.dumps(settings), HF_HUB_OFFLINE="1",
                    HONE_BENCH_MODEL=str(self.model), HONE_BENCH_ONNX=str(FOLDER / "onnx"),
                    OMP_NUM_THREADS=str(settings.get("threads", THREADS)), DO_NOT_TRACK="1",
                    TOKENIZERS_PARALLELISM="false")

    def export(self):
        """The ONNX files, made by the interpreter that has PyTorch."""
        if (FOLDER / "onnx/model.onnx").exists():
            return
        maker = Infinity(self.model)
        maker.install()
        log = FOLDER / "export.log"
        with log.open("w") as out:
            done = subprocess.run([maker.python(), str(HERE / "export_onnx.py"), str(self.model),
                                   str(FOLDER / "onnx")], stdout=out, stderr=out)
        if done.returncode != 0:
            raise NotAvailable(f"the model cannot be exported (log: {log})")


class Hone(Server):
    """`options` are further words of the command line."""
    name = "hone"

    def __init__(self, model, binary, options=()):
        super().__init__(model)
        self.binary = binary
        self.options = list(options)

    def install(self):
        said = subprocess.run([self.binary, "serve", "--help"], capture_output=True, text=True)
        if said.returncode != 0:
            raise NotAvailable(f"{self.binary} has no serve")

    def version(self):
        done = subprocess.run([self.binary, "--version"], capture_output=True, text=True)
        return done.stdout.strip()

    def command(self, port, settings):
        return [self.binary, "serve", "--model", str(self.model), "--hostname", "127.0.0.1",
                "--port", str(port), *self.options]

    def path(self):
        return "/predict"

    def body(self, texts):
        return {"inputs": texts[0] if len(texts) == 1 else [[text] for text in texts]}

    def read(self, answer):
        rows = answer if isinstance(answer[0], list) else [answer]
        return [{one["label"]: one["score"] for one in row} for row in rows]


class Infinity(Server):
    """Its classification goes through a pipeline of transformers, which runs text by text.

    The model is ".", since a folder of any other name makes it look for the ONNX file in vain. It
    gets the fused graph, because its own optimizer gives up on this one; its warm-up sends texts
    past the model's 512 tokens.
    """
    name = "infinity"
    packages = ["infinity_emb[server,optimum]==0.0.78", "torch==2.13.0", "transformers==4.57.6",
                "optimum==2.1.0", "optimum-onnx==0.1.0", "onnxruntime==1.31.1", "onnx==1.23.2",
                "click==8.1.8", "typer==0.12.5"]
    workdir = FOLDER / "infinity-model"

    def prepare(self):
        self.export()
        if self.workdir.exists():
            return
        scratch = FOLDER / "infinity-model.tmp"
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(self.model, scratch, ignore=shutil.ignore_patterns("*.safetensors"))
        shutil.copy(FOLDER / "onnx/model.opt.onnx", scratch / "model.onnx")
        scratch.rename(self.workdir)

    def environment(self, settings):
        return dict(super().environment(settings), INFINITY_ANONYMOUS_USAGE_STATS="0",
                    HF_HOME=str(FOLDER / "infinity-hub"))

    def command(self, port, settings):
        return [str(FOLDER / self.name / "bin/infinity_emb"), "v2", "--model-id",
                ".", "--served-model-name", "minilm", "--engine", "optimum",
                "--device", "cpu", "--dtype", "float32", "--batch-size", "32",
                "--no-lengths-via-tokenize", "--no-model-warmup",
                "--onnx-disable-optimize", "--onnx-do-not-prefer-quantized",
                "--host", "127.0.0.1", "--port", str(port), "--log-level", "error"]

    def path(self):
        return "/classify"

    def body(self, texts):
        return {"model": "minilm", "input": texts}

    def read(self, answer):
        return [{one["label"]: one["score"] for one in row} for row in answer["data"]]


def by_cores(**fixed):
    """One worker that has all cores, and a worker a core; batches whole, or cut by length."""
    return [{**fixed, "instances": workers, "workers": workers, "threads": THREADS // workers,
             "slice": size} for workers in sorted({1, THREADS}) for size in (0, 8)]


class Triton(Server):
    name = "triton"
    packages = ["nvidia-pytriton==0.7.0", "onnxruntime==1.31.1", "tokenizers==0.23.3",
                "numpy==1.26.4"]
    settings = by_cores(max_batch=64, delay_us=0)
    ready_path = "/v2/health/ready"

    def prepare(self):
        self.export()

    def command(self, port, settings):
        return [self.python(), str(HERE / "triton_server.py"), str(port),
                str(FOLDER / "triton-models")]

    def path(self):
        return "/v2/models/minilm/infer"

    def body(self, texts):
        return {"inputs": [{"name": "text", "shape": [len(texts), 1], "datatype": "BYTES",
                            "data": texts}]}

    def read(self, answer):
        flat = answer["outputs"][0]["data"]
        return [dict(zip(LABELS, flat[i:i + 2])) for i in range(0, len(flat), 2)]


class LitServe(Server):
    """A time-out of 0 runs what is waiting; its faster queue, of ZeroMQ, waits a moment."""
    name = "litserve"
    packages = ["litserve==0.2.19", "openvino==2026.4.1", "tokenizers==0.23.3", "numpy==2.4.6",
                "fastapi==0.162.4"]
    settings = by_cores(max_batch=32, timeout=0.0, zmq=False) + \
        by_cores(max_batch=32, timeout=0.001, zmq=True)[-2:]

    def prepare(self):
        self.export()

    def command(self, port, settings):
        return [self.python(), str(HERE / "litserve_server.py"), str(port)]

    def path(self):
        return "/predict"

    def body(self, texts):
        return {"texts": texts}

    def read(self, answer):
        return [dict(zip(LABELS, row)) for row in answer["scores"]]


PEERS = {peer.name: peer for peer in (Infinity, Triton, LitServe)}
