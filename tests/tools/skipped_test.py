"""tools/skipped.py on made-up logs."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import skipped  # noqa: E402

LOG = '''1/2 Testing: io_test
Command: "/build/io_test"
[ RUN      ] Weights.Read
[       OK ] Weights.Read (0 ms)
[ RUN      ] Weights.Published
/src/golden_test.cpp:132: Skipped
/shared/data/a.th is not there

[  SKIPPED ] Weights.Published (1 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Weights.Published
2/2 Testing: device_test
Command: "/build/device_test" "--gtest_color=no"
/src/cuda_test.cpp:90: Skipped
no GPU: no driver
[  SKIPPED ] Cuda.Lists (0 ms)
'''
ROWS = '''# comment
io_test:Weights.* | /*/data/*is not there | not committed
device_test:Cuda.* | no GPU: | needs one
'''


class Skipped(unittest.TestCase):
    def test_finds_each_once_with_its_reason(self):
        found = skipped.read_skipped(LOG.splitlines(), "?")
        self.assertEqual(found, [("io_test:Weights.Published", "/shared/data/a.th is not there"),
                                 ("device_test:Cuda.Lists", "no GPU: no driver")])

    def test_a_row_allows_its_tests_for_its_reason_alone(self):
        rows = skipped.read_allowed(ROWS)
        for test, reason in skipped.read_skipped(LOG.splitlines(), "?"):
            self.assertTrue(skipped.may_skip(rows, test, reason))
        self.assertFalse(skipped.may_skip(rows, "device_test:Cuda.Lists", "I do not like it"))
        self.assertFalse(skipped.may_skip(rows, "device_test:Cuda.Lists", ""))
        self.assertFalse(skipped.may_skip(rows, "io_test:Files.Read", "/shared/data/a is not there"))
        self.assertFalse(skipped.may_skip(rows, "plan_test:Cuda.Lists", "no GPU: no driver"))

    def test_with_a_gpu_its_lack_is_no_excuse(self):
        rows = skipped.read_allowed(ROWS, gpu=True)
        self.assertFalse(skipped.may_skip(rows, "device_test:Cuda.Lists", "no GPU: no driver"))
        self.assertTrue(skipped.may_skip(rows, "io_test:Weights.A", "/shared/data/a is not there"))

    def test_tests_of_python_count(self):
        log = ['Command: "/usr/bin/python3" "-m" "unittest"', "OK (skipped=2)"]
        self.assertEqual(len(skipped.read_skipped(log, "?")), 2)

    def test_a_row_without_a_reason_is_refused(self):
        with self.assertRaises(SystemExit):
            skipped.read_allowed("io_test:* | is not there")


if __name__ == "__main__":
    unittest.main()
