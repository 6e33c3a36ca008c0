#include "kernels/cuda/row_sums.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaRowSums : public GpuTest {};

TEST_F(CudaRowSums, ColumnSumsOfRowsApart) {
  struct Case {
    int64_t rows, width, stride;
  };
  for (const DType dtype : kDTypes) {
    for (const Case& c : std::vector<Case>{{0, 8, 8},
                                           {1, 1, 1},
                                           {3, 7, 7},
                                           {31, 64, 64},
                                           {32, 255, 256},
                                           {33, 256, 264},
                                           {489, 257, 257},
                                           {4095, 96, 96},
                                           {4100, 768, 2304},
                                           {4, 4096, 4096}}) {
      SCOPED_TRACE(std::to_string(c.rows) + " x " + std::to_string(c.width) + " " +
                   std::string(dtype_name(dtype)));
      const auto x = random_floats(c.rows * c.stride, 1, dtype);
      std::vector<double> expected(size_t(c.width), 0.25);
      for (int64_t row = 0; row < c.rows; ++row) {
        for (int64_t i = 0; i < c.width; ++i) expected[size_t(i)] += x[size_t(row * c.stride + i)];
      }
      const std::vector<float> quarter(size_t(c.width), 0.25f);
      DeviceArray gx(stream(), dtype, x);
      const CudaBuffer workspace(api().one_row_sum_workspace(c.rows, c.width));
      std::vector<char> first;
      for (int run = 0; run < 2; ++run) {
        DeviceArray out(stream(), DType::f32, quarter);
        RowSums parts[2];  // two lists in one launch, one of them empty
        check(api().column_sums(dtype, gx.data(), c.stride, c.rows, c.width, out.floats(),
                                workspace.data(), handle(), &parts[1]));
        check(api().add_row_sums(parts, 2, handle()));
        expect_near(out.get(), expected, DType::f32, 1e-5);
        if (run == 0) first = out.bytes();
        EXPECT_EQ(out.bytes(), first);
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
