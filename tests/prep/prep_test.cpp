#include "prep/prep.h"

#include <algorithm>
#include <sstream>
#include <thread>

#include "base/file_calls.h"
#include "data/content_hash.h"
#include "prep/dictionary.h"
#include "prep/pipes.h"
#include "prep/prep_fixture.h"
#include "prep/stop_words.h"
#include "text/tokenizer.h"

namespace hone::prep {
namespace {

/// Runs all ranks of a start, each in a thread; gives rank 0's result.
PrepResult run_ranks(PrepOptions options, int size, int threads) {
  options.threads = threads;
  PrepResult result;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      QuietObserver observer;
      const PrepResult own = run(options, {rank, size, "test"}, observer);
      if (rank == 0) result = own;
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return result;
}

PrepResult run_alone(const PrepOptions& options) {
  QuietObserver observer;
  return run(options, {}, observer);
}

/// What a store must hold, found by maps of whole texts.
struct Expected {
  struct Row {
    std::vector<std::string> words;
    std::map<float, int> labels;
  };
  std::map<data::Hash128, Row> rows;
  std::vector<std::string> vocabulary;
  int64_t records = 0;

  Expected(const std::string& lines, size_t vocabulary_size) {
    const Dictionary none({}, stop_words("english"));
    CleanText clean(none);
    const auto reviews =
        read_reviews(data::bytes_of_memory(lines), "lines", data::Format::jsonl, {});
    for (Review review; reviews->next(review); ++records) {
      clean.clean(review.text);
      if (clean.empty()) continue;
      data::ContentHash hash;
      hash.bytes(clean.text().data(), clean.text().size());
      Row& row = rows[hash.value()];
      std::istringstream words{std::string(clean.text())};
      row.words.assign(std::istream_iterator<std::string>(words), {});
      ++row.labels[review.label];
    }
    std::map<std::string, int> counts;
    for (const auto& [hash, row] : rows) {
      for (const std::string& word : row.words) ++counts[word];
    }
    std::vector<std::pair<int, std::string>> order;
    for (const auto& [word, count] : counts) order.emplace_back(-count, word);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < std::min(vocabulary_size, order.size()); ++i) {
      vocabulary.push_back(order[i].second);
    }
  }

  void check(const std::string& folder) const {
    const data::EntryStore store(folder);
    EXPECT_EQ(store.vocabulary(), vocabulary);
    ASSERT_EQ(store.rows(), static_cast<int64_t>(rows.size()));
    data::Entries entries;
    store.read(0, store.rows(), entries);
    const auto length = static_cast<size_t>(store.length());
    size_t i = 0;
    for (const auto& [hash, row] : rows) {
      const size_t words = std::min(row.words.size(), length);
      EXPECT_EQ(entries.lengths[i], static_cast<int32_t>(words));
      for (size_t word = 0; word < length; ++word) {
        const auto found = word < words
                               ? std::find(vocabulary.begin(), vocabulary.end(), row.words[word])
                               : vocabulary.end();
        const auto id = word >= words               ? 0
                        : found == vocabulary.end() ? 1
                                                    : found - vocabulary.begin() + 2;
        ASSERT_EQ(entries.ids[i * length + word], id) << i;
      }
      const auto label = std::max_element(row.labels.begin(), row.labels.end(),
                                          [](auto& a, auto& b) { return a.second < b.second; });
      EXPECT_EQ(entries.labels[i], label->first);
      ++i;
    }
  }
};

TEST(Prep, HasEveryTextOnceInTheOrderOfHashes) {
  const PrepFolder folder;
  const std::string lines = made_reviews(700);
  const PrepOptions options = options_for(folder.put("a.jsonl", lines), folder / "store");
  const PrepResult result = run_alone(options);
  const Expected expected(lines, 12);
  expected.check(folder / "store");
  EXPECT_EQ(result.records, 700);
  EXPECT_EQ(result.rows, static_cast<int64_t>(expected.rows.size()));
  EXPECT_EQ(result.records, result.rows + result.duplicates + result.empty);
  EXPECT_GT(result.duplicates, 100);
  EXPECT_EQ(result.bytes, lines.size());
  EXPECT_FALSE(folder_exists(folder / "store/work"));
}

TEST(Prep, AnyNumberOfRanksThreadsAndPartsGivesTheSameBytes) {
  const PrepFolder folder;
  PrepOptions options = options_for(folder.put("a.jsonl", made_reviews(400)), folder / "one");
  options.partition_bytes = 8192;
  const PrepResult result = run_alone(options);
  EXPECT_GE(result.shards, 4);
  const auto files = files_of(folder / "one");
  int count = 0;
  for (const auto& [ranks, threads, part] :
       {std::tuple{1, 3, 4096}, {2, 1, 4096}, {4, 2, 1000}, {8, 1, 1 << 20}}) {
    options.output = folder / std::to_string(++count);
    options.part_bytes = static_cast<uint64_t>(part);
    run_ranks(options, ranks, threads);
    EXPECT_EQ(files_of(options.output), files) << ranks;
  }
}

TEST(Prep, TheOrderOfInputsAndTheirPackingDoNotMatter) {
  const PrepFolder folder;
  const std::string a = made_reviews(60, 1);
  const std::string b = made_reviews(90, 2);
  PrepOptions options = options_for(folder.put("a.jsonl", a), folder / "one");
  options.inputs.push_back(folder.put("b.jsonl", b));
  run_alone(options);
  std::swap(options.inputs[0], options.inputs[1]);
  options.output = folder / "two";
  run_alone(options);
  EXPECT_EQ(files_of(folder / "one"), files_of(folder / "two"));
}

/// Lets every call from the n-th on fail as on a full disk.
class FullDisk : public FileCallHook {
 public:
  explicit FullDisk(int calls) : left_(calls) { set_file_call_hook(this); }
  ~FullDisk() override { set_file_call_hook(nullptr); }
  std::optional<int> before(FileCall call, const std::string&, const std::string&) override {
    if (call != FileCall::write) return std::nullopt;
    return --left_ < 0 ? std::optional(ENOSPC) : std::nullopt;
  }
  bool was_full() const { return left_ < 0; }

 private:
  std::atomic<int> left_;
};

TEST(Prep, AFullDiskIsNamedAndWhatWasDoneIsKept) {
  const PrepFolder folder;
  PrepOptions options = options_for(folder.put("a.jsonl", made_reviews(150)), folder / "whole");
  options.partition_bytes = 8192;
  run_alone(options);
  const auto files = files_of(folder / "whole");
  options.output = folder / "again";
  int failures = 0;
  for (int calls = 3;; calls += 7) {  // each start gets a little further
    const FullDisk disk(calls);
    const std::string message = message_of([&] { run_alone(options); });
    if (!disk.was_full()) break;
    ++failures;
    EXPECT_NE(message.find(folder / "again"), std::string::npos) << message;
    EXPECT_NE(message.find("No space left"), std::string::npos) << message;
    EXPECT_FALSE(file_exists(folder / "again/index.h5"));
  }
  EXPECT_GT(failures, 2);
  EXPECT_EQ(files_of(options.output), files);
}

TEST(Prep, OnlyWhatIsMissingOrDamagedIsDoneAgain) {
  const PrepFolder folder;
  PrepOptions options = options_for(folder.put("a.jsonl", made_reviews(300)), folder / "store");
  {
    const FullDisk disk(1000);
    run_alone(options_for(folder / "a.jsonl", folder / "whole"));
  }
  {
    const FullDisk disk(16);
    EXPECT_NE(message_of([&] { run_alone(options); }), "no error");
  }
  std::vector<std::string> runs;
  size_t parts = 0;
  for (const auto& [name, bytes] : files_of(folder / "store/work")) {
    if (name.starts_with("run-") && name.find("partial") == name.npos) runs.push_back(name);
    parts += name.starts_with("part-") && name.ends_with(".json");
  }
  ASSERT_GT(parts, 3u);
  std::string damaged = read_file(folder / ("store/work/" + runs[1]));
  damaged[damaged.size() - 3] ^= 1;
  folder.put("store/work/" + runs[1], damaged);
  QuietObserver observer;
  options.threads = 1;
  run(options, {}, observer);
  const size_t all = (read_file(folder / "a.jsonl").size() + 4095) / 4096;
  EXPECT_EQ(observer.stages["map"], static_cast<int64_t>(all - parts + 1));
  EXPECT_EQ(files_of(folder / "store"), files_of(folder / "whole"));
}

TEST(Prep, AnotherRunsWorkAndAWholeStoreAreRefused) {
  const PrepFolder folder;
  PrepOptions options = options_for(folder.put("a.jsonl", made_reviews(100)), folder / "store");
  {
    const FullDisk disk(9);
    EXPECT_NE(message_of([&] { run_alone(options); }), "no error");
  }
  options.max_length = 7;
  EXPECT_NE(
      message_of([&] { run_alone(options); }).find("begun with another max_length: '6', now '7'"),
      std::string::npos);
  options.max_length = 6;
  run_alone(options);
  EXPECT_NE(message_of([&] { run_alone(options); }).find("already holds a store"),
            std::string::npos);
}

TEST(Prep, AMistakeIsOneLineWithTheLineOfTheFile) {
  const PrepFolder folder;
  std::string lines = made_reviews(200);
  const auto good = std::count(lines.begin(), lines.end(), '\n');
  lines += "{\"reviewText\": \"x\"}\n" + made_reviews(5);
  PrepOptions options = options_for(folder.put("a.jsonl", lines), folder / "store");
  EXPECT_EQ(
      message_of([&] { run_alone(options); }),
      options.inputs[0] + ": line " + std::to_string(good + 1) + ": field 'overall': missing");
  options =
      options_for(folder.put("b.jsonl", "{\"overall\": 1, \"text\": \"film\"}\n"), folder / "none");
  EXPECT_NE(message_of([&] {
              run_alone(options);
            }).find("none of 1 records has words in its field 'reviewText'"),
            std::string::npos);
  options = options_for(folder / "nothing.jsonl", folder / "other");
  EXPECT_NE(message_of([&] { run_alone(options); }).find("nothing.jsonl: cannot open"),
            std::string::npos);
  options.tokenizer = "x";
  EXPECT_NE(message_of([&] { run_alone(options); }).find("prep.vocabulary"), std::string::npos);
}

TEST(Prep, ARankThatFailedOrIsSilentIsNamed) {
  const PrepFolder folder;
  PrepOptions options = options_for(folder.put("a.jsonl", made_reviews(100)), folder / "store");
  options.timeout = 1;
  QuietObserver observer;
  EXPECT_NE(message_of([&] {
              run(options, {0, 2, "one"}, observer);
            }).find("rank 1 was silent for 1 s"),
            std::string::npos);
  options.timeout = 60;
  std::ofstream(folder / "store/work/failed-1") << "two";
  EXPECT_NE(message_of([&] {
              run(options, {0, 2, "two"}, observer);
            }).find("rank 1 failed"),
            std::string::npos);
}

TEST(Prep, AVocabularyFileGivesTheIdsThatCountingGave) {
  const PrepFolder folder;
  PrepOptions options = options_for(folder.put("a.jsonl", made_reviews(200)), folder / "counted");
  run_alone(options);
  options.vocabulary_size = 0;
  options.vocabulary_file = folder / "counted/vocabulary.txt";
  options.output = folder / "given";
  run_alone(options);
  EXPECT_EQ(files_of(folder / "given"), files_of(folder / "counted"));
}

constexpr const char* kWordLevel = R"({"version":"1.0","truncation":null,"padding":null,
"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":null,
"decoder":null,"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
"max_input_chars_per_word":100,"vocab":{"[UNK]":0,"film":1,"great":2,"##s":3,"plot":4}}})";

TEST(Prep, ATokenizerMakesItsIds) {
  const PrepFolder folder;
  const std::string lines = "{\"reviewText\": \"Great films and a plot\", \"overall\": 4}\n";
  PrepOptions options = options_for(folder.put("a.jsonl", lines), folder / "store");
  options.vocabulary_size = 0;
  options.tokenizer = folder.put("tokenizer.json", kWordLevel);
  options.max_length = 3;
  run_alone(options);
  const data::EntryStore store(folder / "store");
  data::Entries entries;
  store.read(0, 1, entries);
  EXPECT_EQ(entries.ids, (std::vector<int32_t>{2, 1, 3}));
  EXPECT_EQ(entries.lengths[0], 3);
  EXPECT_FALSE(store.has_words());
  EXPECT_EQ(store.id_end(), 5);
}

TEST(Pipes, MapSortAndReduceGiveTheRowsOfAStore) {
  const PrepFolder folder;
  const std::string lines = made_reviews(300);
  PrepOptions options = options_for(folder.put("a.jsonl", lines), folder / "store");
  run_alone(options);
  PrepOptions pipe;
  std::vector<std::string> mapped;
  map_lines(data::bytes_of_memory(lines), "in", pipe,
            [&](std::string_view line) { mapped.emplace_back(line); });
  std::sort(mapped.begin(), mapped.end());
  std::string sorted;
  for (const std::string& line : mapped) sorted += line;
  pipe.vocabulary_file = folder / "store/vocabulary.txt";
  pipe.max_length = 6;
  std::vector<std::string> reduced;
  reduce_lines(data::bytes_of_memory(sorted), "in", pipe,
               [&](std::string_view line) { reduced.emplace_back(line); });
  const data::EntryStore store(folder / "store");
  data::Entries entries;
  store.read(0, store.rows(), entries);
  ASSERT_EQ(static_cast<int64_t>(reduced.size()), store.rows());
  for (size_t i = 0; i < reduced.size(); ++i) {
    std::string ids;
    for (int32_t j = 0; j < entries.lengths[i]; ++j) {
      ids += (j > 0 ? " " : "") + std::to_string(entries.ids[i * 6 + static_cast<size_t>(j)]);
    }
    const std::string line = reduced[i].substr(33);
    EXPECT_EQ(line, std::to_string(static_cast<int>(entries.labels[i])) + "\t" + ids + "\n");
  }
}

TEST(Pipes, IdsMayBeMadeBeforeTheShuffle) {
  PrepOptions pipe;
  const PrepFolder folder;
  pipe.vocabulary_file = folder.put("words.txt", "film\ngreat\n");
  std::string line;
  map_lines(data::bytes_of_memory("{\"reviewText\": \"A great new FILM\", \"overall\": "
                                  "4.5}\n{\"reviewText\": \"the\", \"overall\": 1}"),
            "in", pipe, [&](std::string_view given) { line += given; });
  data::ContentHash hash;
  hash.bytes("great new film", 14);
  EXPECT_EQ(line, data::hex(hash.value()) + "\t4.5\t3 1 2\n");
}

TEST(Pipes, WrongLinesAreRefused) {
  const std::string hash(32, 'a');
  const auto refusal = [](const std::string& lines) {
    return message_of(
        [&] { reduce_lines(data::bytes_of_memory(lines), "in", {}, [](std::string_view) {}); });
  };
  EXPECT_NE(refusal("short\t1\tx\n").find("in: line 1: expected a hash"), std::string::npos);
  EXPECT_NE(refusal(hash).find("expected a hash"), std::string::npos);
  EXPECT_NE(refusal(hash + "\tx").find("expected a hash, a label"), std::string::npos);
  EXPECT_NE(refusal(hash + "\tx\ty").find("a number as label"), std::string::npos);
  EXPECT_NE(refusal(hash + "\t1\ty\n" + std::string(32, '1') + "\t1\ty\n")
                .find("line 2: its hash is lower"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::prep
