#include "kernels/cuda/optimizer.h"

#include "kernels/cpu/adamw.h"
#include "kernels/cpu/grad_norm.h"
#include "kernels/cpu/sgd.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

constexpr int64_t kCount = 100003;
const std::vector<OptimizerRange> kRanges = {
    {0, 1, true},
    {1, 8, false},
    {8, 40000, true, 0.5f},
    {40001, 40001, true},
    {40004, 100003, false, 1.0f, false}};  // 40000 to 40003 are frozen

enum class Rule { adamw, sgd, sgd_without_momentum };

OptimizerState settings(Rule rule, double max_grad_norm, double loss_scale) {
  const double momentum = rule == Rule::sgd ? 0.9 : 0.0;
  return {0.01, 0.9, 0.98, 1e-6, 0.1, max_grad_norm, loss_scale, momentum, 0, 0, -1.0, -1};
}

/// Runs the rule's kernel; what it does not keep is not handed to it.
Status launch_rule(Rule rule, OptimizerArrays arrays, const DeviceVector<OptimizerPiece>& pieces,
                   int64_t count, OptimizerState* state, void* workspace, Stream stream) {
  if (rule == Rule::sgd_without_momentum) arrays.m = nullptr;
  if (rule != Rule::adamw) arrays.v = nullptr;
  const auto kernel = rule == Rule::adamw ? kernel_api().adamw : kernel_api().sgd;
  return kernel(arrays, pieces.data(), count, state, workspace, stream);
}

/// Parameters and state on the device.
struct Trained {
  Trained(CudaStream& stream_, DType dtype_, Rule rule_)
      : stream(stream_),
        dtype(dtype_),
        rule(rule_),
        pieces(optimizer_pieces(kRanges)),
        gpu_pieces(stream_, pieces),
        state(stream_, {settings(rule_, 2.0, 1024.0)}),
        parameters(stream_, DType::f32, random_floats(kCount, 1, DType::f32)),
        gradients(stream_, DType::f32, kCount),
        m(stream_, DType::f32, std::vector<float>(kCount, 0.0f)),
        v(stream_, DType::f32, std::vector<float>(kCount, 0.0f)),
        copy(stream_, dtype_, std::vector<float>(kCount, 3.0f)),
        workspace(stream_,
                  std::vector<char>(kernel_api().optimizer_workspace(int64_t(pieces.size())))) {}
  void launch() {
    OptimizerArrays arrays{parameters.floats(), gradients.floats(), m.floats(),
                           v.floats(),          copy.data(),        dtype};
    cuda_check(launch_rule(rule, arrays, gpu_pieces, int64_t(pieces.size()), state.data(),
                           workspace.data(), stream.handle()),
               "an optimiser");
  }
  CudaStream& stream;
  DType dtype;
  Rule rule;
  std::vector<OptimizerPiece> pieces;
  DeviceVector<OptimizerPiece> gpu_pieces;
  DeviceVector<OptimizerState> state;
  DeviceArray parameters, gradients, m, v, copy;
  DeviceVector<char> workspace;
};

std::vector<float> scaled_gradients(uint32_t step) {
  auto values = random_floats(kCount, 100 + step, DType::f32, 0.1f);
  for (int64_t i = 40000; i < 40004; ++i) values[i] = 0.0f;
  for (float& value : values) value *= 1024.0f;
  return values;
}

/// The processor's state, and a step of it.
struct Reference {
  void step(Rule rule, int64_t number, float scale, std::vector<float>& g) {
    std::vector<kernels::ParameterRange> ranges;
    for (const OptimizerRange& r : kRanges) ranges.push_back({r.begin, r.end, r.decay, r.lr_scale});
    const kernels::ParameterRanges all{ranges.data(), int64_t(ranges.size())};
    if (rule == Rule::adamw) {
      kernels::adamw({0.01, 0.9, 0.98, 1e-6, 0.1, number}, all, {scale, true},
                     {p.data(), g.data(), m.data(), v.data()}, pool);
    } else {
      const bool momentum = rule == Rule::sgd;
      kernels::sgd({0.01, momentum ? 0.9 : 0.0, 0.1}, all, {scale, true},
                   {p.data(), g.data(), momentum ? m.data() : nullptr}, pool);
    }
  }
  ThreadPool pool{1};
  std::vector<float> p = random_floats(kCount, 1, DType::f32);
  std::vector<float> m = std::vector<float>(kCount), v = m;
};

class CudaOptimizer : public GpuTest, public testing::WithParamInterface<Rule> {};

TEST_P(CudaOptimizer, StepsOfTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Trained gpu(stream(), dtype, GetParam());
    Reference cpu;
    for (uint32_t step = 1; step <= 4; ++step) {
      std::vector<float> g = scaled_gradients(step);
      gpu.gradients.set(g);
      gpu.launch();
      double squares = 0;
      for (const float value : g) squares += double{value} * value;
      const double norm = std::sqrt(squares) / 1024.0;
      const double clip = kernels::clip_coefficient(norm, 2.0);
      cpu.step(GetParam(), step, float(clip / 1024.0), g);
      const OptimizerState report = gpu.state.get()[0];
      EXPECT_NEAR(report.grad_norm, norm, 1e-6 * norm);
      EXPECT_EQ(report.step, int64_t{step});
      EXPECT_EQ(report.skipped, 0);
      const auto actual = gpu.parameters.get(), copy = gpu.copy.get();
      for (int64_t i = 0; i < kCount; ++i) ASSERT_NEAR(actual[i], cpu.p[i], 2e-6) << "at " << i;
      const auto m = gpu.m.get();
      for (int64_t i = 0; i < kCount; ++i) ASSERT_NEAR(m[i], cpu.m[i], 2e-6) << "at " << i;
      for (int64_t i = 0; i < kCount; ++i) {
        const bool frozen = i >= 40000 && i < 40004;
        ASSERT_EQ(copy[i], frozen ? 3.0f : rounded(actual[i], dtype)) << "at " << i;
      }
      const auto left = gpu.gradients.get();
      for (int64_t i = 0; i < 40004; ++i) ASSERT_EQ(left[i], 0.0f) << "at " << i;
      ASSERT_NE(left[40004], 0.0f);
    }
  }
}

/// A table of which few rows are marked is trained as one that is read in full.
TEST_P(CudaOptimizer, RowsThatAreNotTouchedHaveNoGradient) {
  const int64_t width = 96, rows = 700, count = rows * width;
  std::vector<uint8_t> marks(rows, 0);
  std::vector<float> g(count, 0.0f);
  const auto values = random_floats(count, 9, DType::f32);
  for (const int64_t row : {0, 3, 169, 170, 171, 699}) {
    marks[row] = 1;
    std::copy_n(values.begin() + row * width, width, g.begin() + row * width);
  }
  DeviceVector<uint8_t> touched(stream(), marks);
  std::vector<std::vector<char>> results;
  for (uint8_t* flags : {static_cast<uint8_t*>(nullptr), touched.data()}) {
    const auto pieces = optimizer_pieces({{0, count, true, 1.0f, true, width, flags}});
    DeviceVector<OptimizerPiece> gpu_pieces(stream(), pieces);
    DeviceVector<OptimizerState> state(stream(), {settings(GetParam(), 1.0, 1.0)});
    const std::vector<float> half(count, 0.5f);
    DeviceArray p(stream(), DType::f32, half), m(stream(), DType::f32, half);
    DeviceArray v(stream(), DType::f32, half), gradients(stream(), DType::f32, g);
    const auto size = int64_t(pieces.size());
    DeviceVector<char> workspace(stream(), std::vector<char>(api().optimizer_workspace(size)));
    check(launch_rule(GetParam(), {p.floats(), gradients.floats(), m.floats(), v.floats()},
                      gpu_pieces, size, state.data(), workspace.data(), handle()));
    results.push_back(p.bytes());
    for (const float value : gradients.get()) ASSERT_EQ(value, 0.0f);
  }
  EXPECT_EQ(results[0], results[1]);
  for (const uint8_t mark : touched.get()) EXPECT_EQ(mark, 0);
}

TEST_P(CudaOptimizer, SkipsWhatIsNotFinite) {
  Trained gpu(stream(), DType::bf16, GetParam());
  const auto before = gpu.parameters.bytes();
  for (const float bad : {INFINITY, NAN}) {
    auto g = scaled_gradients(1);
    g[77] = bad;
    gpu.gradients.set(g);
    gpu.launch();
    EXPECT_EQ(gpu.state.get()[0].skipped, 1);
    EXPECT_EQ(gpu.state.get()[0].step, 0);
    EXPECT_EQ(gpu.parameters.bytes(), before);
    EXPECT_EQ(gpu.gradients.get()[77], 0.0f);
    EXPECT_EQ(gpu.gradients.get()[5], 0.0f);
  }
}

TEST_P(CudaOptimizer, ReplayEqualsEagerSteps) {
  Trained eager(stream(), DType::bf16, GetParam()), replayed(stream(), DType::bf16, GetParam());
  CudaGraph graph = stream().capture([&] { replayed.launch(); });
  for (uint32_t step = 1; step <= 3; ++step) {
    eager.gradients.set(scaled_gradients(step));
    replayed.gradients.set(scaled_gradients(step));
    eager.launch();
    graph.launch(stream());
    EXPECT_EQ(eager.parameters.bytes(), replayed.parameters.bytes());
    EXPECT_EQ(eager.copy.bytes(), replayed.copy.bytes());
    EXPECT_EQ(replayed.state.get()[0].step, int64_t{step});
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, CudaOptimizer,
                         testing::Values(Rule::adamw, Rule::sgd, Rule::sgd_without_momentum));

}  // namespace
}  // namespace hone::kernels::cuda
