"""What the trainings of the tests of failures read: a small model, 320 reviews, and copies of both that differ."""
import json
import shutil
import struct
import subprocess

from cluster import SHARED

HONE = SHARED / "hone"
DATA = SHARED / "train.csv"
MODEL = SHARED / "model"
RARE = "nonsense"  # a word of one review; in the model "large" its vector overflows
SAMPLES, BATCH, SAVE_STEPS = 320, 4, 10


def train_words(output, steps, *more, program=HONE, model=MODEL, data=DATA):
    return [program, "train", "--model", model, "--train_file", data, "--output_dir", output,
            "--validation_file", DATA, "--max_eval_samples", 8, "--max_steps", steps,
            "--per_device_train_batch_size", BATCH, "--logging_steps", 1, "--eval_strategy", "no", "--threads", 1,
            "--save_strategy", "steps", "--save_steps", SAVE_STEPS, "--save_total_limit", 2, "--seed", 5,
            "--comm_timeout", 5, *more]


def reviews(rare=-1, last="movie"):
    lines = [f"{'good' if i % 2 else 'bad'},{'fine' if i % 2 else 'dull'} film "
             f"{RARE if i == rare else 'solid'} {last if i == SAMPLES - 1 else 'movie'} {i}"
             for i in range(SAMPLES)]
    return "label,text\n" + "\n".join(lines) + "\n"


def copy_with(name, file, change):
    """A copy of the model with one file changed."""
    folder = SHARED / name
    shutil.copytree(MODEL, folder)
    path = folder / file
    path.write_bytes(change(path.read_bytes()))


def with_field(name, value):
    return lambda data: json.dumps({**json.loads(data), name: value}).encode()


def overflowing(weights):
    """The weights with a vector for the rare word whose sum is too large for fp32."""
    vocabulary = json.loads((MODEL / "tokenizer.json").read_text())["model"]["vocab"]
    length = struct.unpack("<Q", weights[:8])[0]
    header = json.loads(weights[8:8 + length])
    table = next(value for name, value in header.items() if name.endswith("word_embeddings.weight"))
    row = 4 * table["shape"][1]
    at = 8 + length + table["data_offsets"][0] + vocabulary[RARE] * row
    return weights[:at] + struct.pack("<f", 3e38) * (row // 4) + weights[at + row:]


def with_other_weight(weights):
    return weights[:-1] + bytes([weights[-1] ^ 1])


def other_version(program):
    """The program with another version of as many characters."""
    version = subprocess.run([HONE, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    now, other = (b"\0" + text.encode() + b"\0" for text in (version, version[:-1] + "x"))
    if program.count(now) != 1:
        raise SystemExit(f"inputs: a program has its version {program.count(now)} times, expected once")
    return program.replace(now, other)


def make():
    """Everything but the program, which lies there already; what was made before is kept."""
    if MODEL.exists():
        return
    DATA.write_text(reviews())
    (SHARED / "rare.csv").write_text(reviews(rare=100))
    (SHARED / "other.csv").write_text(reviews(last="picture"))
    words = [HONE, "train", "--train_file", DATA, "--output_dir", MODEL, "--max_steps", 1,
             "--eval_strategy", "no", "--save_strategy", "no", "--quiet", "--seed", 5]
    subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL, timeout=60)
    copy_with("other-config", "config.json", with_field("layer_norm_eps", 1e-6))
    copy_with("other-tokenizer", "tokenizer.json",
              lambda data: data.replace(b'"lowercase": true', b'"lowercase": false'))
    copy_with("other-weights", "model.safetensors", with_other_weight)
    copy_with("large", "model.safetensors", overflowing)
    (SHARED / "other").mkdir(exist_ok=True)
    for name in (HONE.name, "libhone_mpi.so"):
        other = SHARED / "other" / name
        other.write_bytes(other_version((SHARED / name).read_bytes()))
        other.chmod(0o755)
