"""What hone prep does, by DuckDB and by Spark: clean, keep each text once, count words, map to ids, write.

Both write Parquet, which is what they write best. Each function gives rows, vocabulary and the sum of all ids.
"""
import json
import pathlib
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORD = "[a-z]+(?:'+[a-z]+)*"
LENGTH = 100


def stop_words():
    source = (ROOT / "src/text/stop_words.cpp").read_text()
    return re.findall(r'"([a-z\']+)"', source.split("kStopWords =")[1].split(";")[0])


def duckdb_prepare(path, output, threads, vocabulary):
    import duckdb
    shutil.rmtree(output, ignore_errors=True)
    pathlib.Path(output).mkdir(parents=True)
    base = duckdb.connect(config={"threads": threads})
    base.execute("SET preserve_insertion_order=false")
    stops = ",".join("'" + word.replace("'", "''") + "'" for word in stop_words())
    pattern = WORD.replace("'", "''")
    base.execute(f"""
        CREATE TEMP TABLE entries AS
        SELECT row_number() OVER () AS entry, string_split(text, ' ') AS words, label FROM (
          SELECT text, mode(overall) AS label FROM (
            SELECT array_to_string(list_filter(regexp_extract_all(lower(reviewText), '{pattern}'),
                                               lambda word: NOT list_contains([{stops}], word)), ' ') AS text, overall
            FROM read_json('{path}', format='newline_delimited', columns={{reviewText: 'VARCHAR', overall: 'FLOAT'}}))
          WHERE text <> '' GROUP BY text)""")
    base.execute(f"""
        CREATE TEMP TABLE vocabulary AS
        SELECT word, row_number() OVER (ORDER BY count DESC, word) + 1 AS id FROM (
          SELECT word, count(*) AS count FROM (SELECT unnest(words) AS word FROM entries)
          GROUP BY word ORDER BY count DESC, word LIMIT {vocabulary})""")
    # Looking words up by a cast to an enumeration took far longer than this join.
    base.execute(f"""
        COPY (SELECT entry, list(coalesce(id, 1) ORDER BY place)::INTEGER[] AS ids, any_value(label) AS label FROM (
                SELECT entry, label, unnest(words[1:{LENGTH}]) AS word,
                       unnest(range(1, least(len(words), {LENGTH}) + 1)) AS place FROM entries)
              LEFT JOIN vocabulary USING (word) GROUP BY entry)
        TO '{output}/entries.parquet' (FORMAT parquet, COMPRESSION zstd)""")
    rows, total = base.execute(
        f"SELECT count(*), sum(list_sum(ids)) FROM '{output}/entries.parquet'").fetchone()
    words = [word for word, in base.execute("SELECT word FROM vocabulary ORDER BY id").fetchall()]
    return rows, words, int(total)


def spark_session(threads):
    from pyspark.sql import SparkSession
    return (SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", str(4 * threads)).config("spark.driver.memory", "6g")
            .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
            .config("spark.log.level", "ERROR").getOrCreate())


def spark_prepare(session, path, output, vocabulary):
    from pyspark.sql import Window, functions as f
    shutil.rmtree(output, ignore_errors=True)
    stops = stop_words()
    found = f.regexp_extract_all(f.lower("reviewText"), f.lit("(" + WORD + ")"), 1)
    text = f.array_join(f.filter(found, lambda word: ~word.isin(stops)), " ")
    entries = (session.read.schema("reviewText string, overall float").json(str(path))
               .select(text.alias("text"), "overall").where("text <> ''")
               .groupBy("text").agg(f.mode("overall").alias("label"))
               .select(f.monotonically_increasing_id().alias("entry"), f.split("text", " ").alias("words"), "label")
               .persist())
    words = (entries.select(f.explode("words").alias("word")).groupBy("word").count()
             .orderBy(f.desc("count"), "word").limit(vocabulary).select("word").collect())
    words = [row.word for row in words]
    ids = session.createDataFrame([(word, i + 2) for i, word in enumerate(words)], "word string, id int")
    placed = entries.select("entry", "label", f.posexplode(f.slice("words", 1, LENGTH)).alias("place", "word"))
    pair = f.struct("place", f.coalesce("id", f.lit(1)).alias("id"))
    (placed.join(f.broadcast(ids), "word", "left").groupBy("entry")
     .agg(f.any_value("label").alias("label"), f.sort_array(f.collect_list(pair)).alias("pairs"))
     .select("label", f.col("pairs.id").alias("ids")).write.parquet(str(output)))
    entries.unpersist()
    sums = session.read.parquet(str(output)).select(
        f.count("*").alias("rows"),
        f.sum(f.aggregate("ids", f.lit(0).cast("long"), lambda a, b: a + b)).alias("total")).first()
    return sums.rows, words, int(sums.total)


def hone_result(output):
    """The same figures of a store, by h5py."""
    import h5py
    with h5py.File(pathlib.Path(output) / "index.h5") as index:
        total = sum(int(index["ids"][at:at + 65536].sum(dtype="int64"))
                    for at in range(0, index["ids"].shape[0], 65536))
        rows = index["ids"].shape[0]
    words = (pathlib.Path(output) / "vocabulary.txt").read_text().split("\n")[:-1]
    return rows, words, total


if __name__ == "__main__":
    print(json.dumps(stop_words()))
