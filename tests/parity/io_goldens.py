#!/usr/bin/env python3
"""Makes tests/io/goldens: tiny weight files of safetensors and torch, and what is in them.

    python tests/parity/io_goldens.py [HONE_DATA]

expected.json: for each file or folder, for each tensor, its dtype, its shape and its elements as
bits of fp32; for the large files of HONE_DATA only a hash of those bits.
"""
import json
import pathlib
import shutil
import sys
from collections import OrderedDict

import numpy
import torch
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests" / "io" / "goldens"
NAMES = {
    torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
    torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8",
    torch.uint8: "uint8", torch.bool: "bool",
}  # fmt: skip


def bits(tensor):
    return tensor.detach().to(torch.float32).contiguous().numpy().reshape(-1).view(numpy.uint32)


def describe(tensors):
    return {
        name: {"dtype": NAMES[t.dtype], "shape": list(t.shape), "bits": bits(t).tolist()}
        for name, t in tensors.items()
    }


def fnv(words):
    value = 0xCBF29CE484222325
    for word in words.tolist():
        value = ((value ^ word) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def describe_large(tensors):
    return {
        name: {"dtype": NAMES[t.dtype], "shape": list(t.shape), "hash": fnv(bits(t))}
        for name, t in tensors.items()
    }


def floats(*shape):
    return torch.randn(*shape) * 3


def edge_values(dtype):
    """Zeros, the smallest and largest numbers, subnormals, infinities and a NaN of a 16-bit type."""
    patterns = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0xFBFF, 0x7C00,
                0xFC00, 0x7E00, 0x0080, 0x007F, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0]  # fmt: skip
    signed = numpy.array(patterns, dtype=numpy.uint16).view(numpy.int16)
    return torch.from_numpy(signed).view(dtype)


def one_dtype(dtype):
    return {"w": floats(3, 5).to(dtype), "b": floats(7).to(dtype), "deep.name.0": floats(2, 1, 3).to(dtype)}


def every_dtype():
    tensors = {f"t_{name}": (floats(4, 3) * 10).abs().to(dtype) for dtype, name in NAMES.items()}
    tensors["edges_fp16"] = edge_values(torch.float16)
    tensors["edges_bf16"] = edge_values(torch.bfloat16)
    tensors["scalar"] = torch.tensor(2.5)
    tensors["empty"] = torch.empty(0, 4)
    tensors["large_int"] = torch.tensor([2**53 + 1, -(2**62), 16777217])
    return tensors


def views():
    """Tensors that share storages, begin inside them, or do not lie in row-major order."""
    base = floats(6, 8)
    image = floats(2, 3, 4, 5)
    half = floats(5, 7).to(torch.float16)
    return OrderedDict(
        base=base,
        tied=base,
        transposed=base.t(),
        rows=base[2:5],
        columns=base[:, 1:4],
        every_other=base[::2, ::3],
        last_dims=image.permute(0, 2, 3, 1),
        channels_last=image.contiguous(memory_format=torch.channels_last),
        half_transposed=half.t(),
        half_column=half[:, 3],
        parameter=torch.nn.Parameter(floats(3, 2)),
        parameter_transposed=torch.nn.Parameter(floats(3, 2).t()),
        position_ids=torch.arange(6).expand((1, -1)),
        flags=torch.tensor([True, False, True])[1:],
        scalar=torch.tensor(7, dtype=torch.int64),
        empty=torch.empty(3, 0),
    )


def save_shards(folder):
    tensors = {f"layer.{i}.weight": floats(2, i + 1) for i in range(5)}
    names = sorted(tensors)
    files = {"model-00001-of-00002.safetensors": names[:3], "model-00002-of-00002.safetensors": names[3:]}
    folder.mkdir()
    for file, part in files.items():
        save_file({n: tensors[n] for n in part}, folder / file, metadata={"format": "pt"})
    index = {"metadata": {"total_size": 1}, "weight_map": {n: f for f, part in files.items() for n in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1))
    return tensors


def save_torch_shards(folder):
    folder.mkdir()
    tensors = {"a": floats(3), "b": floats(2, 2)}
    for name, tensor in tensors.items():
        torch.save({name: tensor}, folder / f"pytorch_model-{name}.bin")
    index = {"weight_map": {name: f"pytorch_model-{name}.bin" for name in tensors}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    return tensors


def main():
    torch.manual_seed(3)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    expected = {}
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        file = f"{NAMES[dtype]}.safetensors"
        tensors = one_dtype(dtype)
        save_file(tensors, OUT / file, metadata={"format": "pt", "made": "by io_goldens"})
        expected[file] = describe(tensors)
    tensors = every_dtype()
    save_file(tensors, OUT / "every_dtype.safetensors")
    expected["every_dtype.safetensors"] = describe(tensors)
    expected["shards"] = describe(save_shards(OUT / "shards"))
    expected["torch_shards"] = describe(save_torch_shards(OUT / "torch_shards"))

    tensors = views()
    torch.save(tensors, OUT / "views.bin")
    torch.save(tensors, OUT / "views_protocol4.bin", pickle_protocol=4)
    torch.save(tensors, OUT / "views_legacy.pth", _use_new_zipfile_serialization=False)
    for file in ("views.bin", "views_protocol4.bin", "views_legacy.pth"):
        expected[file] = describe(tensors)
    tensors = every_dtype()
    torch.save(tensors, OUT / "every_dtype.bin")
    torch.save(tensors, OUT / "every_dtype_legacy.pth", _use_new_zipfile_serialization=False)
    expected["every_dtype.bin"] = expected["every_dtype_legacy.pth"] = describe(tensors)

    # A module's own state dict carries _metadata; a checkpoint nests it beside other things.
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    state = module.state_dict()
    checkpoint = {"epoch": 3, "best": 0.5, "arch": "tiny", "best_acc": torch.tensor(0.25),
                  "state_dict": state, "ids": [1, (2, 3), None, -70000, 2**40]}  # fmt: skip
    torch.save(state, OUT / "module.bin")
    torch.save(checkpoint, OUT / "nested.bin")
    torch.save(checkpoint, OUT / "nested_legacy.pth", _use_new_zipfile_serialization=False)
    for file in ("module.bin", "nested.bin", "nested_legacy.pth"):
        expected[file] = describe(state)
    torch.save({"weights": state, "other": {"x": 1}}, OUT / "only_nested.bin")
    expected["only_nested.bin"] = describe(state)
    (OUT / "expected.json").write_text(json.dumps(expected))

    data = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT.parent / "shared" / "data")
    large = {}
    for path in sorted((data / "resnet_cifar10").glob("*.th")):
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
        large[f"resnet_cifar10/{path.name}"] = describe_large(state)
    (OUT / "expected_data.json").write_text(json.dumps(large))


if __name__ == "__main__":
    main()
