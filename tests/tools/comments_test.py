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
                     "For the one who can.", "Which kernel runs.", "Until that has come.",
                     "Called before each batch.", "May be empty.", "Safe from several threads."):
            self.assertTrue(opener(line), line)
        for line in ("of a block", "the same", "that wait", "with the losses", "for errors",
                     "under the mutex", "again when it can be read", "without its views"):
            self.assertTrue(opener(line, trails=True), line)

    def test_a_comment_that_can_be_read_alone_passes(self):
        for line in ("Gives the bytes of a panel.", "Office hours.", "Assigns the slots.",
                     "Format of the file.", "Sets (=) dx.", "Wither away.", "Bytes of the arena."):
            self.assertEqual(opener(line), "", line)
        self.assertEqual(opener("by slot", trails=True), "")
        self.assertEqual(opener("By slot."), "by")
        self.assertEqual(opener("From here on nothing may be locked.", trails=True), "")
        self.assertEqual(opener("may be null", trails=True), "")

    def test_half_a_sentence_behind_another_one_is_found(self):
        for half in ("For float, bf16 and double.", "On the processor alone.", "May be empty.",
                     "To be called once, when all is recorded.", "Called before the first run.",
                     "Not to be called after that.", "Internal.", "Safe from several threads."):
            self.assertEqual(comments.fragment_of("Gives y. " + half), half)
        for whole in ("T is float, bf16 or double.", "It may be empty.", "Nothing overlaps.",
                      "On a GPU all calls come from the thread that made it.",
                      "Format of the file: of lines, say."):
            self.assertEqual(comments.fragment_of("Gives y. " + whole), "", whole)
        self.assertEqual(comments.fragment_of("What runs, e.g. on a host."), "")


if __name__ == "__main__":
    unittest.main()
