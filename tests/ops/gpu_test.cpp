// The table of ops on a GPU, forward and backward, in every dtype that it has, against the
// processor's results in double for the same bits.
#include <cstring>

#include "device/cuda.h"
#include "kernels/cuda/api.h"
#include "ops/gradient_check.h"

namespace hone::ops {
namespace {

/// Gives the share of the largest value that rounding a few intermediate values leaves.
double tolerance_of(DType dtype) {
  return dtype == DType::f32 ? 2e-5 : dtype == DType::bf16 ? 4e-2 : 6e-3;
}

void round_to(std::vector<double>& values, DType dtype) {
  for (double& value : values) {
    const auto narrow = static_cast<float>(value);
    value = dtype == DType::bf16  ? to_float(to_bf16(narrow))
            : dtype == DType::f16 ? half_to_float(float_to_half(narrow))
                                  : narrow;
  }
}

GradientCase rounded(GradientCase c, DType dtype) {
  for (CheckedInput& input : c.inputs) {
    if (input.is_checked()) round_to(input.values, dtype);
  }
  for (CheckedWeight& weight : c.weights) round_to(weight.values, dtype);
  return c;
}

std::vector<std::byte> bytes_in(const std::vector<double>& values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * dtype_size(dtype));
  if (dtype == DType::f64) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    const uint16_t half = dtype == DType::bf16 ? to_bf16(value).bits : float_to_half(value);
    const void* from = dtype == DType::f32 ? static_cast<const void*>(&value) : &half;
    std::memcpy(bytes.data() + i * dtype_size(dtype), from, dtype_size(dtype));
  }
  return bytes;
}

std::vector<double> values_in(const void* data, DType dtype, size_t count) {
  std::vector<double> out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = dtype == DType::f64    ? static_cast<const double*>(data)[i]
             : dtype == DType::f32  ? static_cast<const float*>(data)[i]
             : dtype == DType::bf16 ? to_float(static_cast<const bf16*>(data)[i])
                                    : half_to_float(static_cast<const uint16_t*>(data)[i]);
  }
  return out;
}

class GpuOps : public testing::TestWithParam<GradientCase> {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
    use_cuda_device(0);
  }

  static CudaBuffer sent(const std::vector<std::byte>& bytes) {
    CudaBuffer buffer(std::max<size_t>(1, bytes.size()));
    cuda_stream().copy(buffer.data(), bytes.data(), bytes.size());
    cuda_stream().synchronize();
    return buffer;
  }

  /// Runs a case in `dtype` twice, step by step and as a graph, and gives what the second did.
  static OpResult run(const GradientCase& c, DType dtype, const std::vector<double>& seed) {
    Plan plan;
    plan.set_device(DeviceKind::cuda);
    plan.set_axes(bucket_axes());
    Tape tape(plan, c.trainable());
    std::vector<Value> inputs;
    for (const CheckedInput& input : c.inputs) {
      inputs.push_back(plan.input(input.dtype(dtype), input.rows, input.width, input.filler));
      if (input.is_checked()) tape.on_backward(inputs.back(), [] {});
    }
    std::vector<Weight> weights;
    std::vector<CudaBuffer> held;
    std::vector<const void*> masters, shadows;
    std::vector<void*> gradients;
    for (const CheckedWeight& weight : c.weights) {
      const auto slot = static_cast<int32_t>(weights.size());
      weights.push_back({slot, DType::f32, weight.rows, weight.width});
      masters.push_back(held.emplace_back(sent(bytes_in(weight.values, DType::f32))).data());
      shadows.push_back(held.emplace_back(sent(bytes_in(weight.values, dtype))).data());
      const std::vector<double> zeros(weight.values.size());
      void* gradient = held.emplace_back(sent(bytes_in(zeros, DType::f32))).data();
      gradients.push_back(c.trainable()[static_cast<size_t>(slot)] ? gradient : nullptr);
    }
    const Value output = c.record(tape, inputs, weights, {Isa::none, dtype});
    const Value dy = plan.input(output.dtype, output.rows, output.width);
    plan.keep(output);
    tape.set_gradient(output, dy);
    tape.backward();
    for (const Value& input : inputs) {
      if (const auto gradient = tape.gradient(input)) plan.keep(*gradient);
    }
    ThreadPool pool(1);
    Runner runner(plan, WeightArrays(masters, shadows), pool, {.gradients = {gradients}});
    for (int turn = 0; turn < 2; ++turn) {
      for (size_t i = 0; i < gradients.size(); ++i) {
        const size_t bytes = c.weights[i].values.size() * sizeof(float);
        if (gradients[i]) cuda_stream().fill(gradients[i], 0, bytes);
      }
      runner.resize(c.extents);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const CheckedInput& input = c.inputs[i];
        if (!input.indices.empty()) {
          runner.bind(inputs[i], input.indices.data());
        } else if (!input.numbers.empty()) {
          runner.bind(inputs[i], input.numbers.data());
        } else {
          runner.bind(inputs[i], bytes_in(input.values, inputs[i].dtype).data());
        }
      }
      runner.bind(dy, bytes_in(seed, output.dtype).data());
      runner.run();
    }
    OpResult result;
    result.output = values_in(runner.output<void>(output), output.dtype, seed.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      result.inputs.emplace_back();
      const auto gradient = tape.gradient(inputs[i]);
      if (!gradient || c.inputs[i].values.empty()) continue;
      result.inputs.back() =
          values_in(runner.output<void>(*gradient), gradient->dtype, c.inputs[i].values.size());
    }
    for (size_t i = 0; i < gradients.size(); ++i) {
      result.weights.emplace_back();
      if (!gradients[i]) continue;
      std::vector<float> values(c.weights[i].values.size());
      cuda_stream().copy(values.data(), gradients[i], values.size() * sizeof(float));
      cuda_stream().synchronize();
      result.weights.back().assign(values.begin(), values.end());
    }
    return result;
  }

  static void expect_near(const std::vector<double>& got, const std::vector<double>& wanted,
                          double tolerance, const std::string& what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    double scale = 1e-2;  // values are around 1
    for (const double value : wanted) scale = std::max(scale, std::abs(value));
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], wanted[i], tolerance * scale) << what << " at " << i;
    }
  }
};

TEST_P(GpuOps, FollowTheProcessor) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    SCOPED_TRACE(dtype_name(dtype));
    const GradientCase c = rounded(GetParam(), dtype);
    GradientCheck cpu(c);
    std::vector<double> seed = cpu.seed();
    round_to(seed, dtype);
    cpu.set_seed(seed);
    const OpResult wanted = cpu.result();
    const OpResult got = run(c, dtype, seed);
    const double tolerance = tolerance_of(dtype);
    expect_near(got.output, wanted.output, tolerance, "the output");
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      expect_near(got.inputs[i], wanted.inputs[i], tolerance, "input " + std::to_string(i));
    }
    for (size_t i = 0; i < c.weights.size(); ++i) {
      expect_near(got.weights[i], wanted.weights[i], tolerance, "weight " + std::to_string(i));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, GpuOps, testing::ValuesIn(gradient_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hone::ops
