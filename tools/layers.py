#!/usr/bin/env python3
"""Fails where a folder of src includes one below it in the list of layers, or one it must not know."""
import pathlib
import re
import sys

LAYERS = [
    "base", "report", "http", "device", "tensor", "kernels", "plan", "profile", "autograd", "ops", "nn", "text", "trees", "image", "io", "data",
    "prep", "explain", "models", "metrics", "optim", "comm", "train", "infer", "study", "api",
    "serve", "cli",
]
# Inference must link without what trains models.
APART = {("infer", "optim"), ("infer", "train")}
INCLUDE = re.compile(r'^\s*#include\s+"([a-z_]+)/')


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    rank = {name: i for i, name in enumerate(LAYERS)}
    faults = []
    for folder in sorted(p for p in root.iterdir() if p.is_dir()):
        if folder.name not in rank:
            faults.append(f"src/{folder.name}: not in the list of layers (tools/layers.py)")
            continue
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".h", ".cpp", ".inc", ".cu", ".cuh"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match or match[1] not in rank:
                    continue
                name = path.relative_to(root.parent)
                if rank[match[1]] > rank[folder.name]:
                    faults.append(f"{name}:{number}: {folder.name} includes {match[1]}, below it")
                elif (folder.name, match[1]) in APART:
                    faults.append(f"{name}:{number}: {folder.name} must not include {match[1]}")
    for fault in faults:
        print(fault)
    print(f"layers: {'ok' if not faults else f'{len(faults)} against the order'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
