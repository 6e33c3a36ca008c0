#!/usr/bin/env python3
"""Made-up reviews as JSON lines, from the words of real ones; declared synthetic wherever they are used.

    bench/prep_reviews.py --bytes 200e6 --output FILE [--copies 100] [--data DIR] [--duplicates 0.2] [--seed 1]

Words, their cases and punctuation, and lengths are drawn as often as IMDB's training reviews have them
(DIR/imdb/train.tsv.xz), by phrases of eight words. A share of the records repeats an earlier text, half of
them with another punctuation, which cleaning takes away. The same seed gives the same bytes. `--copies N` writes
all of it N times, each time with another first word in every text, for inputs that take long to make.
"""
import argparse
import json
import lzma
import os
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parent.parent
PHRASES = 150_000
PHRASE_WORDS = 8
KEPT = 4096  # texts that may be repeated


def imdb_texts(data):
    with lzma.open(data / "imdb/train.tsv.xz", "rt", encoding="utf-8", newline="\n") as file:
        next(file)
        return [line.rstrip("\n").split("\t")[-1] for line in file]


def reviews(data, seed, duplicates):
    """JSON lines without end."""
    texts = imdb_texts(data)
    words = [word for text in texts for word in text.split() if word.isascii()]  # so that peers may, too
    draw = random.Random(seed)
    phrases = [json.dumps(" ".join(draw.choices(words, k=PHRASE_WORDS)))[1:-1] for _ in range(PHRASES)]
    lengths = [max(1, len(text.split()) // PHRASE_WORDS) for text in texts]
    kept, number = [], 0
    while True:
        if kept and draw.random() < duplicates:
            text = draw.choice(kept)
            if number % 2:
                text = text.replace(". ", " ... ").replace(",", " -- ")
        else:
            text = " ".join(draw.choices(phrases, k=draw.choice(lengths)))
            if len(kept) < KEPT:
                kept.append(text)
            else:
                kept[number % KEPT] = text
        number += 1
        yield (f'{{"reviewerID": "A{number:013d}", "asin": "B{number % 9973:09d}", "helpful": [0, 0], '
               f'"reviewText": "{text}", "overall": {1 + number % 5}.0, "unixReviewTime": {1300000000 + number}}}\n')


def write(path, size, data, seed=1, duplicates=0.2):
    """Writes at least `size` bytes; gives the number of records."""
    count = written = 0
    with open(path, "w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
        for line in reviews(data, seed, duplicates):
            written += file.write(line)  # the lines are ASCII
            count += 1
            if written >= size:
                return count


def write_copies(path, size, copies, data, seed=1, duplicates=0.2):
    """Writes copies of `size` bytes, whose texts begin with a word of the copy's own."""
    count = write(path, size, data, seed, duplicates)
    base = pathlib.Path(path).read_bytes()
    mark = b'"reviewText": "'
    with open(path, "ab", buffering=1 << 20) as file:
        for copy in range(1, copies):
            letters = "".join(chr(ord("a") + int(digit)) for digit in str(copy))
            file.write(base.replace(mark, mark + f"copy{letters} ".encode()))
    return count * copies


def data_folder():
    return pathlib.Path(os.environ.get("HONE_DATA", ROOT / "../shared/data"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=float, default=200e6)
    parser.add_argument("--output", required=True)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--data", type=pathlib.Path, default=data_folder())
    parser.add_argument("--duplicates", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(write_copies(asked.output, asked.bytes, asked.copies, asked.data, asked.seed, asked.duplicates), "records")
