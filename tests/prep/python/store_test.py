"""Stores of hone prep as others see them: h5py reads an entry by one chunk, and Spark's pipe gives the rows.

HONE_BINARY names the program (build/hone without it).
"""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest

import h5py
import numpy

ROOT = pathlib.Path(__file__).resolve().parents[3]
HONE = os.environ.get("HONE_BINARY", str(ROOT / "build/hone"))
WORDS = "great film the awful plot and don't watch acting was Café it again dull STORY hero Über a never".split()
LENGTH, VOCABULARY = 8, 14


def reviews(count, seed=3):
    draw = random.Random(seed)
    texts = []
    for i in range(count):
        if texts and i % 4 == 0:
            texts.append(draw.choice(texts) + " ...")
        else:
            texts.append(", ".join(draw.choices(WORDS, k=draw.randint(1, 14))) + ("" if i % 9 else f" rare{'abc'[i % 3]}x"))
    return "".join(json.dumps({"reviewText": text, "overall": float(1 + draw.randrange(5)), "asin": str(i)},
                              ensure_ascii=i % 2 == 0) + "\n" for i, text in enumerate(texts))


def hone(*words, **options):
    return subprocess.run([HONE, "prep", *map(str, words)], check=True, capture_output=True, timeout=120, **options)


class StoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.input = cls.folder / "reviews.jsonl"
        cls.input.write_text(reviews(600), encoding="utf-8")
        cls.store = cls.folder / "store"
        cls.said = json.loads(hone("--input", cls.input, "--output", cls.store, "--vocabulary", VOCABULARY,
                                   "--max_length", LENGTH, "--processes", 2, "--json", "--quiet").stdout)

    def test_h5py_reads_what_a_plain_program_finds(self):
        stops = set(re.findall(r'"([a-z\']+)"', (ROOT / "src/text/stop_words.cpp").read_text()
                               .split("kStopWords =")[1].split(";")[0]))
        self.assertEqual(len(stops), 169)
        texts = collections.defaultdict(collections.Counter)
        for line in self.input.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            words = [word for word in re.findall(r"[^\W\d_]+(?:'+[^\W\d_]+)*", record["reviewText"].lower())
                     if word not in stops]
            if words:
                texts[" ".join(words)][record["overall"]] += 1
        counts = collections.Counter(word for text in texts for word in text.split())
        vocabulary = sorted(counts, key=lambda word: (-counts[word], word.encode()))[:VOCABULARY]
        self.assertEqual((self.store / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1], vocabulary)
        ids = {word: i + 2 for i, word in enumerate(vocabulary)}
        expected = sorted((tuple(ids.get(word, 1) for word in text.split()[:LENGTH]),
                           max(sorted(labels), key=labels.get)) for text, labels in texts.items())
        with h5py.File(self.store / "index.h5") as index:
            self.assertEqual(index["ids"].dtype, numpy.int32)
            self.assertEqual(index["ids"].shape, (len(texts), LENGTH))
            lengths, labels, hashes = index["lengths"][:], index["labels"][:], index["hash"][:]
            rows = [(tuple(row[:length]), float(label)) for row, length, label in zip(index["ids"][:].tolist(), lengths, labels)]
            for row, length in zip(index["ids"][:], lengths):
                self.assertFalse(row[length:].any())
        self.assertEqual(sorted(rows), expected)
        keys = [tuple(pair) for pair in hashes.tolist()]
        self.assertEqual(keys, sorted(keys))
        self.assertEqual(self.said["rows"], len(texts))

    def test_an_entry_is_one_chunk(self):
        with h5py.File(self.store / "index.h5") as index:
            self.assertTrue(index["ids"].is_virtual)
            self.assertEqual({source.file_name for source in index["ids"].virtual_sources()},
                             {path.name for path in self.store.glob("shard-*.h5")})
        with h5py.File(self.store / "shard-00000.h5") as shard:
            self.assertEqual(shard["ids"].compression, "gzip")
            self.assertTrue(shard["ids"].shuffle)
            self.assertLessEqual(4 * numpy.prod(shard["ids"].chunks), 100 << 10)

    def test_killed_processes_cost_only_what_they_were_at(self):
        source = self.folder / "many.jsonl"
        source.write_text("".join(reviews(2000, seed) for seed in range(60)), encoding="utf-8")
        words = ["--input", source, "--vocabulary", VOCABULARY, "--max_length", LENGTH, "--quiet"]
        hone(*words, "--output", self.folder / "straight", "--threads", 1)
        output, kills = self.folder / "killed", 0
        for wait in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 120):
            started = subprocess.Popen([HONE, "prep", *map(str, words), "--output", output, "--threads", "1"],
                                       stderr=subprocess.PIPE)
            try:
                _, errors = started.communicate(timeout=wait)
                self.assertEqual((started.returncode, errors), (0, b""))
                break
            except subprocess.TimeoutExpired:
                started.kill()
                started.communicate()
                kills += 1
        self.assertGreater(kills, 0)
        self.assertEqual({path.name: path.read_bytes() for path in output.iterdir()},
                         {path.name: path.read_bytes() for path in (self.folder / "straight").iterdir()})

    def test_spark_gives_the_rows_of_the_store(self):
        from pyspark.sql import SparkSession
        session = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
                   .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
                   .config("spark.log.level", "ERROR").getOrCreate())
        self.addCleanup(session.stop)
        context = session.sparkContext
        mapped = context.textFile(str(self.input), 3).pipe(f"{HONE} prep map")
        keyed = mapped.map(lambda line: (line[:32], line)).sortByKey(numPartitions=3).values()
        texts = keyed.pipe(f"{HONE} prep reduce").cache()
        counted = texts.flatMap(lambda line: line.split("\t")[2].split(" ")).countByValue()
        words = sorted(counted, key=lambda word: (-counted[word], word.encode()))[:VOCABULARY]
        self.assertEqual(words, (self.store / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1])
        rows = texts.pipe(f"{HONE} prep reduce --vocabulary {self.store}/vocabulary.txt --max_length {LENGTH}").collect()
        with h5py.File(self.store / "index.h5") as index:
            expected = [f"{high:016x}{low:016x}\t{label:g}\t" + " ".join(map(str, row[:length]))
                        for (high, low), label, length, row in
                        zip(index["hash"][:].tolist(), index["labels"][:].tolist(), index["lengths"][:].tolist(), index["ids"][:].tolist())]
        self.assertEqual(rows, expected)


if __name__ == "__main__":
    unittest.main()
