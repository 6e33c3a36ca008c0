#include "kernels/cuda/scale.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaScale : public GpuTest {};

TEST_F(CudaScale, Scales) {
  for (const DType dtype : kDTypes) {
    for (const int64_t count : kFlatCounts) {
      for (const int64_t shift : kShifts) {
        for (const float factor : {0.125f, -3.7f, 0.0f}) {
          SCOPED_TRACE(std::to_string(count) + " behind " + std::to_string(shift));
          const auto x = random_floats(count, 1, dtype);
          DeviceArray gx(stream(), dtype, shifted(x, shift)), y(stream(), dtype, count);
          check(api().scale(dtype, gx.at(shift), count, factor, y.data(), handle()));
          check(api().scale(dtype, gx.at(shift), count, factor, gx.at(shift), handle()));
          const auto got = y.get(), inside = gx.get();
          for (int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(got[i], rounded(x[i] * factor, dtype)) << "at " << i;
            ASSERT_EQ(inside[i + shift], got[i]) << "at " << i;
          }
          EXPECT_EQ(shift > 0 ? inside[0] : 5.0f, 5.0f);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
