// Answers of sessions without a memory plan are those of sessions with one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "device/cuda.h"
#include "infer/exiting_folder.h"
#include "infer/nine_sequences.h"
#include "infer/session.h"
#include "plan/cuda_executor.h"

namespace hone::infer {
namespace {

struct UnplannedCase {
  const char* model;
  DType dtype;
  models::Output output = models::Output::logits;
};

SessionOptions options_of(const UnplannedCase& from, bool planned) {
  SessionOptions options;
  options.dtype = from.dtype;
  options.threads = 2;
  options.output = from.output;
  options.planned = planned;
  return options;
}

std::vector<float> forward_rows(Session& session) {
  const models::TextBatch batch = nine_sequences(session.config());
  const float* rows = session.forward(batch);
  return {rows, rows + batch.sequences() * session.output_width()};
}

class UnplannedSession : public testing::TestWithParam<UnplannedCase> {};

TEST_P(UnplannedSession, HasTheSameBitsInMoreMemory) {
  Session with(kModels + GetParam().model, options_of(GetParam(), true));
  Session without(kModels + GetParam().model, options_of(GetParam(), false));
  EXPECT_EQ(forward_rows(without), forward_rows(with));
  EXPECT_GT(without.runner().arena_bytes(), with.runner().arena_bytes());
}

TEST_P(UnplannedSession, HasTheSameBitsWhereWeightsComeAndGo) {
  Session whole(kModels + GetParam().model, options_of(GetParam(), true));
  const std::vector<float> wanted = forward_rows(whole);
  const Extents extents = nine_sequences(whole.config()).extents();
  size_t planned_bytes = 0;
  for (const bool planned : {true, false}) {
    SessionOptions options = options_of(GetParam(), planned);
    options.memory_budget = uint64_t{4} << 30;
    Session streamed(kModels + GetParam().model, options);
    EXPECT_EQ(forward_rows(streamed), wanted) << planned;

    models::LoadReport report;
    StreamedWeights weights(
        whole.model(), whole.pass(),
        checkpoint_source(whole.model(), io::Weights::open(whole.folder().path), nullptr, report),
        whole.pool());
    const LayerwiseForward layerwise(whole.model(), {.output = GetParam().output}, weights,
                                     whole.pool(), planned);
    if (planned) planned_bytes = layerwise.bytes_for(extents);
    EXPECT_EQ(layerwise.bytes_for(extents) > planned_bytes, !planned);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, UnplannedSession,
                         testing::Values(UnplannedCase{"bert-words", DType::f32},
                                         UnplannedCase{"bert-words", DType::bf16},
                                         UnplannedCase{"bert-words", DType::i8},
                                         UnplannedCase{"roberta-regression", DType::f32},
                                         UnplannedCase{"albert-groups", DType::i8},
                                         UnplannedCase{"sentence-bert-mean", DType::f32,
                                                       models::Output::embedding}),
                         [](const auto& test) {
                           std::string text = test.param.model;
                           std::replace(text.begin(), text.end(), '-', '_');
                           return text + "_" + std::string(dtype_name(test.param.dtype));
                         });

/// A folder of six layers with exits, gone at the end.
class ExitFolder {
 public:
  explicit ExitFolder(const std::string& method)
      : path_(testing::TempDir() + "unplanned_exits_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(path_);
    write_exiting_folder("bert-words", method, {{"num_hidden_layers", 6}}, path_);
  }
  ~ExitFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(UnplannedExits, LeaveWhereThePlannedOnesDoWithTheSameBits) {
  for (const char* method : {"pabee", "deebert"}) {
    SCOPED_TRACE(method);
    const ExitFolder folder(method);
    Session with(folder.path(), {.threads = 2});
    Session without(folder.path(), {.threads = 2, .planned = false});
    const models::TextBatch batch = nine_sequences(with.config());
    const std::vector<ExitAnswer> wanted = with.exits()->run(batch);
    const std::vector<ExitAnswer> answers = without.exits()->run(batch);
    ASSERT_EQ(answers.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(answers[i].logits, wanted[i].logits) << i;
      EXPECT_EQ(answers[i].layers, wanted[i].layers) << i;
    }
    EXPECT_GT(without.exits()->layerwise().arena_bytes(), with.exits()->layerwise().arena_bytes());
  }
}

TEST(UnplannedSession, FollowsThePlannedOneOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  for (const char* model : {"bert-words", "roberta-regression", "albert-groups"}) {
    SCOPED_TRACE(model);
    SessionOptions options;
    options.device = "cuda";
    Session with(kModels + model, options);
    options.planned = false;
    Session without(kModels + model, options);
    for (int turn = 0; turn < 3; ++turn) {
      const std::vector<float> wanted = forward_rows(with);
      const std::vector<float> rows = forward_rows(without);
      ASSERT_EQ(rows.size(), wanted.size());
      for (size_t i = 0; i < rows.size(); ++i) {
        ASSERT_NEAR(rows[i], wanted[i], 1e-5f * std::max(1.f, std::abs(wanted[i]))) << i;
      }
    }
    EXPECT_GT(with.runner().cuda()->counts().replays, 0);
    EXPECT_EQ(without.runner().cuda()->counts().replays, 0);
  }
}

}  // namespace
}  // namespace hone::infer
