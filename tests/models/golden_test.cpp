// Every family and option against PyTorch: the folders in goldens/ and their expected values are
// made by tests/parity/models_goldens.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "device/cuda.h"
#include "io/weights.h"
#include "models/batch.h"
#include "models/encoder.h"
#include "models/golden.h"
#include "models/load.h"

namespace hone::models {
namespace {

/// All samples of a golden in one batch, in the given order; one row of output a sample.
std::vector<std::vector<float>> run(Encoder& encoder, const std::vector<Sample>& samples,
                                    const std::vector<size_t>& order, const OutputOptions& options,
                                    ThreadPool& pool) {
  const Pass forward = encoder.record(options);
  Runner runner(forward.plan, encoder.weights_for(forward.shadows), pool);
  encoder.parameters().refresh(pool);
  TextBatch batch(encoder.config());
  for (const size_t i : order) batch.add(samples[i].ids, samples[i].types);
  runner.resize(batch.extents());
  forward.bind(batch, runner);
  runner.run();
  const float* values = runner.output<float>(forward.output);
  std::vector<std::vector<float>> rows(samples.size());
  for (const size_t i : order) {
    const auto width = static_cast<size_t>(forward.output.width);
    const size_t count = options.output == Output::hidden ? samples[i].ids.size() * width : width;
    rows[i].assign(values, values + count);
    values += count;
  }
  return rows;
}

std::vector<float> flat(const Json& json) {
  std::vector<float> values;
  for (const Json& item : json) {
    if (item.is_array()) {
      for (const Json& inner : item) values.push_back(inner.get<float>());
    } else {
      values.push_back(item.get<float>());
    }
  }
  return values;
}

void expect_near(const std::vector<float>& got, const Json& expected, float tolerance,
                 const std::string& what) {
  const std::vector<float> wanted = flat(expected);
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], tolerance * std::max(1.f, std::abs(wanted[i])))
        << what << " at " << i;
  }
}

std::vector<size_t> in_order(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

class Goldens : public testing::TestWithParam<std::string> {};

void expect_goldens(const Golden& golden, const Target& target, float tolerance) {
  const auto weights = io::Weights::open(golden.folder);
  const bool head = has_head_weights(family_of(golden.config), *weights);
  const std::string device(target == Target::cuda() ? "gpu" : isa_name(target.isa));
  ThreadPool pool(2);
  Encoder encoder(golden.config, DType::f32, target, head);
  load_weights(encoder, *weights, pool);
  const auto order = in_order(golden.samples.size());
  const auto mean = run(encoder, golden.samples, order,
                        {.output = Output::embedding, .pooling = ops::Pooling::mean}, pool);
  const auto first = run(encoder, golden.samples, order,
                         {.output = Output::embedding, .pooling = ops::Pooling::cls}, pool);
  const auto hidden = run(encoder, golden.samples, order, {.output = Output::hidden}, pool);
  std::vector<std::vector<float>> logits;
  if (head) logits = run(encoder, golden.samples, order, {}, pool);
  for (const size_t i : order) {
    const Json& expected = golden.samples[i].expected;
    const std::string what = device + " input " + std::to_string(i);
    expect_near(mean[i], expected.at("mean"), tolerance, what + " mean");
    expect_near(first[i], expected.at("first"), tolerance, what + " first");
    if (head) expect_near(logits[i], expected.at("logits"), tolerance, what + " logits");
  }
  const Json& rows = golden.json.at("hidden");
  expect_near(hidden[rows.at("input").get<size_t>()], rows.at("rows"), tolerance,
              device + " hidden");
}

TEST_P(Goldens, AgreeWithPyTorchOnEveryInstructionSet) {
  const Golden golden(GetParam());
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    expect_goldens(golden, isa, 1e-5f);
  }
}

TEST_P(Goldens, AgreeWithPyTorchOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  expect_goldens(Golden(GetParam()), Target::cuda(), 3e-5f);
}

TEST_P(Goldens, AnswersDoNotDependOnTheBatch) {
  const Golden golden(GetParam());
  const auto weights = io::Weights::open(golden.folder);
  const bool head = has_head_weights(family_of(golden.config), *weights);
  const OutputOptions options{.output = head ? Output::logits : Output::embedding};
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    for (const DType dtype : {DType::f32, DType::bf16, DType::i8}) {
      ThreadPool pool(2);
      Encoder encoder(golden.config, dtype, isa, head);
      load_weights(encoder, *weights, pool);
      auto order = in_order(golden.samples.size());
      const auto together = run(encoder, golden.samples, order, options, pool);
      std::mt19937 random(7);
      std::shuffle(order.begin(), order.end(), random);
      EXPECT_EQ(run(encoder, golden.samples, order, options, pool), together);
      for (const size_t i : order) {
        EXPECT_EQ(run(encoder, golden.samples, {i}, options, pool)[i], together[i])
            << isa_name(isa) << " " << dtype_name(dtype) << " input " << i;
      }
    }
  }
}

TEST_P(Goldens, LowPrecisionFollowsFp32) {
  const Golden golden(GetParam());
  const auto weights = io::Weights::open(golden.folder);
  ThreadPool pool(2);
  const OutputOptions options{.output = Output::embedding, .pooling = ops::Pooling::cls};
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    Encoder exact(golden.config, DType::f32, isa, false);
    load_weights(exact, *weights, pool);
    const auto order = in_order(golden.samples.size());
    const auto a = run(exact, golden.samples, order, options, pool);
    for (const DType dtype : {DType::bf16, DType::i8}) {
      Encoder rounded(golden.config, dtype, isa, false);
      load_weights(rounded, *weights, pool);
      const auto b = run(rounded, golden.samples, order, options, pool);
      double error = 0;
      double size = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        for (size_t j = 0; j < a[i].size(); ++j) {
          error += (a[i][j] - b[i][j]) * (a[i][j] - b[i][j]);
          size += a[i][j] * a[i][j];
        }
      }
      // Eight bits through a few layers of deliberately large weights.
      EXPECT_LT(std::sqrt(error / size), 0.05) << isa_name(isa) << " " << dtype_name(dtype);
      EXPECT_GT(error, 0) << dtype_name(dtype) << " gave fp32's bits: did it run?";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, Goldens, testing::ValuesIn(golden_folders()), golden_name);

}  // namespace
}  // namespace hone::models
