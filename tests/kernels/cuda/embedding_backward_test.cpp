#include "kernels/cuda/embedding.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaEmbeddingBackward : public GpuTest {};

/// Marked rows are added to; others are set whatever they hold.
TEST_F(CudaEmbeddingBackward, AddsEveryTokenToItsRow) {
  struct Case {
    int64_t tokens, width;
    int32_t entries;  // 0: no ids, all of row 0
  };
  for (const DType dtype : kDTypes) {
    for (const Case& c : std::vector<Case>{{0, 8, 5},
                                           {1, 1, 1},
                                           {63, 15, 4},
                                           {64, 16, 2},
                                           {65, 17, 100},
                                           {300, 64, 3000},
                                           {500, 384, 7},
                                           {130, 33, 0},
                                           {2500, 96, 5},
                                           {0, 33, 0}}) {
      SCOPED_TRACE(std::to_string(c.tokens) + " x " + std::to_string(c.width));
      std::mt19937 engine(5);
      std::vector<int32_t> ids(size_t(c.tokens)), skewed(size_t(c.tokens));
      for (size_t t = 0; t < ids.size(); ++t) {
        ids[t] = c.entries == 0 ? 0 : int32_t(engine() % uint32_t(c.entries));
        skewed[t] = engine() % 4 == 0 ? ids[t] : 0;
      }
      const int64_t rows = std::max(c.entries, 1);
      const auto dsum = random_floats(c.tokens * c.width, 1, dtype);
      std::vector<double> expected(size_t(rows * c.width), 0.25), expected_skewed(expected);
      for (int64_t i = 0; i < c.tokens * c.width; ++i) {
        expected[ids[i / c.width] * c.width + i % c.width] += dsum[i];
        expected_skewed[skewed[i / c.width] * c.width + i % c.width] += dsum[i];
      }
      const std::vector<float> quarter(expected.size(), 0.25f);
      // Every other row has a gradient of another batch; elsewhere the memory holds what it held.
      std::vector<uint8_t> marked(static_cast<size_t>(rows));
      std::vector<float> before = quarter;
      for (int64_t row = 0; row < rows; ++row) {
        marked[row] = row % 2;
        const bool there = std::count(skewed.begin(), skewed.end(), int32_t(row)) > 0;
        for (int64_t i = row * c.width; i < (row + 1) * c.width && !marked[row]; ++i) {
          before[i] = 7.0f;
          expected_skewed[i] = there ? expected_skewed[i] - 0.25 : 7.0;
        }
      }
      DeviceVector<int32_t> gids(stream(), ids), gskewed(stream(), skewed);
      DeviceArray gdsum(stream(), dtype, dsum);
      const CudaBuffer workspace(api().embedding_backward_workspace(c.tokens, c.width));
      std::vector<char> first;
      for (int run = 0; run < 2; ++run) {
        DeviceArray table(stream(), DType::f32, quarter), other(stream(), DType::f32, before);
        EmbeddingBackward args;
        args.dtype = dtype;
        args.tokens = c.tokens;
        args.width = c.width;
        args.dsum = gdsum.data();
        args.tables[0] = {c.entries == 0 ? nullptr : gids.data(), table.floats()};
        DeviceVector<uint8_t> touched(stream(), marked);
        args.tables[2] = {gskewed.data(), other.floats(), touched.data()};
        stream().fill(workspace.data(), 0xff, workspace.size());
        check(api().embedding_backward(args, workspace.data(), handle()));
        expect_near(table.get(), expected, DType::f32, 2e-6);
        expect_near(other.get(), expected_skewed, DType::f32, 2e-6);
        const auto marks = touched.get();
        for (int64_t row = 0; row < rows; ++row) {
          const bool there = std::count(skewed.begin(), skewed.end(), int32_t(row)) > 0;
          ASSERT_EQ(marks[row], there || marked[row] ? 1 : 0) << "row " << row;
        }
        if (run == 0) first = other.bytes();
        EXPECT_EQ(other.bytes(), first);
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels::cuda
