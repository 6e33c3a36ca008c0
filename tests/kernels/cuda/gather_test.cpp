#include "kernels/cuda/gather.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaGather : public GpuTest {};

TEST_F(CudaGather, GathersAndScatters) {
  for (const DType dtype : kDTypes) {
    for (const int64_t width : {1, 7, 64, 768}) {
      const int64_t rows = 40, stride = width + 8;
      const std::vector<int32_t> index = {3, 39, 0, -1, 17};
      const auto count = int64_t(index.size());
      const auto x = random_floats(rows * stride, 1, dtype);
      DeviceArray gx(stream(), dtype, x), out(stream(), dtype, count * width);
      DeviceVector<int32_t> gindex(stream(), index);
      check(api().gather_rows(dtype, gx.data(), stride, gindex.data(), count, width, out.data(),
                              handle()));
      const auto got = out.get();
      std::vector<float> scattered(size_t(rows * width), 0.0f);
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < width; ++c) {
          const float expected = index[i] < 0 ? 0.0f : x[index[i] * stride + c];
          ASSERT_EQ(got[i * width + c], expected);
          if (index[i] >= 0) scattered[index[i] * width + c] = expected;
        }
      }
      DeviceArray dx(stream(), dtype, rows * width);
      for (const bool set : {true, false}) {
        check(api().scatter_rows(dtype, out.data(), gindex.data(), count, rows, width, set,
                                 dx.data(), handle()));
        const auto result = dx.get();
        for (size_t i = 0; i < result.size(); ++i) {
          ASSERT_EQ(result[i], rounded(scattered[i] * (set ? 1.0f : 2.0f), dtype));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
