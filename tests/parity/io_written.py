#!/usr/bin/env python3
"""Checks that safetensors and torch read what hone's writer wrote.

    python tests/parity/io_written.py [BUILD]

Runs BUILD/io_test (build by default) so that it keeps the files of its writer tests, and compares
them with the values that tests/io/writer_test.cpp gave.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from safetensors import safe_open

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRITTEN = {
    'bf16 "quoted" é': (torch.bfloat16, (3, 11)), "z.fp16": (torch.float16, (5,)),
    "fp32": (torch.float32, (40, 1000)), "fp64": (torch.float64, (3,)),
    "scalar": (torch.float32, ()), "a.empty": (torch.float16, (0, 4)),
    "int64": (torch.int64, (4,)), "last.empty": (torch.uint8, (0,)),
}  # fmt: skip


def wanted(dtype, shape):
    if dtype == torch.int64:
        return torch.tensor([0, 1, -5, 1 << 60])
    count = int(numpy.prod(shape))
    values = (numpy.arange(count) - 7).astype(numpy.float32) * numpy.float32(0.37)
    return torch.from_numpy(values).to(dtype).reshape(shape)


def load(path):
    with safe_open(path, framework="pt") as file:
        assert file.metadata() == {"format": "pt"}, file.metadata()
        return {name: file.get_tensor(name) for name in file.keys()}


def check(tensors, what):
    assert set(tensors) == set(WRITTEN), (what, sorted(tensors))
    for name, (dtype, shape) in WRITTEN.items():
        got = tensors[name]
        assert got.dtype == dtype and tuple(got.shape) == shape, (what, name, got.dtype, got.shape)
        assert torch.equal(got, wanted(dtype, shape)), (what, name)
    print(f"{what}: {len(tensors)} tensors as written")


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [build / "io_test", "--gtest_filter=WeightsWriter.*", "--gtest_brief=1"],
            env={**os.environ, "HONE_IO_WRITTEN": folder},
            check=True,
        )
        folder = pathlib.Path(folder)
        check(load(folder / "one" / "model.safetensors"), "one file")
        index = json.loads((folder / "shards" / "model.safetensors.index.json").read_text())
        tensors = {}
        for shard in sorted(set(index["weight_map"].values())):
            part = load(folder / "shards" / shard)
            assert all(index["weight_map"][name] == shard for name in part)
            tensors.update(part)
        check(tensors, "shards")


if __name__ == "__main__":
    main()
