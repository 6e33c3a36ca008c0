// What a tape promises to ops, held with three ops of the test's own.
#include "autograd/tape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "plan/frame.h"
#include "plan/runner.h"

namespace hone {
namespace {

constexpr Axis kItems{1};

/// Records over doubles; the steps of its ops do what their names say.
class ToyTape {
 public:
  ToyTape() : tape(plan, {}) {}

  Value input(bool needs_gradient = true) {
    const Value x = plan.input(DType::f64, kItems, 1);
    if (needs_gradient) tape.on_backward(x, [] {});
    inputs.push_back(x);
    return x;
  }
  /// y = x^2, which is cheap to compute again.
  Value square(Value x) {
    const Value y = emit("square", {x}, [](const double* v) { return v[0] * v[0]; });
    if (!tape.needs_gradient(x)) return y;
    tape.recompute(y, [this, x] {
      return emit("square", {tape.saved(x)}, [](const double* v) { return v[0] * v[0]; });
    });
    tape.on_backward(y, [this, x, y] {
      accumulate(x, emit("square_backward", {tape.saved(x), *tape.gradient(y)},
                         [](const double* v) { return 2 * v[0] * v[1]; }));
    });
    return y;
  }
  Value triple(Value x) {
    const Value y = emit("triple", {x}, [](const double* v) { return 3 * v[0]; });
    if (!tape.needs_gradient(x)) return y;
    tape.on_backward(y, [this, x, y] {
      accumulate(x, emit("triple_backward", {*tape.gradient(y)},
                         [](const double* v) { return 3 * v[0]; }));
    });
    return y;
  }
  /// y = sqrt(x), whose gradient is computed from y.
  Value root(Value x) {
    const Value y = emit("root", {x}, [](const double* v) { return std::sqrt(v[0]); });
    tape.on_backward(y, [this, x, y] {
      accumulate(x, emit("root_backward", {y, *tape.gradient(y)},
                         [](const double* v) { return v[1] / (2 * v[0]); }));
    });
    return y;
  }
  Value add(Value a, Value b) {
    const Value y = emit("add", {a, b}, [](const double* v) { return v[0] + v[1]; });
    tape.on_backward(y, [this, a, b, y] {
      for (const Value& each : {a, b}) accumulate(each, *tape.gradient(y));
    });
    return y;
  }
  /// Gives the gradient of the first input, whose values are 1, 2 and 3, where that of y is 1.
  std::vector<double> gradient(Value y) {
    const Value one = plan.input(DType::f64, kItems, 1);
    tape.set_gradient(y, one);
    tape.backward();
    plan.keep(y);
    plan.keep(*tape.gradient(inputs.front()));
    plan.prune();
    ThreadPool pool(1);
    Runner runner(plan, {}, pool);
    Extents extents;
    extents[kItems] = 3;
    runner.resize(extents);
    const std::vector<double> ones(3, 1), values = {1, 2, 3};
    for (const Value& input : inputs) runner.bind(input, values.data());
    runner.bind(one, ones.data());
    runner.run();
    const auto* out = runner.output<double>(*tape.gradient(inputs.front()));
    return {out, out + 3};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const Step& step : plan.steps()) list.emplace_back(step.name);
    return list;
  }
  int64_t count(std::string_view name) const {
    const auto list = names();
    return std::count(list.begin(), list.end(), name);
  }

  Plan plan;
  Tape tape;
  std::vector<Value> inputs;

 private:
  Value emit(const char* name, const std::vector<Value>& reads, double (*compute)(const double*)) {
    const Value y = plan.temporary(DType::f64, kItems, 1);
    plan.add({name, reads, {y}, [reads, y, compute](const Frame& frame) {
                for (int64_t i = 0; i < frame.rows(y); ++i) {
                  double values[2] = {};
                  for (size_t k = 0; k < reads.size(); ++k) {
                    values[k] = frame.data<const double>(reads[k])[i];
                  }
                  frame.data<double>(y)[i] = compute(values);
                }
              }});
    return y;
  }
  void accumulate(Value x, Value share) {
    if (!tape.needs_gradient(x)) return;
    const auto before = tape.gradient(x);
    const auto sum = [](const double* v) { return v[0] + v[1]; };
    tape.set_gradient(x, before ? emit("accumulate", {*before, share}, sum) : share);
  }
};

using Names = std::vector<std::string>;
using Numbers = std::vector<double>;

TEST(Tape, EmitsBackwardStepsLastFirst) {
  ToyTape toy;
  const Value y = toy.triple(toy.square(toy.input()));
  EXPECT_EQ(toy.gradient(y), (Numbers{6, 12, 18}));
  EXPECT_EQ(toy.names(), (Names{"square", "triple", "triple_backward", "square_backward"}));
}

TEST(Tape, AddsUpTheGradientsOfAllReaders) {
  ToyTape toy;
  const Value x = toy.input();
  const Value y = toy.add(toy.add(toy.square(x), toy.triple(x)), x);
  EXPECT_EQ(toy.gradient(y), (Numbers{6, 8, 10}));
  EXPECT_EQ(toy.count("accumulate"), 2);
}

TEST(Tape, LeavesOutWhatNothingContributedTo) {
  ToyTape toy;
  const Value x = toy.input();
  toy.square(x);  // nobody reads it
  EXPECT_EQ(toy.gradient(toy.triple(x)), (Numbers{3, 3, 3}));
  EXPECT_EQ(toy.count("square_backward"), 0);
  EXPECT_EQ(toy.count("square"), 0) << "a step that nobody reads";
}

TEST(Tape, ComputesAgainOnceForAllReaders) {
  ToyTape toy;
  const Value s = toy.square(toy.input());
  // Two squares read s in their backward passes, whose copy comes from one step.
  const Value y = toy.add(toy.square(s), toy.square(s));
  EXPECT_EQ(toy.gradient(y), (Numbers{8, 64, 216}));
  EXPECT_EQ(toy.count("square"), 4);
  EXPECT_NE(toy.tape.saved(s).id, s.id);
  EXPECT_EQ(toy.tape.saved(s).id, toy.tape.saved(s).id);
}

TEST(Tape, GivesNoGradientToWhatNeedsNone) {
  ToyTape toy;
  const Value x = toy.input();
  const Value fixed = toy.square(toy.input(false));
  EXPECT_FALSE(toy.tape.needs_gradient(fixed));
  EXPECT_EQ(toy.gradient(toy.add(toy.triple(x), fixed)), (Numbers{3, 3, 3}));
  EXPECT_EQ(toy.count("square_backward"), 0);
}

TEST(Tape, CheckpointedSegmentsRunAgainButForTheirLastStep) {
  const auto segment = [](ToyTape& toy) {
    return [&toy](Value x) { return toy.root(toy.square(toy.triple(x))); };
  };
  // The triple behind the segment reads x too, and gives its share of the gradient first.
  const auto head = [](ToyTape& toy, Value x, Value y) {
    return toy.add(toy.square(y), toy.triple(x));
  };
  ToyTape plain;
  const Value x = plain.square(plain.input());
  const Numbers wanted = plain.gradient(head(plain, x, segment(plain)(x)));
  ToyTape toy;
  const Value again = toy.square(toy.input());
  EXPECT_EQ(toy.gradient(head(toy, again, toy.tape.checkpoint(again, segment(toy)))), wanted);
  EXPECT_EQ(toy.count("triple"), plain.count("triple") + 1);
  EXPECT_EQ(toy.count("root"), 1);
  EXPECT_EQ(toy.count("triple_backward"), 2);
  EXPECT_EQ(toy.count("square_backward"), 3);
}

TEST(Tape, ReadsShadowsOfWeightsKeptInFp32) {
  Plan plan;
  Tape tape(plan, {true, false, true});
  const Weight wide{0, DType::f32, 4, 4}, frozen{1, DType::f32, 4, 4};
  EXPECT_TRUE(tape.trainable(wide));
  EXPECT_FALSE(tape.trainable(frozen));
  EXPECT_FALSE(tape.trainable({}));
  EXPECT_EQ(tape.in_dtype(frozen, DType::bf16).dtype, DType::bf16);
  EXPECT_EQ(tape.in_dtype(wide, DType::f32).dtype, DType::f32);
  EXPECT_EQ(tape.shadows(), (std::vector<bool>{false, true, false}));
  Tape inference(plan);
  EXPECT_FALSE(inference.training());
  EXPECT_FALSE(inference.trainable(wide));
}

TEST(Tape, SetsAGradientOnceForEachPartOfAWeight) {
  Plan plan;
  Tape tape(plan, {true, true});
  const Weight first{0, DType::f32, 2, 8, 0}, second{0, DType::f32, 2, 8, 16};
  EXPECT_FALSE(tape.sets_gradient(first)) << "before set_gradients()";
  tape.set_gradients();
  EXPECT_TRUE(tape.sets_gradient(first));
  EXPECT_TRUE(tape.sets_gradient(second));
  EXPECT_FALSE(tape.sets_gradient({0, DType::f32, 3, 8, 8})) << "it overlaps both";
  EXPECT_EQ(tape.set_slots(), (std::vector<bool>{true, false}));
}

TEST(Tape, RefusesAGradientOfAnotherShape) {
  Plan plan;
  Tape tape(plan, {});
  const Value x = plan.input(DType::f64, kItems, 4);
  EXPECT_THROW(tape.set_gradient(x, plan.input(DType::f64, kItems, 3)), Error);
  EXPECT_THROW(tape.set_gradient(x, plan.input(DType::f64, Axis::one, 4)), Error);
}

}  // namespace
}  // namespace hone
