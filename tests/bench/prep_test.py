"""bench/prep.py: its peers drop the words that hone drops."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import prep_peers  # noqa: E402


class StopWords(unittest.TestCase):
    def test_they_are_those_of_the_program(self):
        words = prep_peers.stop_words()
        self.assertEqual(words, sorted(set(words)))
        self.assertIn(f"{len(words)} English function words", (ROOT / "docs/prep.md").read_text())
        for word in ("the", "he'd", "br", "yourselves"):
            self.assertIn(word, words)
        self.assertNotIn("not", words)


if __name__ == "__main__":
    unittest.main()
