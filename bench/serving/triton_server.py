"""Lays out a model repository and becomes tritonserver: triton_server.py PORT REPOSITORY

The binary, its Python backend and the stub of this interpreter's version are in nvidia-pytriton.
"""
import json
import os
import pathlib
import shutil
import sys
import sysconfig

import pytriton

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = """
name: "minilm"
backend: "python"
max_batch_size: {max_batch}
input [ {{ name: "text" data_type: TYPE_STRING dims: [ 1 ] }} ]
output [ {{ name: "scores" data_type: TYPE_FP32 dims: [ 2 ] }} ]
dynamic_batching {{ max_queue_delay_microseconds: {delay_us} }}
instance_group [ {{ count: {instances} kind: KIND_CPU }} ]
"""


def main():
    port, repository = sys.argv[1], pathlib.Path(sys.argv[2])
    settings = json.loads(os.environ["HONE_BENCH_SETTINGS"])
    package = pathlib.Path(pytriton.__file__).parent
    shutil.rmtree(repository, ignore_errors=True)
    (repository / "minilm/1").mkdir(parents=True)
    (repository / "minilm/config.pbtxt").write_text(CONFIG.format(**settings))
    shutil.copy(HERE / "triton_model.py", repository / "minilm/1/model.py")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = f"tritonserver/python_backend_stubs/{version}/triton_python_backend_stub"
    shutil.copy(package / stub, package / "tritonserver/backends/python")
    # The stub ignores PYTHONPATH: it takes the packages of the first python3 in PATH.
    environment = dict(os.environ, HONE_BENCH_SERVING=str(HERE),
                       PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
                       LD_LIBRARY_PATH=f"{sysconfig.get_config_var('LIBDIR')}:"
                                       f"{package.parent / 'nvidia_pytriton.libs'}")
    binary = str(package / "tritonserver/bin/tritonserver")
    os.execve(binary, [
        binary, f"--model-repository={repository}",
        f"--backend-directory={package / 'tritonserver/backends'}", "--http-address=127.0.0.1",
        f"--http-port={port}", "--allow-grpc=false", "--allow-metrics=false", "--log-info=false",
    ], environment)


if __name__ == "__main__":
    main()
