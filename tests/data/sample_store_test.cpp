#include "data/sample_store.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/random.h"
#include "data/sample_store_format.h"
#include "data/store_fixture.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;

TEST_F(StoreTest, HoldsWhatTheTokenizerGives) {
  const Split split = numbered(3000);  // several batches
  const auto [store, key, rebuilt, skipped] = opened(split, recipe());
  EXPECT_EQ(key, store_key(split, recipe()));
  EXPECT_EQ(rebuilt, path() + ": cannot open: No such file or directory");
  ASSERT_EQ(store.samples(), 3000);
  const auto records = records_of(*split.open());
  int64_t tokens = 0;
  for (int64_t i = 0; i < 3000; ++i) {
    const auto ids = processor_.tokenizer().encode({records[static_cast<size_t>(i)].text, {}}).ids;
    ASSERT_EQ(stored_text(store, i).ids, ids);
    ASSERT_EQ(store.class_of(i), i % 2);
    tokens += static_cast<int64_t>(ids.size());
  }
  EXPECT_EQ(store.units(), tokens);
  EXPECT_EQ(store.truncated(), 0);
  EXPECT_EQ(store.label_counts(), (std::vector<int64_t>{1500, 1500}));
  EXPECT_EQ(store.target_width(), 0);
}

TEST_F(StoreTest, PairsHaveTypeIds) {
  const Split split = file_split(
      folder_.write("p.csv", "sentence1,sentence2,label\nfilm plot,good,odd\nfilm,plot,even\n"),
      true);
  const auto [store, key, why, skipped] = opened(split, recipe());
  ASSERT_EQ(store.lengths()[0], 6);
  EXPECT_EQ(stored_text(store, 0).types, (std::vector<int32_t>{0, 0, 0, 0, 1, 1}));
}

TEST_F(StoreTest, TruncatesAndLimits) {
  const TextProcessor cutting = processor_of(reviews_tokenizer_json(), 5);
  SampleStoreRecipe how = recipe(cutting);
  how.max_samples = 14;
  const auto [store, key, why, skipped] = opened(numbered(100), how);
  EXPECT_EQ(store.samples(), 14);
  EXPECT_EQ(store.truncated(), 8);
  EXPECT_EQ(*std::max_element(store.lengths().begin(), store.lengths().end()), 5);
}

TEST_F(StoreTest, ScoresFlagsAndNoLabels) {
  const auto scored = opened(csv("film,1.5\nplot,-2\n"), recipe({ProblemType::regression, {}}));
  float score = 0;
  scored.store.targets_of(1, &score);
  EXPECT_EQ(score, -2);
  EXPECT_EQ(scored.store.target_width(), 1);
  EXPECT_TRUE(scored.store.label_counts().empty());

  const Split lists = file_split(folder_.write("l.jsonl",
                                               "{\"text\":\"film\",\"labels\":[\"c\",\"a\"]}\n"
                                               "{\"text\":\"plot\",\"labels\":[]}\n"),
                                 true);
  const auto flagged = opened(lists, recipe({ProblemType::multi_label, {"a", "b", "c"}}));
  std::vector<float> flags(3);
  flagged.store.targets_of(0, flags.data());
  EXPECT_EQ(flags, (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(flagged.store.label_counts(), (std::vector<int64_t>{1, 0, 1}));

  const Split bare = file_split(folder_.write("t.csv", "text\nfilm\n"), false);
  const auto plain = opened(bare, recipe({std::nullopt, {}}));
  EXPECT_EQ(plain.store.samples(), 1);
  EXPECT_EQ(plain.store.target_width(), 0);
}

TEST_F(StoreTest, IsUsedAgainUntilSomethingChanges) {
  const SampleStoreRecipe how = recipe();
  EXPECT_NE(opened(numbered(20), how).rebuilt, "");
  EXPECT_EQ(opened(numbered(20), how).rebuilt, "");
  const std::string stale = path() + ": key: made from other data, labels, processor or settings";
  const auto expect_stale = [&](const Split& split, const SampleStoreRecipe& changed) {
    EXPECT_EQ(opened(split, changed).rebuilt, stale);
    EXPECT_EQ(opened(split, changed).rebuilt, "");
    EXPECT_EQ(opened(numbered(20), how).rebuilt, stale);
  };
  expect_stale(numbered(21), how);
  const auto expect_stale_after = [&](const std::function<void(SampleStoreRecipe&)>& change) {
    SampleStoreRecipe changed = recipe();
    change(changed);
    expect_stale(numbered(20), changed);
  };
  const std::string json = reviews_tokenizer_json();
  const auto truncation = [&](const char* direction, const char* strategy) {
    const Json cut = {{"max_length", 512}, {"direction", direction}, {"strategy", strategy}};
    return processor_of(changed_tokenizer("truncation", cut), 512, json);
  };
  const auto expect_stale_with = [&](const TextProcessor& other) {
    expect_stale(numbered(20), recipe(other));
  };
  expect_stale_with(processor_of(json, 512, json + " "));
  expect_stale_with(processor_of(json, 511));
  expect_stale_with(processor_of(json, 100));
  expect_stale_with(truncation("Left", "LongestFirst"));
  expect_stale_with(truncation("Right", "OnlyFirst"));
  EXPECT_EQ(truncation("Right", "LongestFirst").hash(), processor_.hash());
  expect_stale_after([](SampleStoreRecipe& r) { r.labels.names = {"odd", "even"}; });
  expect_stale_after([](SampleStoreRecipe& r) { r.task_labels = {"even", "odd"}; });
  expect_stale_after([](SampleStoreRecipe& r) { r.max_samples = 20; });
}

TEST_F(StoreTest, DamagedFilesAreBuiltAgain) {
  const Split split = numbered(50);
  opened(split, recipe());
  const std::string good = read_file(path());
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    folder_.write("train.samples", bad);
    std::string why;
    ASSERT_FALSE(SampleStore::open(path(), store_key(split, recipe()), why)) << at;
    ASSERT_TRUE(why.starts_with(path() + ": ")) << why;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    folder_.write("train.samples", good.substr(0, size));
    std::string why;
    ASSERT_FALSE(SampleStore::open(path(), store_key(split, recipe()), why)) << size;
  }
  for (const std::string& bad : {good + "x", good.substr(1), std::string()}) {
    folder_.write("train.samples", bad);
    EXPECT_NE(opened(split, recipe()).rebuilt, "");
    EXPECT_EQ(read_file(path()), good);
  }
}

/// A file whose hash is right, whatever it says.
std::string sealed(const store_format::Header& header, const std::string& body,
                   store_format::Footer footer) {
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file += body;
  file.append(reinterpret_cast<const char*>(&footer), offsetof(store_format::Footer, hash));
  ContentHash hash;
  hash.bytes(file.data(), file.size());
  const Hash128 value = hash.value();
  return file.append(reinterpret_cast<const char*>(&value), sizeof value);
}

TEST_F(StoreTest, LiesWithARightHash) {
  using store_format::Footer, store_format::Header;
  constexpr uint32_t none = 0, classes = 1, flags = 2, scores = 3;  // files have these numbers
  const Hash128 key = {5, 6};
  uint32_t unit_bytes = 5;
  const auto complaint = [&](uint32_t kind, const std::string& body, const Footer& footer) {
    Header header;
    header.kind = kind;
    header.key = key;
    header.unit_bytes = unit_bytes;
    folder_.write("train.samples", sealed(header, body, footer));
    std::string why;
    if (SampleStore::open(path(), key, why)) return std::string("fine");
    return why.substr(path().size() + 2);
  };
  const auto ints = [](std::initializer_list<int32_t> values) {
    return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * 4);
  };
  const std::string tokens = ints({7, 8, 9}) + std::string(3, '\0');  // three tokens of one sample
  EXPECT_EQ(complaint(none, tokens + ints({3}), {1, 3, 0, 0, {}}), "fine");
  EXPECT_EQ(complaint(none, tokens + ints({2}), {1, 3, 0, 0, {}}),
            "lengths: do not sum to the units");
  for (const int32_t length : {4, -3, 0, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(complaint(none, tokens + ints({length}), {1, 3, 0, 0, {}}), "lengths: out of range");
  }
  EXPECT_EQ(complaint(none, tokens + ints({3}), {1, 3, 2, 0, {}}),
            "cut samples: more than samples");
  EXPECT_EQ(complaint(none, tokens, {0, 3, 0, 0, {}}), "samples: none");
  EXPECT_EQ(complaint(none, tokens + ints({3}), {1, UINT64_MAX / 5 + 1, 0, 0, {}}),
            "units: more than the file holds");
  EXPECT_EQ(complaint(none, tokens + ints({3}), {uint64_t{1} << 62, 3, 0, 0, {}}),
            "samples: more than the file holds");
  EXPECT_EQ(complaint(none, tokens + ints({3}), {1, 2, 0, 0, {}}),
            "size: not that of its samples and units");
  for (const uint64_t labels : {(uint64_t{1} << 20) + 1, uint64_t{1} << 60}) {
    EXPECT_EQ(complaint(classes, tokens + ints({3, 0}), {1, 3, 0, labels, {}}), "labels: too many");
  }
  EXPECT_EQ(complaint(flags, tokens + ints({3}), {1, 3, 0, UINT64_MAX - 3, {}}),
            "samples: more than the file holds");
  for (const int32_t id : {2, -1}) {
    EXPECT_EQ(complaint(classes, tokens + ints({3, id}), {1, 3, 0, 2, {}}),
              "labels: a class out of range");
  }
  EXPECT_EQ(complaint(scores, tokens + ints({3, 0x7fc00000}), {1, 3, 0, 0, {}}),
            "labels: a score that is not finite");
  EXPECT_EQ(complaint(flags, tokens + ints({3}) + "\1\2", {1, 3, 0, 2, {}}),
            "labels: a flag that is neither 0 nor 1");
  EXPECT_EQ(complaint(9, tokens + ints({3}), {1, 3, 0, 0, {}}), "label kind: unknown");
  for (const uint32_t bytes : {0u, (1u << 16) + 1, UINT32_MAX}) {
    unit_bytes = bytes;
    EXPECT_EQ(complaint(none, tokens + ints({3}), {1, 3, 0, 0, {}}), "unit: out of range");
  }
  unit_bytes = 3;
  EXPECT_EQ(complaint(none, tokens + ints({5}), {1, 5, 0, 0, {}}), "fine");
  EXPECT_EQ(complaint(none, tokens + ints({3}), {1, 3, 0, 0, {}}),
            "size: not that of its samples and units");
}

TEST_F(StoreTest, BadSamplesNameTheirPlaceAndLeaveNothing) {
  const std::string file = folder_.path() + "/data.csv";
  EXPECT_EQ(error_of([&] { opened(csv("film,even\nplot,prime\n"), recipe()); }),
            file + ": line 3: label: expected one of 'even, odd', got 'prime'");
  EXPECT_EQ(error_of([&] { opened(csv(""), recipe()); }), file + ": no samples");
  EXPECT_EQ(error_of([&] {
              opened(csv("film,x\n"), recipe({ProblemType::regression, {}}));
            }),
            file + ": line 2: label: expected a number, got 'x'");
  const TextProcessor bare = processor_of(changed_tokenizer("post_processor", nullptr));
  EXPECT_EQ(error_of([&] { opened(csv("film,odd\n \t,odd\n"), recipe(bare)); }),
            file + ": line 3: text: no tokens");
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path().filename(), "data.csv");
  }
}

TEST_F(StoreTest, AFileThatShrinksIsAnError) {
  const SampleStore store = numbered_store(2000);
  fs::resize_file(path(), 100);
  EXPECT_EQ(error_of([&] { stored_text(store, 1999); }).substr(0, path().size() + 14),
            path() + ": ends at byte");
}

/// Killed while it builds, at moments drawn from a counter: what is there is whole or nothing.
TEST_F(StoreTest, KilledWhileWriting) {
  const Split split = numbered(20000);
  const Hash128 key = store_key(split, recipe());
  int complete = 0, missing = 0;
  for (uint64_t turn = 0; turn < 24; ++turn) {
    fs::remove(path());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        ThreadPool pool(1);
        build_store(path(), key, split, recipe(), pool);
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(philox(1, 2, turn)[0] % 80000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) || status == 0);
    std::string why;
    const auto store = SampleStore::open(path(), key, why);
    EXPECT_EQ(store.has_value(), fs::exists(path())) << why;
    ++(store ? complete : missing);
  }
  EXPECT_GT(missing, 0);
  RecordProperty("complete", complete);
  EXPECT_EQ(opened(split, recipe()).store.samples(), 20000);
}

TEST_F(StoreTest, BuiltInDataAndTokenizerFiles) {
  const Split reviews = task_split(*find_task("reviews"), "", "validation");
  SampleStoreRecipe how = recipe({ProblemType::single_label, {"negative", "positive"}});
  how.task_labels = how.labels.names;
  const auto [store, key, why, skipped] = opened(reviews, how);
  EXPECT_EQ(store.samples(), ReviewOptions().validation);
  EXPECT_EQ(opened(reviews, how).rebuilt, "");

  const std::string folder = folder_.path() + "/a";
  folder_.write("a/vocab.txt", "x\n");
  const auto hash = [&] {
    text::Tokenizer tokenizer = text::Tokenizer::parse(reviews_tokenizer_json(), "reviews");
    const TextLimits limits{512, tokenizer.id_end()};
    return TextProcessor(std::move(tokenizer), {folder}, limits, 512, "reviews").hash();
  };
  const Hash128 before = hash();
  EXPECT_EQ(hash(), before);
  folder_.write("a/model.safetensors", "weights do not count");
  EXPECT_EQ(hash(), before);
  folder_.write("a/tokenizer_config.json", "{}");
  EXPECT_NE(hash(), before);
}

}  // namespace
}  // namespace hone::data
