#include "kernels/cuda/attention.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

struct Case {
  std::vector<int32_t> k_lengths;
  std::vector<int32_t> q_lengths;
};
const std::vector<Case> kCases = {{{1}, {1}},
                                  {{32}, {32}},
                                  {{32}, {1}},
                                  {{16, 17, 31, 8}, {16, 17, 31, 8}},
                                  {{33, 64, 2, 0, 63}, {33, 64, 2, 0, 63}},
                                  {{64, 40, 0}, {1, 1, 1}},
                                  {{5, 20}, {40, 0}}};

std::vector<int32_t> offsets_of(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> offsets{0};
  for (const int32_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

class CudaAttentionFew : public GpuTest {
 protected:
  static constexpr int64_t kTail = 3;  ///< rows that belong to no sequence

  void values(const Case& c, DType dtype, int64_t heads, int64_t depth) {
    const auto q_offsets = offsets_of(c.q_lengths), k_offsets = offsets_of(c.k_lengths);
    const int64_t q_rows = q_offsets.back() + kTail, k_rows = k_offsets.back() + kTail;
    const int64_t width = heads * depth;
    const auto q = random_floats(q_rows * width, 1, dtype);
    const auto kv = random_floats(k_rows * 2 * width, 2, dtype);
    std::vector<double> expected(size_t(q_rows * width), 0.0);
    const double scale = 1.0 / std::sqrt(double(depth));
    for (size_t s = 0; s < c.q_lengths.size(); ++s) {
      for (int64_t i = q_offsets[s]; i < q_offsets[s + 1]; ++i) {
        for (int64_t h = 0; h < heads; ++h) {
          std::vector<double> p;
          double sum = 0;
          for (int64_t j = k_offsets[s]; j < k_offsets[s + 1]; ++j) {
            double dot = 0;
            for (int64_t d = h * depth; d < (h + 1) * depth; ++d) {
              dot += double{q[size_t(i * width + d)]} * kv[size_t(j * 2 * width + d)];
            }
            p.push_back(std::exp(dot * scale));
            sum += p.back();
          }
          for (size_t j = 0; j < p.size(); ++j) {
            const int64_t row = (k_offsets[s] + int64_t(j)) * 2 * width + width;
            for (int64_t d = h * depth; d < (h + 1) * depth; ++d) {
              expected[size_t(i * width + d)] += p[j] / sum * kv[size_t(row + d)];
            }
          }
        }
      }
    }
    DeviceVector<int32_t> gpu_q_offsets(stream(), q_offsets), gpu_k_offsets(stream(), k_offsets);
    DeviceArray gpu_q(stream(), dtype, q), gpu_kv(stream(), dtype, kv);
    DeviceArray out(stream(), dtype, q_rows * width), again(stream(), dtype, q_rows * width);
    const AttentionShape shape{
        .q_offsets = gpu_q_offsets.data(),
        .k_offsets = gpu_k_offsets.data(),
        .sequences = int64_t(c.q_lengths.size()),
        .longest_q = *std::max_element(c.q_lengths.begin(), c.q_lengths.end()),
        .longest_k = *std::max_element(c.k_lengths.begin(), c.k_lengths.end()),
        .q_rows = q_rows,
        .k_rows = k_rows,
        .heads = heads,
        .head_size = depth,
        .scale = float(scale),
        .dtype = dtype};
    AttentionForward args;
    args.q = {gpu_q.data(), width};
    args.k = {gpu_kv.data(), 2 * width};
    args.v = {gpu_kv.at(width), 2 * width};
    args.out = out.data();
    check(api().attention(shape, args, AttentionKernel::few, handle()));
    // Probabilities are rounded before they meet the values.
    expect_near(out.get(), expected, dtype, dtype == DType::bf16 ? 1.0 / 256 : 1.0 / 2048);
    args.out = again.data();
    check(api().attention(shape, args, AttentionKernel::automatic, handle()));
    EXPECT_EQ(out.bytes(), again.bytes());
    const float sums[1] = {};
    args.log_sums = const_cast<float*>(sums);
    EXPECT_NE(api().attention(shape, args, AttentionKernel::few, handle()), nullptr);
  }
};

TEST_F(CudaAttentionFew, Values) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const int64_t depth : {32, 64, 128}) {
      for (const Case& c : kCases) {
        SCOPED_TRACE(testing::PrintToString(c.k_lengths) + " " +
                     testing::PrintToString(c.q_lengths) + " d " + std::to_string(depth) + " " +
                     std::string(dtype_name(dtype)));
        values(c, dtype, 3, depth);
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
