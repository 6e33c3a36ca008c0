#include "kernels/cuda/l2_normalize.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaL2Normalize : public GpuTest {};

TEST_F(CudaL2Normalize, NormalizesRows) {
  for (const int64_t rows : {0, 1, 5}) {
    for (const int64_t width : {1, 31, 32, 33, 768}) {
      auto x = random_floats(rows * width, 1, DType::f32);
      if (rows > 1) std::fill_n(x.begin(), width, 0.0f);
      if (rows > 2) std::fill_n(x.begin() + width, width, 1e-20f);
      std::vector<double> expected(x.size());
      for (int64_t r = 0; r < rows; ++r) {
        double squares = 0;
        for (int64_t c = 0; c < width; ++c) squares += double{x[r * width + c]} * x[r * width + c];
        const double scale = 1 / std::max(std::sqrt(squares), 1e-12);
        for (int64_t c = 0; c < width; ++c) expected[r * width + c] = x[r * width + c] * scale;
      }
      DeviceArray gx(stream(), DType::f32, x), y(stream(), DType::f32, rows * width);
      check(api().l2_normalize(gx.floats(), rows, width, y.floats(), handle()));
      expect_near(y.get(), expected, DType::f32, 1e-6);
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
