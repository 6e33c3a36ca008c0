#include "nn/packed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone::nn {
namespace {

TEST(Rows, ComeBackAsTheyWereStored) {
  for (const Isa isa : available_isas()) {
    Parameters parameters(isa);
    parameters.matrix({"a", "b"}, 70, 37, DType::f32);
    parameters.matrix({"long"}, 300, 1031, DType::f32);  // in several pieces
    parameters.table("c", 5, 3, DType::f32);
    parameters.vector({"d"}, 7);
    parameters.allocate();
    for (const Parameter& parameter : parameters.list()) {
      const int64_t width = row_width(parameter);
      const auto packed = static_cast<size_t>(parameters.elements(parameter.weight));
      // A moment is another array of the same layout.
      Buffer moment(packed * sizeof(float));
      store_rows(parameter, {isa, DType::f32, moment.data()},
                 [&](int64_t first, int64_t count, float* out) {
                   std::iota(out, out + count * width, static_cast<float>(first * width));
                 });
      const int64_t rows = row_count(parameter);
      for (const auto& [begin, end] :
           {std::pair<int64_t, int64_t>{0, rows}, {rows / 2, rows}, {1, rows - 1}}) {
        float expected = static_cast<float>(begin * width);
        int64_t next = begin;
        read_rows(parameter, {isa, DType::f32, moment.data()}, begin, end,
                  [&](int64_t first, int64_t count, const float* out) {
                    EXPECT_EQ(first, next);
                    next += count;
                    for (int64_t i = 0; i < count * width; ++i) ASSERT_EQ(out[i], expected++);
                  });
        EXPECT_EQ(next, end);
      }
    }
  }
}

/// What bytes stand for gives the same bytes again, in matrices and in tables.
TEST(Rows, OfBytesStayAsTheyAre) {
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    Parameters parameters(isa);
    parameters.matrix({"a", "b"}, 70, 37, DType::i8);
    parameters.table("c", 5, 3, DType::i8);
    parameters.allocate();
    for (const Parameter& parameter : parameters.list()) {
      const int64_t width = row_width(parameter);
      const ConstPackedArray stored{isa, DType::i8, parameters.data(parameter.weight)};
      store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
        for (int64_t i = 0; i < count * width; ++i) {
          out[i] = std::sin(static_cast<float>(first * width + i));
        }
      });
      std::vector<float> once;
      const auto keep = [&](std::vector<float>& all) {
        read_rows(parameter, stored, 0, row_count(parameter),
                  [&](int64_t, int64_t count, const float* rows) {
                    all.insert(all.end(), rows, rows + count * width);
                  });
      };
      keep(once);
      for (size_t i = 0; i < once.size(); ++i) {
        ASSERT_NEAR(once[i], std::sin(static_cast<float>(i)), 0.5 / 127) << "at " << i;
      }
      store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
        std::copy_n(once.begin() + first * width, count * width, out);
      });
      std::vector<float> twice;
      keep(twice);
      EXPECT_EQ(once, twice);
    }
  }
}

}  // namespace
}  // namespace hone::nn
