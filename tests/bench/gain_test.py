"""bench/gain.py: the committed picture is what the result files give, and its words have room."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import gain  # noqa: E402

TEXT = re.compile(r"<text x='([\d.]+)' y='([\d.]+)' font-size='(\d+)' text-anchor='(\w+)'[^>]*>([^<]*)<")
WIDEST = 0.62  # the width of a letter on average, in font sizes, with room to spare


def boxes(svg):
    for x, y, size, anchor, words in TEXT.findall(svg):
        width = len(words) * int(size) * WIDEST
        left = float(x) - (width if anchor == "end" else 0)
        yield words, left, float(y) - int(size), left + width, float(y)


class Gain(unittest.TestCase):
    def test_the_committed_picture_is_of_the_committed_results(self):
        self.assertEqual((gain.RESULTS / "gain.svg").read_text(), gain.draw(gain.gains()))

    def test_words_do_not_overlap_and_stay_inside(self):
        found = list(boxes(gain.draw(gain.gains())))
        self.assertGreater(len(found), 20)
        for i, (words, left, top, right, bottom) in enumerate(found):
            self.assertGreaterEqual(left, 0, words)
            self.assertLessEqual(right, gain.WIDTH, words)
            for other, left2, top2, right2, bottom2 in found[i + 1:]:
                apart = right <= left2 or right2 <= left or bottom <= top2 or bottom2 <= top
                self.assertTrue(apart, f"{words!r} and {other!r}")


if __name__ == "__main__":
    unittest.main()
