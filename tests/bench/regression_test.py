"""bench/regression.py's judging, on made-up numbers and on programs that print such."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import regression  # noqa: E402


class Judging(unittest.TestCase):
    def test_a_loss_is_a_median_ratio_over_five_percent(self):
        self.assertFalse(regression.judge([(10, 10.4)] * 5)["lost"])
        self.assertTrue(regression.judge([(10, 10.6)] * 5)["lost"])
        self.assertFalse(regression.judge([(10, 5)] * 5)["lost"])

    def test_one_round_that_is_off_decides_nothing(self):
        result = regression.judge([(10, 10.1), (10, 30), (10, 9.9), (10, 10), (10, 10.2)])
        self.assertFalse(result["lost"])
        self.assertAlmostEqual(result["ratio"], 1.01)
        self.assertAlmostEqual(result["least"], 0.99)
        self.assertAlmostEqual(result["most"], 3)

    def test_a_drift_that_falls_on_both_of_a_round_is_none(self):
        drifting = [(10 * 2 ** i, 10.2 * 2 ** i) for i in range(5)]
        self.assertAlmostEqual(regression.judge(drifting)["ratio"], 1.02)


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.log = f"{self.folder.name}/log"

    def tearDown(self):
        self.folder.cleanup()

    def program(self, name, body):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(f'#!/bin/sh\necho "{name} $2" >> {self.log}\n{body}\n')
        os.chmod(path, 0o755)
        return str(path)

    def run_main(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = regression.main(list(words))
            except SystemExit as stop:
                code = stop.code
        return code, out.getvalue(), err.getvalue()

    def test_runs_are_interleaved_and_a_loss_fails(self):
        base = self.program("a", """echo '{"median_ms": 10}'""")
        slow = self.program("b", """echo '{"median_ms": 11}'""")
        code, out, _ = self.run_main("--base", base, "--new", slow, "--cases", "b128-len128",
                                     "--rounds", "3")
        self.assertEqual(code, 1)
        self.assertIn("1.100 | 1.100 to 1.100 |  | LOSS", out)
        order = [line.split()[0] for line in pathlib.Path(self.log).read_text().splitlines()]
        self.assertEqual("".join(order), "ab" + "ab" + "ba" + "ab")
        code, out, _ = self.run_main("--base", slow, "--new", base, "--rounds", "1")
        self.assertEqual(code, 0)
        self.assertEqual(out.count("| ok |"), len(regression.CASES["cuda"]))

    def test_a_build_that_fails_is_named(self):
        base = self.program("a", """echo '{"median_ms": 10}'""")
        broken = self.program("b", "echo 'error: no GPU' >&2; exit 2")
        code, _, err = self.run_main("--base", base, "--new", broken, "--cases", "b1-len32")
        self.assertEqual(code, 2)
        self.assertIn("no GPU", err)
        self.assertIn("/b bench roberta-base-b1-len32", err)

    def test_unknown_cases_are_refused(self):
        code, _, err = self.run_main("--base", "a", "--new", "b", "--cases", "nothing")
        self.assertEqual(code, 2)
        self.assertIn("'nothing'", err)


if __name__ == "__main__":
    unittest.main()
