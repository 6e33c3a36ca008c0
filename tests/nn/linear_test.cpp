// A linear layer of three stacked modules with adapters beside two of them, against its formula in
// double: W x + bias + alpha / rank * B (A drop(x)), and the gradients of all of it.
#include "nn/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "nn/packed_rows.h"
#include "plan/runner.h"

namespace hone::nn {
namespace {

constexpr Axis kTokenRows{1};
constexpr int64_t kRowCount = 9, kIn = 10, kOut = 12, kShare = 4, kRank = 2;
constexpr double kAlpha = 6, kDropped = 0.4;
constexpr uint64_t kFirstSite = 21;
const std::vector<std::string> kModules = {"query", "key", "value"};
const LoraTargets kTargets{{.rank = kRank, .alpha = kAlpha, .dropout = kDropped},
                           [](const std::string& module) { return module != "key"; }};

/// Rows of `width` elements, one behind the other.
struct Table {
  int64_t width;
  std::vector<double> values;
  double at(int64_t row, int64_t column) const { return values[row * width + column]; }
  double& at(int64_t row, int64_t column) { return values[row * width + column]; }
};

Table drawn(int64_t rows, int64_t width, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  Table table{width, std::vector<double>(static_cast<size_t>(rows * width))};
  for (double& value : table.values) value = normal(random);
  return table;
}

/// What a layer is given, and what it then gives.
struct Layer {
  std::map<std::string, Table> weights;  ///< by the first of a parameter's tensors
  Table x = drawn(kRowCount, kIn, 1);
  Table dy = drawn(kRowCount, kOut, 2);
  std::vector<int64_t> random = {7, 3};
  std::vector<int64_t> samples;
  std::vector<int32_t> places;

  Layer() {
    for (int64_t t = 0; t < kRowCount; ++t) {
      samples.push_back(50 + t / 4);
      places.push_back(static_cast<int32_t>(t % 4));
    }
  }
  double kept(uint64_t site, int64_t row, int64_t channel) const {
    const kernels::Dropout dropout{static_cast<float>(kDropped), kernels::dropout_key(7, 3, site),
                                   samples.data(), places.data()};
    return kernels::dropout_factor(dropout, row, static_cast<uint32_t>(channel));
  }
};

struct Given {
  Table y{kOut, std::vector<double>(kRowCount* kOut)};
  Table dx{kIn, std::vector<double>(kRowCount* kIn)};
  std::map<std::string, Table> gradients;
};

/// Adds the share of the adapter beside outputs from `column` on.
void add_adapter(const Layer& layer, const std::string& module, int64_t column, uint64_t site,
                 bool drops, Given& out) {
  const double scale = kAlpha / kRank;
  const Table& a = layer.weights.at(module + kLoraA);
  const Table& b = layer.weights.at(module + kLoraB);
  Table& da = out.gradients[module + kLoraA] = {kIn, std::vector<double>(kRank * kIn)};
  Table& db = out.gradients[module + kLoraB] = {kRank, std::vector<double>(kShare * kRank)};
  const auto factor = [&](int64_t t, int64_t k) { return drops ? layer.kept(site, t, k) : 1.; };
  for (int64_t t = 0; t < kRowCount; ++t) {
    for (int64_t r = 0; r < kRank; ++r) {
      double low = 0, dlow = 0;
      for (int64_t k = 0; k < kIn; ++k) low += a.at(r, k) * layer.x.at(t, k) * factor(t, k);
      for (int64_t o = 0; o < kShare; ++o) {
        const double d = layer.dy.at(t, column + o);
        out.y.at(t, column + o) += scale * b.at(o, r) * low;
        db.at(o, r) += scale * d * low;
        dlow += scale * b.at(o, r) * d;
      }
      for (int64_t k = 0; k < kIn; ++k) {
        da.at(r, k) += dlow * layer.x.at(t, k) * factor(t, k);
        out.dx.at(t, k) += dlow * a.at(r, k) * factor(t, k);
      }
    }
  }
}

Given reference(const Layer& layer, bool drops) {
  Given out;
  const Table& weight = layer.weights.at("query.weight");
  const Table& bias = layer.weights.at("query.bias");
  Table& dw = out.gradients["query.weight"] = {kIn, std::vector<double>(kOut * kIn)};
  Table& db = out.gradients["query.bias"] = {1, std::vector<double>(kOut)};
  for (int64_t t = 0; t < kRowCount; ++t) {
    for (int64_t o = 0; o < kOut; ++o) {
      out.y.at(t, o) = bias.at(o, 0);
      db.at(o, 0) += layer.dy.at(t, o);
      for (int64_t k = 0; k < kIn; ++k) {
        out.y.at(t, o) += weight.at(o, k) * layer.x.at(t, k);
        dw.at(o, k) += layer.dy.at(t, o) * layer.x.at(t, k);
        out.dx.at(t, k) += layer.dy.at(t, o) * weight.at(o, k);
      }
    }
  }
  add_adapter(layer, "query", 0, kFirstSite, drops, out);
  add_adapter(layer, "value", 2 * kShare, kFirstSite + 1, drops, out);
  return out;
}

void expect_near(const Table& got, const Table& wanted, const std::string& what) {
  ASSERT_EQ(got.values.size(), wanted.values.size()) << what;
  for (size_t i = 0; i < wanted.values.size(); ++i) {
    ASSERT_NEAR(got.values[i], wanted.values[i], 2e-5 * std::max(1., std::abs(wanted.values[i])))
        << what << " at " << i;
  }
}

/// The layer as hone runs it, in fp32.
class Adapted {
 public:
  explicit Adapted(Isa isa, Layer& layer) : parameters(isa), linear(make()) {
    parameters.allocate();
    unsigned seed = 10;
    for (const Parameter& parameter : parameters.list()) {
      const int64_t width = row_width(parameter);
      const Table& table = layer.weights[parameter.tensors.front()] =
          drawn(row_count(parameter), width, seed++);
      store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
        std::copy_n(table.values.begin() + first * width, count * width, out);
      });
      gradients.emplace_back(parameters.bytes_of(parameter));
      std::fill_n(gradients.back().as<std::byte>(), gradients.back().size(), std::byte{0});
      pointers.push_back(gradients.back().data());
    }
  }

  Given run(const Layer& layer, bool training, kernels::Activation activation) {
    Plan plan;
    Tape tape = training ? Tape(plan, std::vector<bool>(pointers.size(), true)) : Tape(plan);
    const Value x = plan.input(DType::f32, kTokenRows, kIn);
    if (training) tape.on_backward(x, [] {});
    const ops::DropoutSite site{0, kFirstSite, plan.input(DType::i64, Axis::one, 2),
                                plan.input(DType::i64, kTokenRows, 1),
                                plan.input(DType::i32, kTokenRows, 1)};
    const Value y = linear(tape, x, {.activation = activation}, site);
    plan.keep(y);
    const Value dy = plan.input(DType::f32, kTokenRows, kOut);
    if (training) {
      tape.set_gradient(y, dy);
      tape.backward();
      plan.keep(*tape.gradient(x));
    }
    ThreadPool pool(2);
    Runner runner(plan, WeightArrays(parameters.pointers()), pool, {.gradients = {pointers}});
    Extents extents;
    extents[kTokenRows] = kRowCount;
    runner.resize(extents);
    const std::vector<float> in(layer.x.values.begin(), layer.x.values.end());
    const std::vector<float> seed(layer.dy.values.begin(), layer.dy.values.end());
    runner.bind(x, in.data());
    runner.bind(dy, seed.data());
    runner.bind(site.random, layer.random.data());
    runner.bind(site.samples, layer.samples.data());
    runner.bind(site.positions, layer.places.data());
    runner.run();
    Given out;
    const auto* rows = runner.output<float>(y);
    out.y.values.assign(rows, rows + kRowCount * kOut);
    if (!training) return out;
    const auto* dx = runner.output<float>(*tape.gradient(x));
    out.dx.values.assign(dx, dx + kRowCount * kIn);
    for (const Parameter& parameter : parameters.list()) {
      Table& table = out.gradients[parameter.tensors.front()];
      const auto slot = static_cast<size_t>(parameter.weight.slot);
      read_rows(parameter, {parameters.isa(), DType::f32, pointers[slot]}, 0, row_count(parameter),
                [&](int64_t, int64_t count, const float* some) {
                  table.values.insert(table.values.end(), some,
                                      some + count * row_width(parameter));
                });
    }
    return out;
  }

  Parameters parameters;
  Linear linear;
  std::vector<Buffer> gradients;
  std::vector<void*> pointers;

 private:
  Linear make() { return Linear(parameters, kModules, kOut, kIn, DType::f32, &kTargets); }
};

TEST(LinearWithAdapters, TrainsByItsFormula) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const ScopedIsa scoped(isa);
    Layer layer;
    Adapted adapted(isa, layer);
    const Given got = adapted.run(layer, true, kernels::Activation::none);
    const Given wanted = reference(layer, true);
    expect_near(got.y, wanted.y, "y");
    expect_near(got.dx, wanted.dx, "the gradient of x");
    ASSERT_EQ(got.gradients.size(), 6u);
    for (const auto& [name, table] : wanted.gradients) {
      expect_near(got.gradients.at(name), table, "the gradient of " + name);
    }
  }
}

TEST(LinearWithAdapters, DropsNothingWhenItAnswers) {
  Layer layer;
  Adapted adapted(chosen_isa(), layer);
  Given wanted = reference(layer, false);
  for (double& value : wanted.y.values) value = std::tanh(value);
  expect_near(adapted.run(layer, false, kernels::Activation::tanh).y, wanted.y, "y");
}

}  // namespace
}  // namespace hone::nn
