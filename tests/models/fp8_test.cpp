#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "device/cuda.h"
#include "kernels/cuda/api.h"
#include "models/batch.h"
#include "models/encoder.h"
#include "models/init.h"

namespace hone::models {
namespace {

/// A golden's family with layers that fp8 takes.
EncoderConfig config_of(const std::string& golden, int64_t hidden, int64_t intermediate) {
  const std::string file = std::string(HONE_TEST_DIR "/goldens/") + golden + "/config.json";
  Json json = parse_json(read_file(file), file);
  const bool distilbert = golden.starts_with("distilbert");
  json[distilbert ? "dim" : "hidden_size"] = hidden;
  json[distilbert ? "hidden_dim" : "intermediate_size"] = intermediate;
  json[distilbert ? "n_heads" : "num_attention_heads"] = 4;
  return read_config(json, file);
}

/// Gives the last layer's rows of first tokens, which its norm has given their size.
std::vector<float> rows_of(Encoder& encoder, const TextBatch& batch, ThreadPool& pool) {
  const Pass forward = encoder.record({.output = Output::embedding, .pooling = ops::Pooling::cls});
  Runner runner(forward.plan, encoder.weights_for(forward.shadows), pool);
  encoder.parameters().refresh(pool);
  runner.resize(batch.extents());
  forward.bind(batch, runner);
  runner.run();
  const float* values = runner.output<float>(forward.output);
  return {values, values + batch.sequences() * forward.output.width};
}

TextBatch batch_of(const EncoderConfig& config, const std::vector<int32_t>& lengths) {
  TextBatch batch(config);
  for (const int32_t length : lengths) {
    std::vector<int32_t> ids(static_cast<size_t>(length));
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<int32_t>(3 + (7 * i + ids.size()) % 12);
    batch.add(ids);
  }
  return batch;
}

/// Gives how far b is from a, as a share of a.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    size += a[i] * a[i];
  }
  return std::sqrt(error / size);
}

class Fp8 : public testing::TestWithParam<const char*> {};

TEST_P(Fp8, RowsFollowFp32OnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  if (const char* missing = kernels::cuda::kernel_api().fp8_products()) {
    GTEST_SKIP() << "no fp8: " << missing;
  }
  const EncoderConfig config = config_of(GetParam(), 64, 144);
  ThreadPool pool(2);
  Encoder exact(config, DType::f32, Target::cuda(), true),
      narrow(config, DType::f8, Target::cuda(), true);
  init_random(exact, 5, 0.2f, pool);
  init_random(narrow, 5, 0.2f, pool);
  const std::vector<int32_t> lengths = {5, 1, 7, 3, 7, 2};
  const std::vector<float> wanted = rows_of(exact, batch_of(config, lengths), pool);
  const std::vector<float> got = rows_of(narrow, batch_of(config, lengths), pool);
  const double off = distance(wanted, got);
  EXPECT_LT(off, 0.3);    // six untrained layers of 64 reach most
  EXPECT_GT(off, 0.002);  // bf16 would be nearer
  const size_t width = got.size() / lengths.size();
  for (size_t i = 0; i < lengths.size(); ++i) {
    const std::vector<float> alone = rows_of(narrow, batch_of(config, {lengths[i]}), pool);
    const auto row = got.begin() + static_cast<int64_t>(i * width);
    EXPECT_LT(distance(alone, {row, row + static_cast<int64_t>(width)}), 0.02) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Fp8,
                         testing::Values("bert-words", "roberta-offset", "distilbert-learned",
                                         "albert-groups", "xlm-roberta-multi-label"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Fp8Layers, SayWhatTheyDoNotTake) {
  const auto error_of = [](int64_t hidden, int64_t intermediate,
                           const Target& target) -> std::string {
    try {
      const Encoder encoder(config_of("bert-words", hidden, intermediate), DType::f8, target, true);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(64, 144, chosen_isa()), "dtype: 'fp8' has kernels on a GPU alone; use int8");
  EXPECT_NE(error_of(64, 150, Target::cuda()).find("not of 150"), std::string::npos);
  EXPECT_NE(error_of(64, 8208, Target::cuda()).find("not of 8208"), std::string::npos);
  EXPECT_EQ(error_of(64, 8192, Target::cuda()), "");
}

}  // namespace
}  // namespace hone::models
