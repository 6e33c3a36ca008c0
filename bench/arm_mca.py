#!/usr/bin/env python3
"""Estimates how near the inner loops of the ARM kernels come to a core's peak, by llvm-mca.

There is no ARM machine to measure on: this is a model of the core that runs the loop from its
registers and an L1 cache that always hits. The peak is that of the same model for a loop of the
products alone. Needs build-arm64 (make arm64) and llvm-mca (tools/setup llvm-19).

    bench/arm_mca.py [--objects FOLDER] [--mca PROGRAM] [--out bench/results/arm-mca.md]
"""
import argparse
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OBJECTS = "build-arm64/src/CMakeFiles/hone_kernels_cpu.dir/kernels/cpu"
# A kernel: what it is, its object, its product's instruction, and multiply-adds of one of them.
KERNELS = [
    ("fp32", "gemm_f32", ("MultiplyRows<8, float>", "Multiply<float, 8>"), ("fmla",), 4),
    ("bf16, widened to fp32", "gemm_f32", ("MultiplyRows<8, hone::bf16>", "Multiply<hone::bf16, 8>"), ("fmla",), 4),
    ("int8, widened to 16 bits", "gemm_neon_int8", ("",), ("smull", "smull2", "smlal", "smlal2"), 8),
    ("int8, SDOT", "gemm_neon_dotprod", ("",), ("sdot",), 16),
    ("int8, USMMLA", "gemm_neon_i8mm", ("",), ("usmmla",), 32),
    ("bf16, BFMMLA", "gemm_neon_bf16", ("",), ("bfmmla",), 16),
]
# A core, and what it has beyond NEON.
CORES = [("cortex-a72", ()), ("neoverse-n1", ("sdot",)), ("neoverse-v1", ("sdot", "usmmla", "bfmmla"))]
PEAKS = {
    "fmla": "fmla v{0}.4s, v30.4s, v31.s[0]",
    "smull": "smlal v{0}.8h, v30.8b, v31.8b",
    "sdot": "sdot v{0}.4s, v30.16b, v31.4b[0]",
    "usmmla": "usmmla v{0}.4s, v30.16b, v31.16b",
    "bfmmla": "bfmmla v{0}.4s, v30.8h, v31.8h",
}


def functions(disassembly):
    """Yields (name, [(address, operation, operands)]) of an objdump."""
    name, body = None, []
    for line in disassembly.splitlines():
        if header := re.match(r"^[0-9a-f]+ <(.*)>:$", line):
            if body:
                yield name, body
            name, body = header[1], []
        elif line_of := re.match(r"^\s*([0-9a-f]+):\s+(\S+)\s*([^<]*)", line):
            body.append((int(line_of[1], 16), line_of[2], line_of[3].split("//")[0].strip()))
    if body:
        yield name, body


def loops(body):
    """Yields the instructions of every loop that a backward branch closes, without inner loops."""
    places = {address: i for i, (address, _, _) in enumerate(body)}
    for i, (address, operation, operands) in enumerate(body):
        if not (operation.startswith("b.") or operation in ("cbnz", "cbz")):
            continue
        target = int(operands.split(",")[-1].strip(), 16)
        if target <= address and target in places:
            yield body[places[target] : i + 1]


def inner_loop(disassembly, names, products):
    """Gives the loop with most products: that of a whole tile."""
    best = []
    count = lambda loop: sum(operation in products for _, operation, _ in loop)
    for name, body in functions(disassembly):
        if any(part in name for part in names):
            best = max([best, *loops(body)], key=lambda loop: (count(loop), -len(loop)))
    if not best:
        raise SystemExit(f"no loop with {products} in functions {names}")
    return best, count(best)


def assembly(loop):
    """Writes a loop as llvm-mca reads it; where the branch goes does not matter to it."""
    lines = [f"{operation} {operands}" for _, operation, operands in loop[:-1]]
    operation, operands = loop[-1][1:]
    target = operands.rsplit(",", 1)[0] + ", 0b" if operation.startswith("cb") else "0b"
    return "\n".join(["0:", *lines, f"{operation} {target}"]) + "\n"


def cycles(mca, core, text, iterations=200):
    run = subprocess.run(
        [mca, "-mtriple=aarch64", f"-mcpu={core}", "-mattr=+dotprod,+i8mm,+bf16",
         f"-iterations={iterations}"], input=text, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return int(re.search(r"Total Cycles:\s+(\d+)", run.stdout)[1]) / iterations


def peak(mca, core, product):
    """Gives products a cycle of a loop of 24 that do not wait for one another."""
    text = "\n".join(PEAKS[product].format(i) for i in range(24)) + "\n"
    return 24 / cycles(mca, core, text)


def table(mca, objects, version):
    lines = [
        "# Inner loops of the ARM kernels, by llvm-mca",
        "",
        "These are estimates, not measurements: there was no ARM machine to measure on. llvm-mca runs",
        "the loop of a whole tile (eight rows by eight columns; four rows for bytes without dot",
        "products) on a model of the core whose L1 cache always hits. The peak is the same model's for",
        "a loop of the products alone. Memory, the finish of a tile and edges are not in it.",
        "",
        f"{version}, g++ 12; `bench/arm_mca.py`.",
        "",
        "| kernel | core | products | cycles | multiply-adds a cycle | peak | share |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for kernel, file, names, products, each in KERNELS:
        disassembly = subprocess.run(
            ["aarch64-linux-gnu-objdump", "-dC", "--no-show-raw-insn", objects / f"{file}.cpp.o"],
            capture_output=True, text=True, check=True).stdout
        loop, count = inner_loop(disassembly, names, products)
        for core, has in CORES:
            if products[0] in ("sdot", "usmmla", "bfmmla") and products[0] not in has:
                continue
            took = cycles(mca, core, assembly(loop))
            most = peak(mca, core, products[0])
            lines.append(f"| {kernel} | {core} | {count} | {took:.1f} | {count * each / took:.1f} |"
                         f" {most * each:.1f} | {count / took / most:.0%} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=Path, default=ROOT / OBJECTS)
    parser.add_argument("--mca", default="llvm-mca-19")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/arm-mca.md")
    arguments = parser.parse_args()
    version = subprocess.run([arguments.mca, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"LLVM version (\S+)", version.stdout)
    arguments.out.write_text(table(arguments.mca, arguments.objects, f"llvm-mca {found[1]}"))
    print(arguments.out.read_text(), end="")


if __name__ == "__main__":
    main()
