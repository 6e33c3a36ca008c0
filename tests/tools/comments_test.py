"""tools/comments.py on made-up sources."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import comments  # noqa: E402

SOURCE = '''// The first line,
// and the second one.
/// Gives the bytes.
size_t bytes;  ///< of the arena
/// By slot.
int a = 1;  // by slot
const char* url = "http://of.example";  ///< a text
int b;  ///< a comment
        ///< of two lines
}  // namespace hone
'''


def opener(line, trails=False):
    return comments.opener_of(line, trails)


class Comments(unittest.TestCase):
    def test_finds_each_comment_once_with_its_place(self):
        self.assertEqual(comments.comments_of(SOURCE), [
            (1, "The first line, and the second one.", False),
            (3, "Gives the bytes.", False),
            (4, "of the arena", True),
            (5, "By slot.", False),
            (6, "by slot", True),
            (7, "a text", True),
            (8, "a comment of two lines", True),
            (10, "namespace hone", True)])

    def test_a_comment_that_begins_in_the_middle_of_a_sentence_is_found(self):
        for line in ("Of the device, or for want of memory.", "And of an i8 panel to this.",
                     "That all is read soon.", "Those that follow.", "The same, now.", "As gemm().",
                     "With zeros beyond.", "Once it is in the queue, of the thread alone.",
                     "For the one who can.", "Which kernel runs.", "Until that has come."):
            self.assertTrue(opener(line), line)
        for line in ("of a block", "the same", "that wait", "with the losses", "for errors"):
            self.assertTrue(opener(line, trails=True), line)

    def test_a_comment_that_can_be_read_alone_passes(self):
        for line in ("Gives the bytes of a panel.", "Office hours.", "Assigns the slots.",
                     "Format of the file.", "Sets (=) dx.", "Wither away.", "Bytes of the arena."):
            self.assertEqual(opener(line), "", line)
        self.assertEqual(opener("by slot", trails=True), "")
        self.assertEqual(opener("By slot."), "by")


if __name__ == "__main__":
    unittest.main()
