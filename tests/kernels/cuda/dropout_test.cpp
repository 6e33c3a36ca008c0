#include "kernels/cuda/dropout.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaDropout : public GpuTest {};

TEST_F(CudaDropout, DropsWhatTheCpuDrops) {
  for (const DType dtype : kDTypes) {
    for (const int64_t width : {1, 33, 96}) {
      const int64_t rows = 77;
      DropoutRows with(stream(), 0.3f, rows);
      const auto x = random_floats(rows * width, 1, dtype);
      DeviceArray gx(stream(), dtype, x);
      check(api().apply_dropout(with.gpu, dtype, gx.data(), rows, width, gx.data(), handle()));
      const auto y = gx.get();
      for (int64_t i = 0; i < rows * width; ++i) {
        const float factor = dropout_factor(with.cpu, i / width, uint32_t(i % width));
        ASSERT_EQ(y[i], rounded(x[i] * factor, dtype)) << "at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
