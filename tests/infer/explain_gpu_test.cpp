// Explanations by a GPU, beside those by the processor.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "device/cuda.h"
#include "infer/explained_folder.h"
#include "infer/self_explainer.h"

namespace hone::infer {
namespace {

class ExplainGpu : public testing::TestWithParam<DType> {
 protected:
  ExplainGpu()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("hone-explain-gpu-" + std::to_string(::getpid()))),
        folder_(explained_folder(path_.string(), GetParam())) {}
  ~ExplainGpu() override { std::filesystem::remove_all(path_); }

  std::vector<explain::Explanation> explain_on(const char* device, DType dtype) const {
    SessionOptions session;
    session.device = device;
    session.threads = 2;
    session.dtype = dtype;
    SelfExplainer explainer(folder_, session, {.ablate = 2});
    // The second time a GPU replays what it recorded.
    explainer.explain(kTexts);
    std::vector<explain::Explanation> found = explainer.explain(kTexts);
    const std::vector<Answer> answers = explainer.session().run(inputs());
    for (size_t i = 0; i < found.size(); ++i) {
      const auto& logits = answers[i].values;
      const double most = *std::max_element(logits.begin(), logits.end());
      const auto& shares = found[i].shares;
      EXPECT_NEAR(shares->label + shares->local + shares->global, most, 1e-4);
    }
    return found;
  }

  static constexpr std::array<std::string_view, 5> kTexts = {"the film was very good", "best", "",
                                                             "the plot of the movie is very dull .",
                                                             "it was not a good film of the time"};
  static std::vector<Input> inputs() {
    std::vector<Input> made;
    for (const std::string_view text : kTexts) made.push_back({text, {}});
    return made;
  }
  std::filesystem::path path_;
  std::string folder_;
};

TEST_P(ExplainGpu, ExplainsAsTheProcessorDoes) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  const auto cpu = explain_on("cpu", DType::f32), gpu = explain_on("cuda", DType::f32);
  for (size_t i = 0; i < kTexts.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(gpu[i].tree, cpu[i].tree);
    EXPECT_EQ(gpu[i].label, cpu[i].label);
    EXPECT_NEAR(gpu[i].score, cpu[i].score, 1e-4);
    ASSERT_EQ(gpu[i].phrases.size(), cpu[i].phrases.size());
    for (size_t j = 0; j < cpu[i].phrases.size(); ++j) {
      EXPECT_EQ(gpu[i].phrases[j].text, cpu[i].phrases[j].text);
      EXPECT_NEAR(gpu[i].phrases[j].share, cpu[i].phrases[j].share, 1e-4);
      ASSERT_EQ(gpu[i].phrases[j].ablated_score.has_value(),
                cpu[i].phrases[j].ablated_score.has_value());
      if (!cpu[i].phrases[j].ablated_score) continue;
      EXPECT_NEAR(*gpu[i].phrases[j].ablated_score, *cpu[i].phrases[j].ablated_score, 1e-4);
    }
    ASSERT_EQ(gpu[i].concepts.size(), cpu[i].concepts.size());
    for (size_t j = 0; j < cpu[i].concepts.size(); ++j) {
      EXPECT_EQ(gpu[i].concepts[j].text, cpu[i].concepts[j].text);
      EXPECT_NEAR(gpu[i].concepts[j].similarity, cpu[i].concepts[j].similarity, 1e-4);
      EXPECT_NEAR(gpu[i].concepts[j].share, cpu[i].concepts[j].share, 1e-4);
    }
  }
  const auto low = explain_on("cuda", DType::bf16);
  for (size_t i = 0; i < kTexts.size(); ++i) EXPECT_NEAR(low[i].score, cpu[i].score, 3e-2);
}

INSTANTIATE_TEST_SUITE_P(Stores, ExplainGpu, testing::Values(DType::f32, DType::bf16, DType::u8),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

}  // namespace
}  // namespace hone::infer
