// Ops that treat each row by itself: layer_norm, embedding, gather, normalize; and pooling.
#include "ops/embedding.h"
#include "ops/layer_norm.h"
#include "ops/op_case.h"
#include "ops/pooling.h"

namespace hone::ops {
namespace {

std::vector<double> normalised(const std::vector<double>& x, int64_t width,
                               const std::vector<float>& weight, const std::vector<float>& bias,
                               double eps) {
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(width)) {
    double mean = 0;
    double variance = 0;
    for (int64_t i = 0; i < width; ++i) mean += x[row + static_cast<size_t>(i)];
    mean /= static_cast<double>(width);
    for (int64_t i = 0; i < width; ++i) {
      const double d = x[row + static_cast<size_t>(i)] - mean;
      variance += d * d;
    }
    variance /= static_cast<double>(width);
    for (int64_t i = 0; i < width; ++i) {
      const auto k = static_cast<size_t>(i);
      y[row + k] = (x[row + k] - mean) / std::sqrt(variance + eps) * weight[k] + bias[k];
    }
  }
  return y;
}

Extents extents_of(int64_t tokens, int64_t sequences) {
  Extents extents;
  extents[kTokens] = tokens;
  extents[kSequences] = sequences;
  extents[kReads] = sequences;
  return extents;
}

class RowOps : public testing::TestWithParam<OpCase> {};

TEST_P(RowOps, LayerNorm) {
  const OpCase& c = GetParam();
  const auto x = values(c.rows * c.width, c.dtype, 1);
  const auto weight = values(c.width, DType::f32, 2);
  const auto bias = values(c.width, DType::f32, 3);
  const Buffer x_stored = stored(x, c.dtype);
  const auto wanted =
      normalised(std::vector<double>(x.begin(), x.end()), c.width, weight, bias, 1e-3);
  on_every_isa([&](Isa, const std::string& name) {
    for (const DType out : {DType::f32, DType::bf16}) {
      const std::vector<const void*> weights = {weight.data(), bias.data()};
      Plan plan;
      Tape tape(plan);
      const Value in = plan.input(c.dtype, kTokens, c.width);
      const Value y =
          layer_norm(tape, in, {{0, DType::f32, 1, c.width}, {1, DType::f32, 1, c.width}, 1e-3f},
                     {.out = out});
      plan.keep(y);
      ThreadPool pool(2);
      Runner runner(plan, weights, pool);
      runner.resize(extents_of(c.rows, 0));
      runner.bind(in, x_stored.data());
      runner.run();
      expect_close(loaded(runner.output<void>(y), out, c.rows * c.width), wanted,
                   OpCase{0, 0, out}.tolerance(), name);
    }
  });
}

TEST_P(RowOps, EmbeddingSumsItsTablesAndNormalises) {
  const OpCase& c = GetParam();
  constexpr int64_t kWords = 11, kPositions = 7, kTypes = 2;
  const auto words = values(kWords * c.width, c.dtype, 1);
  const auto positions = values(kPositions * c.width, c.dtype, 2);
  const auto types = values(kTypes * c.width, c.dtype, 3);
  const auto weight = values(c.width, DType::f32, 4);
  const auto bias = values(c.width, DType::f32, 5);
  std::vector<int32_t> ids, places, kinds;
  std::vector<double> sums;
  for (int64_t t = 0; t < c.rows; ++t) {
    ids.push_back(static_cast<int32_t>(t * 5 % kWords));
    places.push_back(static_cast<int32_t>(t % kPositions));
    kinds.push_back(static_cast<int32_t>(t / 3 % kTypes));
    for (int64_t i = 0; i < c.width; ++i) {
      sums.push_back(static_cast<double>(words[static_cast<size_t>(ids.back() * c.width + i)]) +
                     positions[static_cast<size_t>(places.back() * c.width + i)] +
                     types[static_cast<size_t>(kinds.back() * c.width + i)]);
    }
  }
  const auto wanted = normalised(sums, c.width, weight, bias, 1e-3);
  const Buffer stored_words = stored(words, c.dtype);
  const Buffer stored_positions = stored(positions, c.dtype);
  const Buffer stored_types = stored(types, c.dtype);
  on_every_isa([&](Isa, const std::string& name) {
    const std::vector<const void*> weights = {stored_words.data(), stored_positions.data(),
                                              stored_types.data(), weight.data(), bias.data()};
    Plan plan;
    Tape tape(plan);
    const Value in = plan.input(DType::i32, kTokens, 1);
    const Value place = plan.input(DType::i32, kTokens, 1);
    const Value kind = plan.input(DType::i32, kTokens, 1);
    const Value y =
        embed_tokens(tape, {in, place, kind},
                     {.word = {0, c.dtype, kWords, c.width},
                      .position = {1, c.dtype, kPositions, c.width},
                      .type = {2, c.dtype, kTypes, c.width},
                      .norm = {{3, DType::f32, 1, c.width}, {4, DType::f32, 1, c.width}, 1e-3f}},
                     c.dtype);
    plan.keep(y);
    ThreadPool pool(2);
    Runner runner(plan, weights, pool);
    runner.resize(extents_of(c.rows, 0));
    runner.bind(in, ids.data());
    runner.bind(place, places.data());
    runner.bind(kind, kinds.data());
    runner.run();
    expect_close(loaded(runner.output<void>(y), c.dtype, c.rows * c.width), wanted, c.tolerance(),
                 name);
  });
}

TEST_P(RowOps, GatherPicksRows) {
  const OpCase& c = GetParam();
  const auto x = values(c.rows * c.width, c.dtype, 1);
  const Buffer x_stored = stored(x, c.dtype);
  std::vector<int32_t> picks;
  if (c.rows > 0) {
    for (const int64_t row : {c.rows - 1, int64_t{0}, c.rows / 2}) {
      picks.push_back(static_cast<int32_t>(row));
    }
  }
  std::vector<double> wanted;
  for (const int32_t pick : picks) {
    const auto row = x.begin() + pick * c.width;
    wanted.insert(wanted.end(), row, row + c.width);
  }
  Plan plan;
  Tape tape(plan);
  const Value in = plan.input(c.dtype, kTokens, c.width);
  const Value index = plan.input(DType::i32, kReads, 1);
  const Value y = gather_rows(tape, in, index);
  plan.keep(y);
  ThreadPool pool(2);
  Runner runner(plan, {}, pool);
  const auto count = static_cast<int64_t>(picks.size());
  runner.resize(extents_of(c.rows, count));
  runner.bind(in, x_stored.data());
  runner.bind(index, picks.data());
  runner.run();
  expect_close(loaded(runner.output<void>(y), c.dtype, count * c.width), wanted, 0, "gather");
}

INSTANTIATE_TEST_SUITE_P(Shapes, RowOps, testing::ValuesIn(op_cases()), case_name);

TEST(Pooling, FirstMeanMaxAndUnitLength) {
  constexpr int64_t kWidth = 33;
  const std::vector<int32_t> offsets = {0, 1, 8, 25};
  const auto x = values(25 * kWidth, DType::f32, 1);
  on_every_isa([&](Isa, const std::string& name) {
    for (const Pooling pooling : {Pooling::cls, Pooling::mean, Pooling::max}) {
      std::vector<double> wanted;
      for (size_t s = 0; s + 1 < offsets.size(); ++s) {
        std::vector<double> row;
        for (int64_t i = 0; i < kWidth; ++i) {
          const auto at = [&](int32_t t) { return x[static_cast<size_t>(t * kWidth + i)]; };
          double sum = 0;
          double largest = -1e30;
          for (int32_t t = offsets[s]; t < offsets[s + 1]; ++t) {
            sum += at(t);
            largest = std::max<double>(largest, at(t));
          }
          row.push_back(pooling == Pooling::cls    ? at(offsets[s])
                        : pooling == Pooling::mean ? sum / (offsets[s + 1] - offsets[s])
                                                   : largest);
        }
        double length = 0;
        for (const double v : row) length += v * v;
        for (const double v : row) wanted.push_back(v / std::sqrt(length));
      }
      Plan plan;
      Tape tape(plan);
      const Value in = plan.input(DType::f32, kTokens, kWidth);
      const Value where = plan.input(DType::i32, kSequences, 1);
      const Value y = normalize_rows(tape, pool(tape, in, where, pooling));
      plan.keep(y);
      ThreadPool threads(2);
      Runner runner(plan, {}, threads);
      runner.resize(extents_of(25, 3));
      runner.bind(in, x.data());
      runner.bind(where, offsets.data());
      runner.run();
      expect_close(loaded(runner.output<void>(y), DType::f32, 3 * kWidth), wanted, 2e-6, name);
    }
  });
}

}  // namespace
}  // namespace hone::ops
