#include <cstdlib>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "data/labels.h"
#include "data/reading.h"
#include "data/tasks.h"

namespace hone::data {
namespace {

/// The real sets, with their published sizes.
struct RealCase {
  const char* task;
  const char* split;
  size_t rows;
};

/// Hashes a record's text, pair and label as parity/data_goldens.py does.
uint64_t fnv1a(const Record& record, uint64_t hash) {
  const std::string joined =
      record.text + "\x1f" + record.pair.value_or("") + "\x1f" + record.label.value_or("") + "\x1e";
  for (const char byte : joined) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

/// What Python's readers make of the split.
std::string python_hash(const std::string& task, const std::string& split) {
  const std::string file = HONE_TEST_DIR "/task_goldens.json";
  for (const Json& golden : parse_json(read_file(file), file)) {
    if (golden["task"] == task && golden["split"] == split) return golden["hash"];
  }
  return "no golden";
}

class RealData : public testing::TestWithParam<RealCase> {};

TEST_P(RealData, HasItsPublishedSizeAndReadsAsInPython) {
  const char* variable = std::getenv("HONE_DATA");
  const std::string folder = variable ? variable : HONE_TEST_DIR "/../../../shared/data";
  if (!folder_exists(folder)) GTEST_SKIP() << "no data sets in " << folder << " (HONE_DATA)";
  const Task& task = *find_task(GetParam().task);
  const auto stream = open_task(task, folder, GetParam().split);
  const LabelMap labels(task.labels, task.labels);
  std::vector<size_t> counts(task.labels.size());
  size_t rows = 0;
  uint64_t hash = 0xcbf29ce484222325;
  for (Record record; stream->next(record); ++rows) {
    ASSERT_FALSE(record.text.empty()) << stream->where(record);
    ASSERT_TRUE(is_valid_utf8(record.text)) << stream->where(record);
    ASSERT_EQ(record.pair.has_value(), task.pairs()) << stream->where(record);
    hash = fnv1a(record, hash);
    if (task.regression()) {
      const double score = score_of(record, *stream);
      ASSERT_TRUE(score >= 0 && score <= 5) << stream->where(record);
    } else {
      ++counts[static_cast<size_t>(labels.id(record, *stream))];
    }
  }
  EXPECT_EQ(rows, GetParam().rows);
  EXPECT_EQ(fmt::format("{:016x}", hash), python_hash(task.name, GetParam().split));
  // TREC's 500 test questions miss a few of the fine classes.
  if (GetParam().rows > 500) {
    for (size_t i = 0; i < counts.size(); ++i) EXPECT_GT(counts[i], 0u) << task.labels[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RealData,
    testing::Values(RealCase{"sst2", "train", 67349}, RealCase{"sst2", "validation", 872},
                    RealCase{"cola", "train", 8551}, RealCase{"cola", "validation", 1043},
                    RealCase{"rte", "train", 2490}, RealCase{"rte", "validation", 277},
                    RealCase{"mrpc", "train", 3668}, RealCase{"mrpc", "validation", 408},
                    RealCase{"stsb", "train", 5749}, RealCase{"stsb", "validation", 1500},
                    RealCase{"qnli", "validation", 5463}, RealCase{"sst5", "train", 8544},
                    RealCase{"sst5", "validation", 1101}, RealCase{"trec6", "train", 5452},
                    RealCase{"trec6", "test", 500}, RealCase{"trec50", "train", 5452},
                    RealCase{"trec50", "test", 500}, RealCase{"subj", "train", 9000},
                    RealCase{"subj", "validation", 1000}, RealCase{"imdb", "train", 25000},
                    RealCase{"imdb", "test", 25000}),
    [](const auto& test) { return std::string(test.param.task) + "_" + test.param.split; });

}  // namespace
}  // namespace hone::data
