#include "kernels/cuda/add.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaAdd : public GpuTest {};

TEST_F(CudaAdd, Adds) {
  for (const DType dtype : kDTypes) {
    for (const int64_t count : kFlatCounts) {
      for (const int64_t shift : kShifts) {
        SCOPED_TRACE(std::to_string(count) + " behind " + std::to_string(shift));
        const auto a = random_floats(count, 1, dtype), b = random_floats(count, 2, dtype);
        DeviceArray ga(stream(), dtype, shifted(a, shift)), gb(stream(), dtype, b);
        DeviceArray out(stream(), dtype, count);
        check(api().add(dtype, ga.at(shift), gb.data(), count, out.data(), handle()));
        check(api().add(dtype, gb.data(), ga.at(shift), count, ga.at(shift), handle()));
        const auto sum = out.get(), inside = ga.get();
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(sum[i], rounded(a[i] + b[i], dtype)) << "at " << i;
          ASSERT_EQ(inside[i + shift], sum[i]) << "at " << i;
        }
        EXPECT_EQ(shift > 0 ? inside[0] : 5.0f, 5.0f);
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
