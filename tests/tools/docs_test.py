"""The documents: links and anchors lead somewhere, commands and their options exist, C++ compiles.

HONE_BINARY names the program (build/hone without it), CXX the compiler.
"""
import functools
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HONE = os.environ.get("HONE_BINARY", str(ROOT / "build/hone"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
OPTION = re.compile(r"--[A-Za-z][\w-]*")
HONE_WORDS = re.compile(r"(?:^|\()\s*(?:\w+=\S+ )*(?:\S*/)?hone ((?:[a-z]+\b|--?[a-z]+).*)")
PATH = re.compile(r"(?:bench|docs|examples|include|packaging|src|tests|tools|web)/[\w./-]*\w")
COMMAND_FENCES = ("", "sh", "bash", "console")
GENERATED = ("build", "carry", "node_modules")


def documents():
    return sorted(path for path in ROOT.rglob("*.md")
                  if not any(part.startswith((".",) + GENERATED)
                             for part in path.relative_to(ROOT).parts))


def without_code(text):
    return INLINE.sub("", FENCE.sub("", text))


def anchors(text):
    """The anchors that GitHub gives a page's headings."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        slug = re.sub(r"[^\w\- ]", "", words.strip()).replace(" ", "-")
        count = sum(1 for name in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", name))
        found.add(f"{slug}-{count}" if count else slug)
    return found


def command_lines(text):
    """What stands in code: each line of the blocks of commands, and each piece between backticks."""
    lines = [line for language, block in FENCE.findall(text) if language in COMMAND_FENCES
             for line in block.replace("\\\n", " ").splitlines()]
    return lines + INLINE.findall(FENCE.sub("", text))


def hone_calls(line):
    """(subcommand, options) of each call of hone in a line of code."""
    for part in re.split(r"\s[|&;]+\s", re.split(r"\s#\s", line)[0]):
        match = HONE_WORDS.search(part)
        if match:
            words = match[1].split()
            yield words[0], OPTION.findall(re.sub(r"'[^']*'", "", match[1]))


def folded(option):
    return option.replace("_", "-")


@functools.cache
def known_options(command):
    """The options that a subcommand's help lists; None where there is no such subcommand."""
    for asked in ("--help-all", "--help"):
        words = [HONE, command, asked] if command else [HONE, asked]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        if done.returncode == 0:
            return {folded(option) for option in OPTION.findall(done.stdout)} | {"--help-all"}
    return None


@functools.cache
def subcommands():
    done = subprocess.run([HONE, "--help"], capture_output=True, text=True, timeout=60)
    return re.findall(r"^  ([a-z]+) +[a-z]", done.stdout, re.MULTILINE)


def wrong_calls(text):
    for line in command_lines(text):
        for command, options in hone_calls(line):
            known = known_options("" if command.startswith("-") else command)
            if known is None:
                yield f"hone {command}: no such command, in: {line.strip()}"
                continue
            for option in options:
                if folded(option) not in known:
                    yield f"hone {command} does not know {option}, in: {line.strip()}"


def wrong_links(path, text):
    for target in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file.read_text()):
            yield f"{target}: no such heading"


def wrong_targets(text, targets):
    for line in command_lines(text):
        match = re.match(r"(?:\w+=\S+ )*make ([^#&|;]*)", line.strip())
        for name in match[1].split() if match else []:
            if "=" not in name and name not in targets:
                yield f"make {name}: no such target, in: {line.strip()}"


def wrong_paths(text):
    for code in INLINE.findall(FENCE.sub("", text)):
        if PATH.fullmatch(code) and not (ROOT / code).exists():
            yield f"{code}: no such file"


def cpp_program(blocks):
    """One program that runs all blocks; a block that is no program is the body of a function."""
    headers = {"hone/device.h", "hone/evaluate.h", "hone/explain.h", "hone/hone.h",
               "hone/tokenizer.h", "hone/train.h", "cstdio", "iostream", "string", "thread", "vector"}
    functions = []
    for number, block in enumerate(blocks):
        headers |= set(re.findall(r"^#include <(.*)>$", block, re.MULTILINE))
        block = re.sub(r"^#include .*\n", "", block, flags=re.MULTILINE)
        if "int main()" in block:
            functions.append(block.replace("int main()", f"static int example_{number}()"))
        else:
            functions.append(f"static int example_{number}() {{\n{block}return 0;\n}}\n")
    calls = " || ".join(f"example_{number}()" for number in range(len(blocks)))
    return ("".join(f"#include <{name}>\n" for name in sorted(headers)) + "".join(functions)
            + f"int main() {{ return {calls}; }}\n")


class Documents(unittest.TestCase):
    def check(self, find):
        wrong = [f"{path.relative_to(ROOT)}: {what}" for path in documents()
                 for what in find(path, path.read_text())]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_links_lead_to_files_and_headings(self):
        self.check(wrong_links)

    def test_hone_knows_the_commands_and_their_options(self):
        self.check(lambda path, text: wrong_calls(text))

    def test_tables_of_other_tools_name_options_that_hone_has(self):
        known = {option for command in subcommands() for option in known_options(command)}

        def find(path, text):
            if not path.name.startswith("coming-from-"):
                return
            for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
                for option in OPTION.findall(" ".join(INLINE.findall(row.split("|")[1]))):
                    if folded(option) not in known:
                        yield f"{option} is no option of hone, in: {row}"
        self.check(find)

    def test_make_has_the_targets(self):
        targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        self.check(lambda path, text: wrong_targets(text, targets))

    def test_named_files_are_there(self):
        self.check(lambda path, text: wrong_paths(text))

    def test_cpp_of_the_guide_compiles_and_runs(self):
        """HONE_LIBRARY names libhone.so; without it nothing is run."""
        blocks = [block for language, block in FENCE.findall((ROOT / "docs/cpp.md").read_text())
                  if language == "cpp"]
        self.assertGreater(len(blocks), 0)
        library = pathlib.Path(os.environ.get("HONE_LIBRARY", ""))
        with tempfile.TemporaryDirectory() as folder:
            def run(*words):
                done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            (pathlib.Path(folder) / "guide.cpp").write_text(cpp_program(blocks))
            compile_it = [os.environ.get("CXX", "c++"), "-std=c++20", "-Wall", "-Wextra", "-Werror",
                          f"-I{ROOT / 'include'}", "guide.cpp"]
            if not library.is_file():
                run(*compile_it, "-fsyntax-only")
                return
            run(*compile_it, "-o", "guide", str(library), f"-Wl,-rpath,{library.parent}")
            # A model with exits, since a deadline is theirs alone.
            run(HONE, "train", "--output_dir", "DIR", "--early_exit", "pabee", "--max_steps", "2",
                "--max_train_samples", "64", "--max_eval_samples", "8", "--save_strategy", "no")
            for name in ("train.csv", "dev.csv"):
                rows = ["a great film,positive", "the worst film,negative"] * 4
                (pathlib.Path(folder) / name).write_text("text,label\n" + "\n".join(rows) + "\n")
            (pathlib.Path(folder) / "trees.txt").write_text(
                "(NP a (NX great film))\n(NP the (NX worst film))\n")
            for name, place in (("ENCODER", "models/goldens/bert-words"),
                                ("RESNET", "models/resnets/basic"),
                                ("photo.jpg", "image/goldens/rgb.jpg")):
                (pathlib.Path(folder) / name).symlink_to(ROOT / "tests" / place)
            run("./guide")


class Finders(unittest.TestCase):
    """The finders above find faults in made-up pages."""

    def test_links(self):
        page = ROOT / "README.md"
        self.assertEqual(list(wrong_links(page, "[a](LICENSE) [b](https://x/y) `[c](none)`")), [])
        self.assertEqual(len(list(wrong_links(page, "[a](none.md) [b](#no-such-heading)"))), 2)

    def test_anchors(self):
        self.assertEqual(anchors("# A `b`, c!\n## Two words\n## Two words\n```\n# no\n```\n"),
                         {"a-b-c", "two-words", "two-words-1"})

    def test_calls(self):
        text = "```\nbuild/hone predict --model D --nonsense | hone eval --wrong # --not\n```\n"
        self.assertEqual(len(list(wrong_calls(text))), 2)
        self.assertEqual(list(wrong_calls("`hone train --train-file A --output_dir B`")), [])
        self.assertEqual(len(list(wrong_calls("`hone fly --high`"))), 1)

    def test_targets(self):
        self.assertEqual(len(list(wrong_targets("`make fly` make sure `make test X=1`", {"test"}))),
                         1)


if __name__ == "__main__":
    unittest.main()
