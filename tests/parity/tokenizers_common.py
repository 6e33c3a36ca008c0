"""What the scripts that compare hone's tokenizers with `tokenizers` share."""
import gc
import lzma
import os
import struct
import subprocess
from pathlib import Path

gc.disable()  # millions of small tuples and no cycles: collecting would take most of the time
os.environ.setdefault("RUST_BACKTRACE", "0")
ROOT = Path(__file__).resolve().parent.parent.parent
DATA = Path(os.environ.get("HONE_DATA", ROOT.parent / "shared" / "data"))
NONE = 0xFFFFFFFF


def driver_path():
    found = os.environ.get("TOKENIZE_DRIVER")
    if found:
        return found
    built = sorted(ROOT.glob("build*/tokenize_driver"), key=lambda path: path.stat().st_mtime)
    if built:
        return str(built[-1])
    raise SystemExit("build the target tokenize_driver first, or set TOKENIZE_DRIVER")


def pack(inputs):
    """Inputs are texts or (text, pair); str or bytes."""
    out = []
    for item in inputs:
        text, pair = item if isinstance(item, tuple) else (item, None)
        for part in (text, pair):
            if part is None:
                out.append(struct.pack("<I", NONE))
                continue
            raw = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
            out.append(struct.pack("<I", len(raw)) + raw)
    return b"".join(out)


def run_driver(tokenizer, inputs, flags=()):
    """A list of {ids, type_ids, offsets, special, tokens, untruncated} or error strings."""
    done = subprocess.run([driver_path(), str(tokenizer), *map(str, flags)], input=pack(inputs),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise RuntimeError(f"driver: exit {done.returncode}: {done.stderr.decode()}")
    raw, at, results = done.stdout, 0, []
    number = struct.Struct("<I")
    row = struct.Struct("<iiIIII")
    while at < len(raw):
        (count,) = number.unpack_from(raw, at)
        (second,) = number.unpack_from(raw, at + 4)
        at += 8
        if count == NONE:
            results.append(raw[at:at + second].decode())
            at += second
            continue
        result = {"ids": [], "type_ids": [], "offsets": [], "special": [], "tokens": [],
                  "untruncated": second}
        for _ in range(count):
            token_id, kind, begin, end, special, size = row.unpack_from(raw, at)
            at += row.size
            result["ids"].append(token_id)
            result["type_ids"].append(kind)
            result["offsets"].append((begin, end))
            result["special"].append(special)
            result["tokens"].append(raw[at:at + size].decode())
            at += size
        results.append(result)
    return results


def decoded(part):
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else part


def reference(tokenizer, inputs, add_special_tokens=True):
    """The same from `tokenizers`, one call an input, so that one error is one result."""
    results = []
    for item in inputs:
        text, pair = item if isinstance(item, tuple) else (item, None)
        try:
            e = tokenizer.encode(decoded(text), None if pair is None else decoded(pair),
                                 add_special_tokens=add_special_tokens)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a bare Exception, or a Rust panic, which is not even that
            results.append(f"{type(error).__name__}: {error}")
            continue
        results.append({"ids": e.ids, "type_ids": e.type_ids, "offsets": e.offsets,
                        "special": e.special_tokens_mask, "tokens": e.tokens})
    return results


def differences(inputs, ours, theirs, limit=5):
    """Prints the first differences; gives their number."""
    bad = 0
    if len(ours) != len(theirs):
        print(f"    {len(ours)} results for {len(theirs)} inputs")
        return 1
    for item, a, b in zip(inputs, ours, theirs):
        if isinstance(b, str) and (isinstance(a, str) or b.startswith("PanicException")):
            continue  # where `tokenizers` itself falls over there is nothing to be equal to
        fields = ["error"] if isinstance(a, str) or isinstance(b, str) else [
            f for f in ("ids", "type_ids", "offsets", "special", "tokens") if a[f] != b[f]]
        if not fields:
            continue
        bad += 1
        if bad > limit:
            continue
        print(f"    differs in {fields}: {ascii(item)[:300]}")
        for side, r in (("ours", a), ("theirs", b)):
            if isinstance(r, str):
                print(f"      {side}: {r[:300]}")
                continue
            f = fields[0]
            first = next((i for i, (x, y) in enumerate(zip(a[f], b[f])) if x != y),
                         min(len(a[f]), len(b[f]))) if not isinstance(a, str) and not isinstance(
                             b, str) else 0
            lo = max(0, first - 2)
            print(f"      {side} from {lo} of {len(r['ids'])}: " +
                  ascii(list(zip(r["ids"], r["tokens"], r["offsets"], r["type_ids"]))[lo:lo + 6]))
    return bad


def lines_of(path, encoding="utf-8"):
    return path.read_bytes().decode(encoding, "replace").split("\n")


def corpus(name):
    """Texts or pairs of one of the data sets."""
    glue = DATA / "glue"
    if name == "SST-2":
        return [line.rsplit("\t", 1)[0] for part in ("train", "dev")
                for line in lines_of(glue / "SST-2" / f"{part}.tsv")[1:] if line]
    if name == "CoLA":
        return [line.split("\t")[-1] for part in ("train", "dev")
                for line in lines_of(glue / "CoLA" / f"{part}.tsv") if line]
    if name in ("RTE", "MRPC", "STS-B", "QNLI"):
        columns = {"RTE": (1, 2), "MRPC": (3, 4), "STS-B": (7, 8), "QNLI": (1, 2)}[name]
        out = []
        for part in ("train", "dev"):
            path = glue / name / f"{part}.tsv"
            if not path.exists():
                continue
            for line in lines_of(path)[1:]:
                cells = line.split("\t")
                if len(cells) > max(columns):
                    out.append((cells[columns[0]], cells[columns[1]]))
        return out
    if name == "TREC":
        return [line.split(" ", 1)[1] for part in ("train", "test")
                for line in lines_of(DATA / "trec" / f"{part}.txt", "latin-1") if " " in line]
    if name == "SUBJ":
        return [line for part in ("plot", "quote")
                for line in lines_of(DATA / "subj" / f"{part}.tok.gt9.5000", "latin-1") if line]
    if name == "IMDB":
        out = []
        for part in ("train", "test"):
            with lzma.open(DATA / "imdb" / f"{part}.tsv.xz") as file:
                rows = file.read().decode("utf-8", "replace").split("\n")
                out += [row.split("\t", 2)[2] for row in rows[1:] if row.count("\t") >= 2]
        return out
    raise KeyError(name)


CORPORA = ["SST-2", "CoLA", "RTE", "MRPC", "STS-B", "QNLI", "TREC", "SUBJ", "IMDB"]
