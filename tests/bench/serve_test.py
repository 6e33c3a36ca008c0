"""The judging of bench/serve.py and its search for a rate, on made-up figures."""
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/serving"))

import load  # noqa: E402
import page  # noqa: E402
import servers  # noqa: E402


def run(sent, ok, p99, valid=True):
    return {"sent": sent, "ok": ok, "valid": valid, "texts_per_second": ok,
            "accepted": {"p50_ms": p99 / 2, "p99_ms": p99}}


class FakeServer:
    """Answers `most` texts a second; its p99 doubles with what is left of that."""

    def __init__(self, most):
        self.most, self.rates = most, []

    def at_rate(self, port, bodies, rate, seconds, warmup=1, seed=1):
        self.rates.append(rate)
        if rate >= self.most:
            return {**run(int(rate), int(self.most), 5000), "texts_per_second": self.most}
        return {**run(int(rate), int(rate), 10 / (1 - rate / self.most)),
                "texts_per_second": rate}


class Search(unittest.TestCase):
    def test_finds_the_highest_rate_within_the_limit(self):
        fake = FakeServer(1000)
        with mock.patch.object(load, "at_rate", fake.at_rate):
            rate, result = load.rate_within(0, None, 40, 1100, steps=8)
        # A p99 of 40 ms is that of 750 texts a second; eight halvings leave 4.2 of 1,078.
        self.assertLessEqual(rate, 750)
        self.assertGreater(rate, 750 - 4.3)
        self.assertLessEqual(result["accepted"]["p99_ms"], 40)

    def test_a_server_that_is_never_within_the_limit_has_no_rate(self):
        fake = FakeServer(1000)
        with mock.patch.object(load, "at_rate", fake.at_rate):
            self.assertEqual(load.rate_within(0, None, 1, 1100), (0.0, None))

    def test_a_run_of_a_late_generator_does_not_count(self):
        with mock.patch.object(load, "at_rate", lambda *_, **__: run(10, 10, 1, valid=False)):
            self.assertEqual(load.rate_within(0, None, 40, 100), (0.0, None))

    def test_a_request_without_a_good_answer_is_over_the_limit(self):
        self.assertTrue(load.keeps(run(10, 10, 5), 5))
        self.assertFalse(load.keeps(run(10, 9, 5), 5))
        self.assertFalse(load.keeps(run(10, 10, 6), 5))

    def test_saturation_asks_for_more_until_answers_no_longer_follow(self):
        fake = FakeServer(1000)
        with mock.patch.object(load, "at_rate", fake.at_rate):
            self.assertEqual(load.saturation(0, None, 300), 1000)
        self.assertGreater(fake.rates[-1], 1000)


class Bars(unittest.TestCase):
    def made(self, **hone):
        return {"servers": {
            "hone": {"within_1": 900, "within_32": 700, "memory_bytes": 60e6, **hone},
            "triton": {"within_1": 300, "within_32": 400, "memory_bytes": 220e6},
            "litserve": {"within_1": 350, "within_32": 390, "memory_bytes": 400e6},
            "infinity": {"within_1": 9999, "not_available": "it died"}}}

    def find(self, made, name):
        found = [bar for bar in page.bars(made) if name in bar["bar"]]
        self.assertEqual(len(found), 1, name)
        return found[0]

    def test_the_best_peer_is_the_rival_and_one_that_is_not_there_is_not(self):
        one = self.find(self.made(), "p99, requests of 1")
        self.assertEqual((one["against"], one["passed"]), ("litserve", True))
        self.assertAlmostEqual(one["value"], 900 / 350)
        many = self.find(self.made(), "p99, requests of 32")
        self.assertEqual((many["against"], many["passed"]), ("triton", False))

    def test_what_was_not_measured_is_not_judged(self):
        self.assertIsNone(self.find(self.made(), "start to ready")["passed"])
        self.assertIsNone(self.find({"servers": {}}, "memory, of")["passed"])

    def test_memory_is_held_to_the_smallest_peer(self):
        self.assertTrue(self.find(self.made(), "memory, of")["passed"])
        self.assertFalse(self.find(self.made(memory_bytes=80e6), "memory, of")["passed"])

    def test_overload_counts_what_is_neither_200_nor_429(self):
        during = {**run(100, 20, 900), "statuses": {"200": 20, "429": 79, "503": 1},
                  "refused": {"p99_ms": 4}, "refused_with_retry_after": 79}
        case = {"capacity": 22, "during": during, "before": run(9, 9, 10), "after": run(9, 9, 11),
                "accepted_limit_ms": 1000, "memory_growth_bytes": 1e6}
        made = self.made(case_overload=case)
        self.assertFalse(self.find(made, "neither 200 nor 429")["passed"])
        self.assertTrue(self.find(made, "good answers, of the capacity")["passed"])
        self.assertTrue(self.find(made, "429 without Retry-After")["passed"])

    def test_late_requests_are_those_that_the_metrics_count(self):
        late = {**run(100, 60, 70), "statuses": {"200": 60, "504": 40}}
        case = {"late": late, "abandoned": {**run(100, 50, 70), "abandoned": 50},
                "metrics_late": {"hone_late_total": 40.0},
                "metrics_abandoned": {"hone_abandoned_total": 48.0}}
        made = self.made(case_deadline=case)
        self.assertTrue(self.find(made, "other than 200, 429, 504")["passed"])
        self.assertTrue(self.find(made, "do not count as late")["passed"])
        self.assertTrue(self.find(made, "dropped before they were computed")["passed"])
        case["metrics_late"]["hone_late_total"] = 39.0
        self.assertFalse(self.find(made, "do not count as late")["passed"])

    def test_a_swap_is_held_to_the_window_before_it_and_one_stall_is_not_the_median(self):
        windows = [{"before": run(100, 100, before), "during": run(100, 100, during)}
                   for before, during in ((10, 20), (40, 80), (10, 900))]
        case = {"swaps": 60, "pause_seconds": 1, "window_seconds": 15, "windows": windows}
        made = self.made(case_swap=case, case_swaps={**case, "pause_seconds": 0})
        p99 = self.find(made, "p99 during swaps 1 s apart")
        self.assertEqual((p99["value"], p99["passed"]), (2, True))
        self.assertIn("median of 3 windows of 15 s", p99["bar"])
        self.assertTrue(self.find(made, "failed in 60 swaps of the model 1 s apart")["passed"])
        # Without a pause it is shown and not judged; the page has no limit there.
        self.assertEqual(self.find(made, "p99 during swaps without a pause")["passed"], None)
        self.assertRegex(self.page(case_swaps={**case, "pause_seconds": 0}),
                         r"without a pause, times [^|]*\| at most \|  \| 2 \|")
        windows[1]["during"]["ok"] = 99
        self.assertFalse(self.find(made, "failed in 60 swaps of the model 1 s apart")["passed"])

    def test_an_attack_is_judged_by_the_median_of_its_runs(self):
        runs = [{"before": run(9, 9, 10), "during": run(9, 9, during)} for during in (90, 15, 12)]
        made = self.made(case_slow={"attacks": {"header": runs}})
        self.assertEqual(self.find(made, "slow header attack")["value"], 1.5)

    def page(self, **hone):
        made = {**self.made(**hone), "date": "", "processor": "", "cores": 2,
                "instruction_sets": [], "system": "", "command": "", "texts": "",
                "loaded_share": 0.7}
        made["bars"] = page.bars(made)
        return page.page(made)

    def test_the_page_names_what_is_not_available(self):
        self.assertIn("| infinity | not available: it died |", self.page())

    def test_the_page_names_the_bars_that_are_missing(self):
        self.assertIn("clients that leave at once (`--overload deadline`)", self.page())
        cases = {f"case_{name}": None for name in page.CASES}
        with mock.patch.object(page, "overload_bars", return_value=[]), \
                mock.patch.object(page, "limits", return_value=[]), \
                mock.patch.object(page, "bars", return_value=[]):
            text = self.page(**{**cases, "case_deadline": {"late": 1}})
            self.assertNotIn("--overload deadline", text)
            self.assertIn("--overload slow", text)
            self.assertNotIn("Not measured", self.page(**{name: {"late": 1} for name in cases}))

    def test_the_page_says_which_bar_the_cores_have_no_room_for(self):
        case = {"tokens_per_text": 25, "flops_per_text": 4e8, "peak_flops": 3e11,
                "texts_per_second": 750}
        text = self.page(case_bound=case)
        self.assertNotIn("in requests of 1 would be", text)
        self.assertIn("Twice triton in requests of 32 would be 800", text)


class Bodies(unittest.TestCase):
    def test_every_server_reads_back_a_score_a_text(self):
        texts = ["a", "b"]
        hone = servers.Hone("m", "hone")
        self.assertEqual(hone.body(["a"]), {"inputs": "a"})
        self.assertEqual(hone.body(texts), {"inputs": [["a"], ["b"]]})
        row = [{"label": "x", "score": 0.7}, {"label": "y", "score": 0.3}]
        self.assertEqual(hone.read(row), [{"x": 0.7, "y": 0.3}])
        self.assertEqual(hone.read([row, row]), 2 * [{"x": 0.7, "y": 0.3}])
        triton = servers.Triton("m")
        self.assertEqual(triton.body(texts)["inputs"][0]["shape"], [2, 1])
        self.assertEqual(triton.read({"outputs": [{"data": [0.1, 0.9, 0.2, 0.8]}]}),
                         [{"negative": 0.1, "positive": 0.9}, {"negative": 0.2, "positive": 0.8}])

    def test_the_last_group_goes_on_with_the_first_texts(self):
        bodies = load.Bodies(servers.LitServe("m"), ["a", "b", "c"], 2)
        lines = pathlib.Path(bodies.file.name).read_text().splitlines()
        self.assertEqual(lines, ['{"texts": ["a", "b"]}', '{"texts": ["c", "a"]}'])


if __name__ == "__main__":
    unittest.main()
