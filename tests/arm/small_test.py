"""hone-small, the program of one file, gives what hone gives. `make test-arm64` runs it under qemu."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build-arm64"))
GOLDENS = ROOT / "tests/models/goldens"
QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
TEXTS = "the film was great\na bad plot\nthe film and the story of a film\n"
MOST_BYTES = 6_000_000


def run(program, *words, text=""):
    return subprocess.run([*QEMU, str(BUILD / program), *map(str, words)], input=text, capture_output=True, text=True)


class Small(unittest.TestCase):
    def both(self, *words, text=TEXTS):
        """What both programs print, which must be the same."""
        whole, small = (run(program, *words, text=text) for program in ("hone", "hone-small"))
        self.assertEqual(small.returncode, 0, small.stderr)
        self.assertEqual(small.stdout, whole.stdout)
        return small.stdout

    def test_is_one_small_file(self):
        program = BUILD / "hone-small"
        self.assertLessEqual(program.stat().st_size, MOST_BYTES)
        headers = subprocess.run(["readelf", "-ld", str(program)], capture_output=True, text=True).stdout
        self.assertIn("no dynamic section", headers)
        self.assertNotIn("INTERP", headers)

    def test_answers_as_hone_does(self):
        for name in ("bert-words", "roberta-bin", "distilbert-learned", "albert-groups", "xlm-roberta-tanh"):
            for dtype in ("fp32", "bf16", "int8"):
                with self.subTest(name=name, dtype=dtype):
                    out = self.both("predict", "--model", GOLDENS / name, "--dtype", dtype, "--raw", "--quiet")
                    self.assertEqual(len(out.splitlines()), 3)
        self.both("embed", "--model", GOLDENS / "sentence-bert-mean", "--quiet")
        self.both("tokenize", "--model", GOLDENS / "bert-words")

    def test_scores_and_converts(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "rows.csv"
            data.write_text("text,label\nthe film,positive\na plot,negative\n")
            scored = run("hone-small", "eval", "--model", GOLDENS / "bert-words", "--test_file", data, "--json")
            self.assertEqual(json.loads(scored.stdout)["samples"], 2, scored.stderr)
            for name, flags in (("int8", ["--dtype", "int8"]), ("packed", ["--stream"])):
                made = run("hone-small", "convert", "--model", GOLDENS / "bert-words", "--output",
                           f"{folder}/{name}", *flags)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.both("predict", "--model", f"{folder}/{name}", "--quiet")
            self.both("predict", "--model", f"{folder}/packed", "--memory-budget", "64MB", "--quiet")

    def test_says_what_it_has_not(self):
        self.assertIn("static", run("hone-small", "info").stdout)
        training = run("hone-small", "train")
        self.assertEqual(training.returncode, 2)
        self.assertEqual(training.stderr.count("\n"), 1)
        on_gpu = run("hone-small", "predict", "--model", GOLDENS / "bert-words", "--device", "cuda", text=TEXTS)
        self.assertEqual(on_gpu.returncode, 2)
        self.assertIn("linked statically", on_gpu.stderr)


if __name__ == "__main__":
    unittest.main()
