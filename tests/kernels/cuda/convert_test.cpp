#include "kernels/cuda/convert.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaConvert : public GpuTest {};

TEST_F(CudaConvert, Converts) {
  for (const int64_t count : {0, 1, 7, 8, 9, 4099}) {
    auto x = random_floats(count, 1, DType::f32);
    if (count > 3) x[2] = 1e9f, x[3] = -1e-9f;
    for (const DType from : kDTypes) {
      for (const DType to : kDTypes) {
        DeviceArray gx(stream(), from, x), gy(stream(), to, count);
        check(api().convert(from, gx.data(), to, gy.data(), count, handle()));
        const auto y = gy.get();
        for (int64_t i = 0; i < count; ++i) ASSERT_EQ(y[i], rounded(rounded(x[i], from), to));
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
