#include "kernels/cuda/optimizer.h"

#include "kernels/cpu/adamw.h"
#include "kernels/cpu/grad_norm.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

constexpr int64_t kCount = 100003;
const std::vector<OptimizerRange> kRanges = {{0, 1, true},
                                             {1, 8, false},
                                             {8, 40000, true, 0.5f},
                                             {40001, 40001, true},
                                             {40004, 100003, false}};  // 40000 to 40003 are frozen

/// Parameters and state of AdamW on the device.
struct Trained {
  Trained(CudaStream& stream_, DType dtype_)
      : stream(stream_),
        dtype(dtype_),
        pieces(optimizer_pieces(kRanges)),
        gpu_pieces(stream_, pieces),
        state(stream_, {{0.01, 0.9, 0.98, 1e-6, 0.1, 2.0, 1024.0, 0, -1.0, -1}}),
        parameters(stream_, DType::f32, random_floats(kCount, 1, DType::f32)),
        gradients(stream_, DType::f32, kCount),
        m(stream_, DType::f32, std::vector<float>(kCount, 0.0f)),
        v(stream_, DType::f32, std::vector<float>(kCount, 0.0f)),
        copy(stream_, dtype_, std::vector<float>(kCount, 3.0f)),
        workspace(stream_,
                  std::vector<char>(kernel_api().adamw_workspace(int64_t(pieces.size())))) {}
  void launch() {
    OptimizerArrays arrays{
        parameters.floats(), gradients.floats(), m.floats(), v.floats(), copy.data(), dtype, true};
    cuda_check(kernel_api().adamw(arrays, gpu_pieces.data(), int64_t(pieces.size()), state.data(),
                                  workspace.data(), stream.handle()),
               "adamw");
  }
  CudaStream& stream;
  DType dtype;
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

class CudaOptimizer : public GpuTest {};

TEST_F(CudaOptimizer, StepsOfTheCpu) {
  std::vector<kernels::ParameterRange> ranges;
  for (const OptimizerRange& r : kRanges) ranges.push_back({r.begin, r.end, r.decay, r.lr_scale});
  ThreadPool pool(1);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Trained gpu(stream(), dtype);
    std::vector<float> p = random_floats(kCount, 1, DType::f32), m(kCount), v(kCount);
    for (uint32_t step = 1; step <= 4; ++step) {
      std::vector<float> g = scaled_gradients(step);
      gpu.gradients.set(g);
      gpu.launch();
      double squares = 0;
      for (const float value : g) squares += double{value} * value;
      const double norm = std::sqrt(squares) / 1024.0;
      const double clip = kernels::clip_coefficient(norm, 2.0);
      kernels::adamw({0.01, 0.9, 0.98, 1e-6, 0.1, step}, {ranges.data(), int64_t(ranges.size())},
                     {float(clip / 1024.0), true}, {p.data(), g.data(), m.data(), v.data()}, pool);
      const OptimizerState report = gpu.state.get()[0];
      EXPECT_NEAR(report.grad_norm, norm, 1e-6 * norm);
      EXPECT_EQ(report.step, int64_t{step});
      EXPECT_EQ(report.skipped, 0);
      const auto actual = gpu.parameters.get(), copy = gpu.copy.get();
      for (int64_t i = 0; i < kCount; ++i) ASSERT_NEAR(actual[i], p[i], 2e-6) << "at " << i;
      for (int64_t i = 0; i < kCount; ++i) {
        const bool frozen = i >= 40000 && i < 40004;
        ASSERT_EQ(copy[i], frozen ? 3.0f : rounded(actual[i], dtype)) << "at " << i;
      }
      for (const float value : gpu.gradients.get()) ASSERT_EQ(value, 0.0f);
    }
  }
}

TEST_F(CudaOptimizer, SkipsWhatIsNotFinite) {
  Trained gpu(stream(), DType::bf16);
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

TEST_F(CudaOptimizer, ReplayEqualsEagerSteps) {
  Trained eager(stream(), DType::bf16), replayed(stream(), DType::bf16);
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

}  // namespace
}  // namespace hone::kernels::cuda
