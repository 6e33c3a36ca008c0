"""The tables and the judging of bench/images_gpu.py, on made-up figures."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import images_gpu  # noqa: E402

TRAINING = "ResNet-50, 224, batch 256, training"
ONE = "ResNet-50, 224, batch 1, answers, host to host"


def run(ms, **more):
    return {"median_ms": ms, **more}


class Rows(unittest.TestCase):
    def test_a_row_compares_the_middle_of_both_runs(self):
        runs = [run(30.0, device_bytes=8 * 2**30), run(34.0, device_bytes=8 * 2**30)]
        row = images_gpu.row_of(TRAINING, "bf16", runs, {"ms": 40.0, "peak_MB": 10 * 2**10})
        self.assertEqual(row["hone_ms"], 32.0)
        self.assertEqual(row["hone_img_s"], 8000)
        self.assertEqual(row["times"], 1.25)
        self.assertEqual(row["memory"], 0.8)
        self.assertFalse(images_gpu.missed(row))
        self.assertIn("0.49", images_gpu.table([row])[-1])  # of 16,400 images a second

    def test_a_bar_of_time_or_of_memory_is_missed(self):
        slow = images_gpu.row_of(TRAINING, "bf16", [run(40.0, device_bytes=1)],
                                 {"ms": 43.0, "peak_MB": 100})
        self.assertTrue(images_gpu.missed(slow))
        large = images_gpu.row_of(TRAINING, "bf16", [run(20.0, device_bytes=81 * 2**20)],
                                  {"ms": 43.0, "peak_MB": 100})
        self.assertTrue(images_gpu.missed(large))

    def test_one_image_is_compared_from_host_to_host(self):
        row = images_gpu.row_of(ONE, "bf16", [run(0.3)], {"ms": 0.31, "host_ms": 0.45})
        self.assertAlmostEqual(row["times"], 1.5)
        self.assertFalse(images_gpu.missed(row))

    def test_without_a_peer_nothing_is_missed(self):
        row = images_gpu.row_of(TRAINING, "bf16", [run(40.0, device_bytes=1)], {"error": "none"})
        self.assertFalse(images_gpu.missed(row))
        self.assertTrue(images_gpu.table([row])[-1].endswith("|  |"))

    def test_operations_are_listed_by_their_time(self):
        step = {"op_ms": {"a": 1.0, "b": 3.0, "none": 0.001},
                "op_gbyte": {"a": 2.0, "b": 3.0, "none": 0.0},
                "op_gflop": {"a": 0.0, "b": 600.0, "none": 0.0}}
        lines = images_gpu.op_table(step)
        self.assertEqual(lines[2], "| b | 3.000 | 0.75 | 3.00 | 1000 | 200 |")
        self.assertEqual(lines[3], "| a | 1.000 | 0.25 | 2.00 | 2000 | 0 |")
        self.assertTrue(lines[4].startswith("| all | 4.001"))

    def test_lines_of_a_peer_become_facts(self):
        facts = images_gpu.read_lines('noise\n{"versions": "torch 2"}\n{"ms": 1.5}\n')
        self.assertEqual(facts, {"versions": "torch 2", "ms": 1.5})


if __name__ == "__main__":
    unittest.main()
