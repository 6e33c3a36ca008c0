#include "kernels/cuda/rows.h"

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

class CudaRows : public GpuTest {};

/// Around a chunk of a thread, a block of them, and more than all blocks take at once.
constexpr int64_t kCounts[] = {0, 1, 7, 8, 9, 2047, 2048, 2049, 132 * 16 * 2048 + 3};
/// Elements by which arrays begin behind their alignment.
constexpr int64_t kShifts[] = {0, 1};

std::vector<float> shifted(const std::vector<float>& values, int64_t shift) {
  std::vector<float> out(static_cast<size_t>(shift), 5.0f);
  out.insert(out.end(), values.begin(), values.end());
  return out;
}

TEST_F(CudaRows, Adds) {
  for (const DType dtype : kDTypes) {
    for (const int64_t count : kCounts) {
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

TEST_F(CudaRows, Scales) {
  for (const DType dtype : kDTypes) {
    for (const int64_t count : kCounts) {
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

TEST_F(CudaRows, PoolsSequences) {
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

TEST_F(CudaRows, NormalizesRows) {
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
