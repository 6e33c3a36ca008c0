"""tools/mutants.py and tools/rotate.py on made-up rows."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import mutants  # noqa: E402
import rotate  # noqa: E402

ROW = "name | src/a.cpp | x || y | x && y | a_test | A.*"


class Mutants(unittest.TestCase):
    def test_a_row_is_a_replacement(self):
        [mutant] = mutants.read_table("# comment\n\n" + ROW)
        self.assertEqual(mutants.mutated(mutant, "if (x || y) f();"), "if (x && y) f();")

    def test_text_that_is_not_there_once_names_the_row(self):
        [mutant] = mutants.read_table(ROW)
        for text in ("", "x || y; x || y"):
            with self.assertRaisesRegex(mutants.RowError, "^name: src/a.cpp has"):
                mutants.mutated(mutant, text)

    def test_tests_are_found_by_the_words_of_their_names(self):
        [mutant] = mutants.read_table(ROW.replace("a_test | A.*", "ops_cpu_test | *Sums.OfRows*"))
        mutants.named_tests(mutant, [(pathlib.Path("ops/cpu"), "TEST(Sums, OfRows) {}")])
        for folder, text in (("ops", "TEST(Sums, OfRows)"), ("ops/cpu", "TEST(Sums, Rows)")):
            with self.assertRaisesRegex(mutants.RowError, "^name: ops_cpu_test has no test"):
                mutants.named_tests(mutant, [(pathlib.Path(folder), text)])

    def test_bad_rows_are_refused(self):
        for table in ("name | src/a.cpp | x | y", ROW + "\n" + ROW):
            with self.assertRaises(mutants.RowError):
                mutants.read_table(table)

    def test_picks_take_turns(self):
        rows = mutants.read_table("\n".join(ROW.replace("name", f"row{i}") for i in range(7)))
        parts = [rotate.part_of(rows, 3, turn) for turn in range(3)]
        self.assertEqual(sorted(row.name for part in parts for row in part),
                         [f"row{i}" for i in range(7)])
        self.assertTrue(all(2 <= len(part) <= 3 for part in parts))
        with self.assertRaisesRegex(mutants.RowError, "no row9"):
            mutants.choose(rows, ["row9"], 0)


if __name__ == "__main__":
    unittest.main()
