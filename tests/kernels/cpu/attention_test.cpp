#include "kernels/cpu/attention.h"

#include <numeric>

#include "device/memory.h"
#include "kernels/cpu/attention_pairs.h"
#include "kernels/cpu/gemm_amx-inl.h"
#include "kernels/cpu/gemm_emulated_tiles.h"
#include "kernels/cpu/training_test.h"

namespace hone::kernels {
namespace {

struct Case {
  std::vector<int32_t> k_lengths;
  int64_t heads;
  int64_t head_size;
  std::vector<int32_t> q_lengths = {};  ///< empty: the same as k_lengths
  float spread = 1.0f;                  ///< standard deviation of queries and keys
};

std::vector<int32_t> offsets_of(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> offsets{0};
  for (const int32_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

/// The inputs of one case: q, k and v lie beside one another in rows, as one product writes them.
template <typename T>
struct Inputs {
  explicit Inputs(const Case& c)
      : heads(c.heads),
        depth(c.head_size),
        k_offsets(offsets_of(c.k_lengths)),
        q_offsets(c.q_lengths.empty() ? k_offsets : offsets_of(c.q_lengths)) {
    const int64_t width = heads * depth;
    q = random_values<T>(q_offsets.back() * width, 1, c.spread);
    kv = random_values<T>(k_offsets.back() * 2 * width, 2, c.spread);
  }
  AttentionShape shape() const {
    return {q_offsets.data(),
            k_offsets.data(),
            static_cast<int64_t>(k_offsets.size()) - 1,
            heads,
            depth,
            1.0f / std::sqrt(float(depth))};
  }
  HeadRows<T> queries() const { return {q.data(), heads * depth}; }
  HeadRows<T> keys() const { return {kv.data(), 2 * heads * depth}; }
  HeadRows<T> values() const {
    return {kv.empty() ? nullptr : kv.data() + heads * depth, 2 * heads * depth};
  }
  int64_t q_rows() const { return q_offsets.back(); }

  int64_t heads, depth;
  std::vector<int32_t> k_offsets, q_offsets;
  std::vector<T> q, kv;
};

template <typename Out>
struct Result {
  std::vector<Out> out;
  std::vector<float> log_sums;
};

/// What bf16 is multiplied by: null where that is for attention() to choose.
const AmxPanels* panels = nullptr;

/// Runs `body` on each instruction set, and then by emulated tiles.
template <typename In, typename Body>
void for_each_way(int64_t head_size, const Body& body) {
  for_each_isa(body);
  if (!std::is_same_v<In, bf16> || !fits_amx(head_size) || !cpu_info().avx512_bf16) return;
  SCOPED_TRACE("emulated tiles");
  const ScopedIsa scope(Isa::avx512_bf16);
  panels = &amx::kPanels<EmulatedTiles>;
  body();
  panels = nullptr;
}

/// Whether weights are rounded to bf16.
template <typename In>
bool narrow_weights(int64_t head_size) {
  if (!std::is_same_v<In, bf16>) return false;
  return chosen_isa() == Isa::amx ? fits_amx(head_size) : has_bf16_pairs(chosen_isa());
}

template <typename Out, typename In>
void attend(const AttentionShape& shape, HeadRows<In> q, HeadRows<In> k, HeadRows<In> v,
            const RelativePositions& relative, Out* out, float* log_sums, ThreadPool& pool,
            const Dropout& dropout = {}) {
  Buffer workspace(attention_workspace(shape.sequences, shape.head_size, pool.size()));
  std::memset(workspace.data(), 0xff, workspace.size());  // NaN: nothing unwritten may be read
  if constexpr (std::is_same_v<In, bf16>) {
    if (panels) {
      attention_with(*panels, shape, q, k, v, relative, out, log_sums, workspace.data(), pool,
                     dropout);
      return;
    }
  }
  attention(shape, q, k, v, relative, out, log_sums, workspace.data(), pool, dropout);
}

template <typename Out, typename In>
Result<Out> run(const Inputs<In>& in, ThreadPool& pool, const RelativePositions& relative = {}) {
  Result<Out> result{std::vector<Out>(in.q_rows() * in.heads * in.depth),
                     std::vector<float>(in.q_rows() * in.heads)};
  attend(in.shape(), in.queries(), in.keys(), in.values(), relative, result.out.data(),
         result.log_sums.data(), pool);
  return result;
}

template <typename T>
double dot(const T* a, const auto* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += double(to_float(a[i])) * double(to_float(b[i]));
  return sum;
}

struct Expected {
  std::vector<double> out;
  std::vector<double> magnitude;  ///< what out is for the values' magnitudes
  std::vector<double> log_sums;
};

template <typename T>
Expected reference(const Inputs<T>& in, const RelativePositions& relative = {}) {
  Expected expected{std::vector<double>(in.q.size()), std::vector<double>(in.q.size()),
                    std::vector<double>(in.q_rows() * in.heads, -INFINITY)};
  const int64_t depth = in.depth;
  const double scale = in.shape().scale;
  for (size_t s = 0; s + 1 < in.k_offsets.size(); ++s) {
    const int64_t keys = in.k_offsets[s + 1] - in.k_offsets[s];
    if (keys == 0) continue;
    for (int64_t h = 0; h < in.heads; ++h) {
      const T* k = in.keys().data + in.k_offsets[s] * in.keys().stride + h * depth;
      const T* v = in.values().data + in.k_offsets[s] * in.values().stride + h * depth;
      for (int64_t row = in.q_offsets[s]; row < in.q_offsets[s + 1]; ++row) {
        const T* q = in.queries().data + row * in.queries().stride + h * depth;
        const int64_t position =
            relative.q_positions ? relative.q_positions[row] : row - in.q_offsets[s];
        std::vector<double> scores(keys);
        for (int64_t j = 0; j < keys; ++j) {
          scores[j] = dot(q, k + j * in.keys().stride, depth);
          if (relative.distances) {
            const float* e = relative.distances + (position - j + relative.positions - 1) * depth;
            scores[j] += dot(q, e, depth);
            if (relative.with_keys) scores[j] += dot(k + j * in.keys().stride, e, depth);
          }
          scores[j] *= scale;
        }
        const double largest = *std::max_element(scores.begin(), scores.end());
        double total = 0;
        double* out = expected.out.data() + (row * in.heads + h) * depth;
        double* magnitude = expected.magnitude.data() + (row * in.heads + h) * depth;
        for (int64_t j = 0; j < keys; ++j) {
          scores[j] = std::exp(scores[j] - largest);
          total += scores[j];
        }
        for (int64_t j = 0; j < keys; ++j) {
          for (int64_t i = 0; i < depth; ++i) {
            const double term = scores[j] / total * to_float(v[j * in.values().stride + i]);
            out[i] += term;
            magnitude[i] += std::abs(term);
          }
        }
        expected.log_sums[row * in.heads + h] = largest + std::log(total);
      }
    }
  }
  return expected;
}

/// `fp32` is the error of the arithmetic in fp32.
template <typename In, typename Out>
void expect_outputs(const std::vector<Out>& out, const Expected& expected, double fp32,
                    int64_t head_size) {
  const bool bf16_weights = narrow_weights<In>(head_size);
  ASSERT_EQ(out.size(), expected.out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const double weights = bf16_weights ? expected.magnitude[i] / 256 : 0.0;
    ASSERT_NEAR(to_float(out[i]), expected.out[i], tolerance<Out>(expected.out[i], fp32 + weights))
        << "at " << i;
  }
}

template <typename In, typename... Outs>
void check(const Case& c) {
  const Inputs<In> in(c);
  const Expected expected = reference(in);
  // A score's error grows with the scores; it moves the weights by as much, relatively.
  const double score_error = 4e-7 * c.spread * c.spread * std::sqrt(double(c.head_size));
  ThreadPool pool(2);
  for_each_way<In>(c.head_size, [&] {
    (expect_outputs<In>(run<Outs>(in, pool).out, expected, c.spread * (2e-6 + 4 * score_error),
                        c.head_size),
     ...);
    const std::vector<float> log_sums = run<float>(in, pool).log_sums;
    for (size_t i = 0; i < log_sums.size(); ++i) {
      if (std::isinf(expected.log_sums[i])) {
        ASSERT_EQ(log_sums[i], expected.log_sums[i]);
      } else {
        ASSERT_NEAR(log_sums[i], expected.log_sums[i],
                    2e-6 + 4 * score_error + 2e-7 * std::abs(expected.log_sums[i]));
      }
    }
  });
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{1}, 1, 1},
      {{2, 7, 1}, 3, 8},
      {{15, 16, 17}, 2, 20},
      {{31, 0, 33, 3}, 2, 32},
      {{63, 64, 65}, 2, 64},
      {{127, 128, 129}, 2, 64},
      {{5, 80, 11}, 2, 80},
      {{33, 161, 20}, 1, 96},
      {{128, 256, 257}, 1, 128},
      {{97, 30}, 1, 160},
      {{70, 1}, 1, 192},
      {{100, 65}, 1, 256},
      {{255, 256, 257}, 1, 33},
      {{512}, 2, 64},
      {{}, 2, 64},
      {{0}, 2, 64},
      {{40, 300, 7, 0}, 2, 64, {1, 1, 1, 0}},    // the first token of each
      {{40, 300, 7, 0}, 2, 32, {3, 140, 0, 2}},  // any number, also without keys
      {{64, 513}, 1, 64, {}, 8.0f},              // scores in the hundreds
  };
  return all;
}

TEST(Attention, ValuesF32) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(testing::PrintToString(c.k_lengths) + " d " + std::to_string(c.head_size));
    check<float, float>(c);
  }
}
TEST(Attention, ValuesBf16) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(testing::PrintToString(c.k_lengths) + " d " + std::to_string(c.head_size));
    check<bf16, bf16, float>(c);
  }
}
TEST(Attention, BetweenTilesThatAreEmulated) {
  if (!cpu_info().avx512_bf16) GTEST_SKIP() << "no AVX512-BF16: no test ran by emulated tiles";
  check<bf16, bf16>({{16, 48, 272}, 2, 64});
}
TEST(Attention, LongestSequence) { check<float, float>({{2048}, 1, 64, {130}}); }

TEST(Attention, RelativePositions) {
  for (const bool with_keys : {false, true}) {
    for (const int64_t depth : {int64_t{20}, int64_t{64}}) {
      const Inputs<float> in(Case{{7, 130, 1}, 2, depth});
      const std::vector<float> table = random_values<float>((2 * 160 - 1) * depth, 5);
      const RelativePositions relative{table.data(), 160, with_keys, nullptr};
      const Expected expected = reference(in, relative);
      ThreadPool pool(2);
      for_each_isa([&] {
        expect_outputs<float>(run<float>(in, pool, relative).out, expected, 2e-5, depth);
      });
    }
  }
}

TEST(Attention, RelativePositionsOfChosenQueries) {
  const Inputs<bf16> in(Case{{9, 300}, 2, 32, {2, 1}});
  const std::vector<float> table = random_values<float>((2 * 300 - 1) * 32, 5);
  const std::vector<int32_t> positions = {8, 0, 299};
  const RelativePositions relative{table.data(), 300, true, positions.data()};
  const Expected expected = reference(in, relative);
  ThreadPool pool(1);
  for_each_way<bf16>(
      32, [&] { expect_outputs<bf16>(run<float>(in, pool, relative).out, expected, 2e-5, 32); });
}

/// Sequence `s` of `in` by itself, of its queries only those from `first` on.
template <typename T>
Inputs<T> alone(const Inputs<T>& in, size_t s, int32_t first) {
  Inputs<T> one = in;
  const int64_t width = in.heads * in.depth;
  one.k_offsets = {0, in.k_offsets[s + 1] - in.k_offsets[s]};
  one.q_offsets = {0, in.q_offsets[s + 1] - in.q_offsets[s] - first};
  one.q.assign(in.q.begin() + (in.q_offsets[s] + first) * width,
               in.q.begin() + in.q_offsets[s + 1] * width);
  one.kv.assign(in.kv.begin() + in.k_offsets[s] * 2 * width,
                in.kv.begin() + in.k_offsets[s + 1] * 2 * width);
  return one;
}

template <typename T>
void check_batch_invariance() {
  const Inputs<T> in(Case{{7, 128, 1, 300, 13, 64, 25}, 3, 64});
  const int64_t width = in.heads * in.depth;
  for_each_way<T>(in.depth, [&] {
    ThreadPool one_thread(1);
    const Result<T> together = run<T>(in, one_thread);
    for (const int threads : {2, 3}) {
      ThreadPool pool(threads);
      const Result<T> again = run<T>(in, pool);
      EXPECT_TRUE(same_bits(again.out.data(), together.out.data(), again.out.size()));
      EXPECT_TRUE(
          same_bits(again.log_sums.data(), together.log_sums.data(), again.log_sums.size()));
    }
    for (size_t s = 0; s + 1 < in.k_offsets.size(); ++s) {
      for (const int32_t first : {0, in.q_offsets[s + 1] - in.q_offsets[s] - 1}) {
        const Result<T> single = run<T>(alone(in, s, first), one_thread);
        const T* same = together.out.data() + (in.q_offsets[s] + first) * width;
        EXPECT_TRUE(same_bits(single.out.data(), same, single.out.size()))
            << "sequence " << s << " from query " << first;
      }
    }
  });
}
TEST(Attention, BatchInvarianceF32) { check_batch_invariance<float>(); }
TEST(Attention, BatchInvarianceBf16) { check_batch_invariance<bf16>(); }

template <typename T>
void check_nan(T nan) {
  Inputs<T> in(Case{{5, 20}, 2, 32});
  in.kv[0] = nan;  // a key of the first sequence's first head
  ThreadPool pool(1);
  for_each_way<T>(32, [&] {
    const Result<T> result = run<T>(in, pool);
    for (size_t i = 0; i < result.out.size(); ++i) {
      const bool first_head_of_first = i / 64 < 5 && i % 64 < 32;
      ASSERT_EQ(std::isnan(to_float(result.out[i])), first_head_of_first) << "at " << i;
    }
  });
}

TEST(Attention, NanReachesItsOwnQueriesOnly) {
  check_nan(std::bit_cast<float>(0x7fffffffu));
  check_nan(bf16{0x7fff});
}

/// Rows of an odd stride: pairs of bf16 are then not aligned as floats.
TEST(Attention, OddStrides) {
  for (const int64_t depth : {20, 32}) {
    const Inputs<bf16> dense(Case{{33, 6}, 1, depth});
    std::vector<bf16> rows;
    for (int64_t i = 0; i < 39; ++i) {
      const auto add = [&](const std::vector<bf16>& from, int64_t count) {
        rows.insert(rows.end(), from.begin() + i * count, from.begin() + (i + 1) * count);
      };
      add(dense.q, depth);
      add(dense.kv, 2 * depth);
      rows.push_back(bf16{0x7fff});
    }
    const auto from = [&](int64_t column) {
      return HeadRows<bf16>{rows.data() + column * depth, 3 * depth + 1};
    };
    ThreadPool pool(1);
    for_each_way<bf16>(depth, [&] {
      std::vector<bf16> out(39 * depth);
      attend<bf16>(dense.shape(), from(0), from(1), from(2), {}, out.data(), nullptr, pool);
      EXPECT_TRUE(same_bits(out.data(), run<bf16>(dense, pool).out.data(), out.size()));
    });
  }
}

/// What is dropped counts for nothing, and the rest for more.
TEST(Attention, DropoutFallsOnWeights) {
  const float p = 0.25f;
  const int64_t depth = 64, length = 70;
  const Inputs<bf16> in(Case{{length}, 1, depth, {}, 0.01f});  // nearly even weights
  const DropoutRows with(p, length);
  std::vector<double> expected(length * depth);
  for (int64_t row = 0; row < length; ++row) {
    for (int64_t key = 0; key < length; ++key) {
      const double weight = attention_factor(with.dropout, row, 0, key) / double(length);
      for (int64_t i = 0; i < depth; ++i) {
        expected[row * depth + i] +=
            weight * to_float(in.values().data[key * in.values().stride + i]);
      }
    }
  }
  ThreadPool pool(2);
  for_each_way<bf16>(depth, [&] {
    std::vector<float> out(length * depth);
    attend<float>(in.shape(), in.queries(), in.keys(), in.values(), {}, out.data(), nullptr, pool,
                  with.dropout);
    expect_close(out, expected, 1e-4);
  });
}

}  // namespace
}  // namespace hone::kernels
