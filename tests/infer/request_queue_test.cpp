// Jobs whose values go into one array, and jobs that nobody waits for any more.
#include "infer/request_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "infer/answered_records.h"

namespace hone::infer {
namespace {

const std::string kQueued = HONE_TEST_DIR "/../models/goldens/sentence-bert-mean";

struct RowsCase {
  const char* name;
  uint64_t memory_budget;
};

class RequestedRows : public testing::TestWithParam<RowsCase> {};

TEST_P(RequestedRows, HoldWhatTheAnswersWouldHave) {
  constexpr size_t kTexts = 120;
  SessionOptions options;
  options.output = models::Output::embedding;
  options.threads = 2;
  options.memory_budget = GetParam().memory_budget;
  RequestQueue queue(kQueued, options, nullptr);
  std::vector<std::string> texts;
  for (size_t i = 0; i < kTexts; ++i) texts.push_back(varied_text(static_cast<int64_t>(i)));
  std::vector<Input> inputs;
  for (const std::string& text : texts) inputs.push_back({text, std::nullopt});
  const std::vector<Answer> expected = queue.ask(inputs).get();
  const auto width = static_cast<size_t>(queue.session().output_width());
  std::vector<float> rows(kTexts * width, std::numeric_limits<float>::quiet_NaN());
  const std::vector<Answer> answers =
      queue.submit({.inputs = inputs, .texts = nullptr, .rows = rows.data()}).get();
  ASSERT_EQ(answers.size(), kTexts);
  for (size_t i = 0; i < kTexts; ++i) {
    ASSERT_EQ(expected[i].values.size(), width);
    EXPECT_TRUE(std::ranges::equal(expected[i].values, std::span(rows).subspan(i * width, width)))
        << i;
    EXPECT_TRUE(answers[i].values.empty());
    EXPECT_EQ(answers[i].tokens, expected[i].tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, RequestedRows,
                         testing::Values(RowsCase{"free", 0}, RowsCase{"bounded", 4'000'000'000}),
                         [](const auto& tested) { return tested.param.name; });

TEST(RequestedJob, EndsAJobThatWasAbandoned) {
  SessionOptions options;
  options.output = models::Output::embedding;
  options.threads = 1;
  RequestQueue queue(kQueued, options, nullptr);
  const std::string text = varied_text(5);
  std::atomic<bool> gone = false;
  Job job{.inputs = std::vector<Input>(200'000, Input{text, std::nullopt})};
  job.abandoned = [&] { return gone.load(); };
  std::future<std::vector<Answer>> answers = queue.submit(std::move(job));
  gone = true;
  EXPECT_THROW(answers.get(), JobAbandoned);
  EXPECT_EQ(queue.ask({{text, std::nullopt}}).get().size(), 1u);  // others are answered
}

}  // namespace
}  // namespace hone::infer
