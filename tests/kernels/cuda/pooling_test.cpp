#include "kernels/cuda/pooling.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaPooling : public GpuTest {};

TEST_F(CudaPooling, PoolsSequences) {
  const std::vector<std::vector<int32_t>> packs = {
      {0}, {0, 0}, {0, 1}, {0, 3, 3, 4, 36}, {0, 31, 63, 96, 160}};
  for (const auto& offsets : packs) {
    for (const int64_t width : {1, 31, 32, 33, 255, 256, 257, 768}) {
      const auto sequences = int64_t(offsets.size()) - 1;
      const auto x = random_floats(offsets.back() * width, 1, DType::f32);
      DeviceArray gx(stream(), DType::f32, x), y(stream(), DType::f32, sequences * width);
      DeviceVector<int32_t> goffsets(stream(), offsets);
      for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::max}) {
        SCOPED_TRACE(std::to_string(sequences) + " x " + std::to_string(width) + " by " +
                     std::to_string(int(pooling)));
        check(api().pool_sequences(pooling, gx.floats(), goffsets.data(), sequences, width,
                                   y.floats(), handle()));
        std::vector<double> expected(size_t(sequences * width), 0.0);
        for (int64_t s = 0; s < sequences; ++s) {
          for (int64_t c = 0; c < width; ++c) {
            double& value = expected[size_t(s * width + c)];
            for (int64_t row = offsets[s]; row < offsets[s + 1]; ++row) {
              const double next = x[size_t(row * width + c)];
              const bool first = row == offsets[s];
              if (pooling == Pooling::mean) value += next / (offsets[s + 1] - offsets[s]);
              if (pooling == Pooling::max) value = first ? next : std::max(value, next);
              if (pooling == Pooling::first && first) value = next;
            }
          }
        }
        expect_near(y.get(), expected, DType::f32, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
