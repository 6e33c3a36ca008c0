#include "kernels/cpu/lstm.h"

#include <numeric>

#include "device/memory.h"
#include "kernels/cpu/kernel_test.h"

namespace hone::kernels {
namespace {

template <typename T>
constexpr DType dtype_of() {
  return std::is_same_v<T, double> ? DType::f64
         : std::is_same_v<T, bf16> ? DType::bf16
                                   : DType::f32;
}

/// A layer's arrays in T, from one set of values that T holds exactly.
template <typename T>
struct Layer {
  std::vector<int32_t> offsets = {0};
  int64_t hidden;
  Buffer packed;
  std::vector<T> x, dh;
  std::vector<Accumulator<T>> bias;
  std::vector<T> h, gates, dx, before;
  std::vector<Accumulator<T>> cells;

  template <typename Held>
  Layer(const std::vector<int32_t>& lengths, int64_t n, Held) : hidden(n) {
    for (const int32_t length : lengths) offsets.push_back(offsets.back() + length);
    const int64_t tokens = offsets.back();
    const auto take = [](const auto& from, auto& to) {
      for (const auto value : from)
        to.push_back(from_float<std::decay_t<decltype(to[0])>>(to_float(value)));
    };
    take(random_values<Held>(tokens * 4 * n, 1), x);
    take(random_values<Held>(tokens * n, 2), dh);
    take(random_values<Held>(4 * n, 3, 0.3f), bias);
    std::vector<float> rows;
    take(random_values<Held>(4 * n * n, 4, 1 / std::sqrt(static_cast<float>(n))), rows);
    packed = Buffer(packed_bytes(chosen_isa(), dtype_of<T>(), 4 * n, n));
    pack_rows(chosen_isa(), dtype_of<T>(), rows.data(), 0, 4 * n, 4 * n, n, packed.data());
    h.resize(tokens * n);
    before.resize(tokens * n);
    cells.resize(tokens * n);
    gates.resize(tokens * 4 * n);
    dx.resize(tokens * 4 * n);
  }

  LstmShape shape() const {
    return {offsets.data(),
            std::ssize(offsets) - 1,
            hidden,
            {dtype_of<T>(), chosen_isa(), 4 * hidden, hidden, packed.data()}};
  }
  void run(int threads) {
    ThreadPool pool(threads);
    Buffer workspace(lstm_workspace(shape(), threads));
    lstm_forward<T>(shape(), {x.data(), bias.data(), h.data(), gates.data(), cells.data()},
                    workspace.data(), pool);
    lstm_backward<T>(shape(),
                     {dh.data(), h.data(), gates.data(), cells.data(), dx.data(), before.data()},
                     workspace.data(), pool);
  }
};

struct LstmCase {
  std::vector<int32_t> lengths;
  int64_t hidden;
};

const std::vector<LstmCase> kCases = {{{}, 8},
                                      {{1}, 1},
                                      {{9}, 15},
                                      {{4, 7, 1}, 16},
                                      {{3, 3, 5, 2}, 17},
                                      {{20, 1, 6}, 32},
                                      {{2, 8, 5}, 33},
                                      {{5, 12, 3, 1}, 64},
                                      {{6, 6}, 100},
                                      {{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2,
                                        3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 1, 4},
                                       32}};

std::string shown(const LstmCase& c) {
  return std::to_string(c.lengths.size()) + " sequences, hidden " + std::to_string(c.hidden);
}

template <typename T>
class LstmKernel : public testing::Test {};
TYPED_TEST_SUITE(LstmKernel, StorageTypes);

TYPED_TEST(LstmKernel, FollowsTheOneInDouble) {
  constexpr bool kNarrow = std::is_same_v<TypeParam, bf16>;
  for (const LstmCase& c : kCases) {
    SCOPED_TRACE(shown(c));
    for_each_isa([&] {
      Layer<double> wanted(c.lengths, c.hidden, TypeParam{});
      wanted.run(1);
      Layer<TypeParam> got(c.lengths, c.hidden, TypeParam{});
      got.run(2);
      // In bf16 the recurrence reads rounded rows, and gradients rounded gates.
      const double near = kNarrow ? 3e-2 : 2e-6;
      const double slope = kNarrow ? 8e-2 : 2e-5;
      for (size_t i = 0; i < wanted.h.size(); ++i) {
        ASSERT_NEAR(to_float(got.h[i]), wanted.h[i], near) << "h at " << i;
        ASSERT_NEAR(to_float(got.before[i]), wanted.before[i], near) << "h before at " << i;
      }
      for (size_t i = 0; i < wanted.dx.size(); ++i) {
        ASSERT_NEAR(to_float(got.dx[i]), wanted.dx[i], slope * (1 + std::abs(wanted.dx[i])))
            << "dx at " << i;
      }
    });
  }
}

TYPED_TEST(LstmKernel, GivesASequenceTheSameBitsAloneAndInABatch) {
  for (const LstmCase& c : kCases) {
    SCOPED_TRACE(shown(c));
    for_each_isa([&] {
      Layer<TypeParam> batch(c.lengths, c.hidden, TypeParam{});
      batch.run(3);
      for (size_t s = 0; s < c.lengths.size(); ++s) {
        Layer<TypeParam> alone({c.lengths[s]}, c.hidden, TypeParam{});
        const int64_t first = batch.offsets[s];
        const int64_t n = c.hidden;
        std::copy_n(batch.x.begin() + first * 4 * n, alone.x.size(), alone.x.begin());
        std::copy_n(batch.dh.begin() + first * n, alone.dh.size(), alone.dh.begin());
        alone.run(1);
        ASSERT_TRUE(same_bits(alone.h.data(), batch.h.data() + first * n, std::ssize(alone.h)));
        ASSERT_TRUE(
            same_bits(alone.dx.data(), batch.dx.data() + first * 4 * n, std::ssize(alone.dx)));
      }
    });
  }
}

TYPED_TEST(LstmKernel, KeepsNothingForInference) {
  Layer<TypeParam> layer({3, 20, 1, 7}, 32, TypeParam{});
  layer.run(1);
  const std::vector<TypeParam> kept = layer.h;
  ThreadPool pool(2);
  Buffer workspace(lstm_workspace(layer.shape(), 2));
  lstm_forward<TypeParam>(layer.shape(),
                          {layer.x.data(), layer.bias.data(), layer.h.data(), nullptr, nullptr},
                          workspace.data(), pool);
  EXPECT_TRUE(same_bits(layer.h.data(), kept.data(), std::ssize(kept)));
}

}  // namespace
}  // namespace hone::kernels
