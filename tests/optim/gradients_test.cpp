// Gradients in the one order that all machines share: row by row, as checkpoints have them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/cuda.h"
#include "nn/packed_rows.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "optim/optimizer.h"

namespace hone::optim {
namespace {

constexpr Axis kTokens{1};
constexpr int64_t kWords = 40, kPlaces = 6, kHidden = 12, kOut = 22;

float wave(int64_t i) { return std::sin(0.7f * static_cast<float>(i)); }

/// Embeddings and a product, whose gradients one batch gives.
class SmallModel {
 public:
  explicit SmallModel(const Target& target) : parameters(target) {
    matrix = parameters.matrix({"a", "b"}, kOut, kHidden, DType::f32);
    words = parameters.table("words", kWords, kHidden, DType::f32);
    places = parameters.table("places", kPlaces, kHidden, DType::f32);
    bias = parameters.vector({"a.bias", "b.bias"}, kOut);
    const ops::NormParameters norm{parameters.vector({"norm"}, kHidden),
                                   parameters.vector({"norm.bias"}, kHidden), 1e-5f};
    parameters.allocate();
    for (const nn::Parameter& parameter : parameters.list()) {
      const int64_t width = nn::row_width(parameter);
      nn::store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
        for (int64_t i = 0; i < count * width; ++i) out[i] = 1 + wave(first * width + i);
      });
    }
    plan.set_device(target.device);
    const std::vector<bool> all(parameters.list().size(), true);
    Tape tape(plan, all);
    ids = plan.input(DType::i32, kTokens, 1);
    positions = plan.input(DType::i32, kTokens, 1);
    x = ops::embed_tokens(tape, {ids, positions, {}}, {words, places, {}, norm}, DType::f32);
    const Value y = ops::linear(tape, x, matrix, bias, target.isa, {.out = DType::f32});
    dy = plan.input(DType::f32, kTokens, kOut);
    tape.set_gradient(y, dy);
    tape.backward();
    plan.keep(x);
    plan.keep(y);
    arrays = parameters.arrays_for(DType::f32, std::vector<bool>(all.size()), true);
    parameters.refresh(pool);
    optimizer = Optimizer::make(parameters, all, {});
  }

  /// Adds the gradients of a batch of these words; gives what the product has read.
  std::vector<float> run(const std::vector<int32_t>& batch) {
    Runner runner(plan, arrays, pool, {.gradients = optimizer->gradients()});
    Extents extents;
    extents[kTokens] = std::ssize(batch);
    runner.resize(extents);
    std::vector<int32_t> at(batch.size());
    for (size_t i = 0; i < at.size(); ++i) at[i] = static_cast<int32_t>(2 * (i % 3));
    const std::vector<float> seed = seeds(batch.size());
    runner.bind(ids, batch.data());
    runner.bind(positions, at.data());
    runner.bind(dy, seed.data());
    runner.run();
    runner.finish();
    const float* read = runner.output<float>(x);
    return {read, read + std::ssize(batch) * kHidden};
  }
  static std::vector<float> seeds(size_t tokens) {
    std::vector<float> seed(tokens * kOut);
    for (size_t i = 0; i < seed.size(); ++i) seed[i] = wave(static_cast<int64_t>(3 * i + 1));
    return seed;
  }
  std::vector<float> gradient(const Weight& weight) const {
    std::vector<float> out(static_cast<size_t>(weight.rows * weight.width), -77.f);
    optimizer->read_gradient(weight, out.data());
    return out;
  }
  /// Overwrites a row of a table's gradient with what makes no sense.
  void spoil(const Weight& table, int64_t row) {
    auto* at = static_cast<float*>(optimizer->gradients().arrays[static_cast<size_t>(table.slot)]) +
               row * table.width;
    const size_t bytes = static_cast<size_t>(table.width) * sizeof(float);
    if (parameters.on_gpu()) {
      cuda_stream().fill(at, 0xff, bytes);  // a NaN
    } else {
      std::fill_n(at, table.width, NAN);
    }
  }

  nn::Parameters parameters;
  Weight matrix, words, places, bias;
  Plan plan;
  Value ids, positions, x, dy;
  ThreadPool pool{2};
  WeightArrays arrays;
  std::unique_ptr<Optimizer> optimizer;
};

const std::vector<int32_t> kBatch = {7, 3, 39, 3, 0, 21, 7};
const std::vector<int32_t> kRead = {0, 3, 7, 21, 39};

void expect_close(const std::vector<float>& got, const std::vector<double>& wanted,
                  const char* what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], 2e-5 * std::max(1., std::abs(wanted[i]))) << what << " " << i;
  }
}

/// Row o of the matrix' gradient is the sum of dy[t, o] x[t, :], and of the bias' that of dy[t, o].
void expect_checkpoint_order(const Target& target) {
  SmallModel model(target);
  const std::vector<float> read = model.run(kBatch);
  const std::vector<float> seed = SmallModel::seeds(kBatch.size());
  std::vector<double> matrix(kOut * kHidden), bias(kOut);
  for (size_t t = 0; t < kBatch.size(); ++t) {
    for (size_t o = 0; o < kOut; ++o) {
      const double d = seed[t * kOut + o];
      bias[o] += d;
      for (size_t k = 0; k < kHidden; ++k) matrix[o * kHidden + k] += d * read[t * kHidden + k];
    }
  }
  expect_close(model.gradient(model.matrix), matrix, "matrix");
  expect_close(model.gradient(model.bias), bias, "bias");

  SmallModel other(available_isas().back());
  other.run(kBatch);
  for (const Weight& table : {other.words, other.places}) {
    const std::vector<float> wanted = other.gradient(table);
    expect_close(model.gradient(table), {wanted.begin(), wanted.end()}, "table");
  }
  const std::vector<float> words = model.gradient(model.words);
  for (int32_t row = 0; row < kWords; ++row) {
    const bool touched = std::find(kRead.begin(), kRead.end(), row) != kRead.end();
    const bool zero =
        std::all_of(words.begin() + row * kHidden, words.begin() + (row + 1) * kHidden,
                    [](float value) { return value == 0; });
    EXPECT_NE(touched, zero) << "row " << row;
  }
}

void expect_touched_rows(const Target& target) {
  SmallModel model(target);
  Optimizer& optimizer = *model.optimizer;
  EXPECT_TRUE(optimizer.touched_rows(model.words).empty());
  model.run(kBatch);
  EXPECT_EQ(optimizer.touched_rows(model.words), kRead);
  EXPECT_EQ(optimizer.touched_rows(model.places), (std::vector<int32_t>{0, 2, 4}));
  std::vector<int32_t> all(kOut);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(optimizer.touched_rows(model.matrix), all);
  model.run({5});
  EXPECT_EQ(optimizer.touched_rows(model.words), (std::vector<int32_t>{0, 3, 5, 7, 21, 39}));

  const std::vector<float> before = model.gradient(model.words);
  for (int64_t row = 0; row < kWords; ++row) {
    const auto touched = optimizer.touched_rows(model.words);
    if (std::find(touched.begin(), touched.end(), row) == touched.end()) {
      model.spoil(model.words, row);
    }
  }
  EXPECT_EQ(model.gradient(model.words), before);
}

void expect_nothing_left(const Target& target) {
  SmallModel model(target);
  Optimizer& optimizer = *model.optimizer;
  for (const bool drops : {true, false}) {
    model.run(kBatch);
    EXPECT_EQ(optimizer.touched_rows(model.words), kRead);
    if (drops) {
      optimizer.drop_gradients();
    } else {
      optimizer.step(1e-3, model.pool);
    }
    EXPECT_TRUE(optimizer.touched_rows(model.words).empty());
    for (const Weight& weight : {model.matrix, model.words, model.bias}) {
      for (const float value : model.gradient(weight)) ASSERT_EQ(value, 0);
    }
  }
}

void expect_round_trip(const Target& target) {
  SmallModel model(target);
  model.run(kBatch);
  const std::vector<float> untouched = model.gradient(model.places);
  for (const Weight& weight : {model.matrix, model.words, model.bias}) {
    std::vector<float> rows(static_cast<size_t>(weight.rows * weight.width));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = wave(static_cast<int64_t>(i) + weight.slot);
    model.optimizer->write_gradient(weight, rows.data());
    EXPECT_EQ(model.gradient(weight), rows);
    EXPECT_EQ(std::ssize(model.optimizer->touched_rows(weight)), weight.rows);
    EXPECT_TRUE(model.optimizer->gradient_is_finite(weight));
    rows[rows.size() / 2] = INFINITY;
    model.optimizer->write_gradient(weight, rows.data());
    EXPECT_FALSE(model.optimizer->gradient_is_finite(weight));
  }
  EXPECT_EQ(model.gradient(model.places), untouched);
}

/// What one set of parameters gives, another of any layout takes: both then update alike.
void expect_exchange(const Target& from, const Target& to) {
  SmallModel first(from), second(to);
  first.run(kBatch);
  for (const nn::Parameter& parameter : first.parameters.list()) {
    second.optimizer->write_gradient(parameter.weight, first.gradient(parameter.weight).data());
  }
  const double norm = first.optimizer->step(1e-3, first.pool).grad_norm;
  EXPECT_NEAR(second.optimizer->step(1e-3, second.pool).grad_norm, norm, 1e-5 * norm);
}

const auto on_isas = [](auto expect) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const ScopedIsa scoped(isa);
    expect(Target(isa));
  }
};

TEST(Gradients, ComeInTheOrderOfCheckpoints) { on_isas(expect_checkpoint_order); }
TEST(Gradients, TellWhichRowsWereTouchedAndTheRestIsZero) { on_isas(expect_touched_rows); }
TEST(Gradients, AreGoneAfterAStep) { on_isas(expect_nothing_left); }
TEST(Gradients, ComeBackAsTheyWereWritten) { on_isas(expect_round_trip); }
TEST(Gradients, GoFromOneLayoutToAnother) {
  on_isas([](const Target& target) { expect_exchange(target, available_isas().back()); });
}

class GpuGradients : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
    use_cuda_device(0);
  }
};

TEST_F(GpuGradients, ComeInTheOrderOfCheckpoints) { expect_checkpoint_order(Target::cuda()); }
TEST_F(GpuGradients, TellWhichRowsWereTouchedAndTheRestIsZero) {
  expect_touched_rows(Target::cuda());
}
TEST_F(GpuGradients, AreGoneAfterAStep) { expect_nothing_left(Target::cuda()); }
TEST_F(GpuGradients, ComeBackAsTheyWereWritten) { expect_round_trip(Target::cuda()); }
TEST_F(GpuGradients, GoFromOneLayoutToAnother) {
  expect_exchange(Target::cuda(), chosen_isa());
  expect_exchange(chosen_isa(), Target::cuda());
}

}  // namespace
}  // namespace hone::optim
