"""Folders that hone has trained against transformers: trained_compare.py [MODEL_DIR ...]

Each folder (by default golden models, one of them without a head) is trained for a few steps on the built-in
reviews; what it then answers must be what transformers answers from the folder that was written.
The differences that models_compare.py prints should stay below 1e-5.
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = ["bert-words", "roberta-regression", "sentence-distilbert-cls", "albert-groups"]


def main():
    folders = sys.argv[1:] or [ROOT / "tests/models/goldens" / name for name in FAMILIES]
    for folder in folders:
        with tempfile.TemporaryDirectory() as output:
            subprocess.run([ROOT / "build/hone", "train", "--model", folder, "--max_steps", "8",
                            "--max_train_samples", "64", "--max_eval_samples", "8",
                            "--learning_rate", "1e-3", "--output_dir", output, "--quiet",
                            "--save_strategy", "no", "--overwrite_output_dir"], check=True, stdout=subprocess.DEVNULL)
            print(f"trained {folder}", flush=True)
            subprocess.run([sys.executable, ROOT / "tests/parity/models_compare.py", output],
                           check=True)


if __name__ == "__main__":
    main()
