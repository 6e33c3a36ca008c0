// Optimisers against PyTorch's formulas in double, on every device: decay groups, clipping, loss
// scale, momentum, frozen slots, steps that are skipped, and what a checkpoint restores.
#include "optim/optimizer.h"

#include <cstring>
#include <limits>

#include "device/cuda.h"
#include "optim/optimizer_fixture.h"

namespace hone::optim {
namespace {

constexpr int kUpdates = 7;
constexpr double kRate = 0.02;

struct OptimizerCase {
  const char* name;
  OptimizerOptions options;
};

constexpr OptimizerKind kSgdKind = OptimizerKind::sgd;
const OptimizerCase kOptimizers[] = {
    {"adamw", {.max_grad_norm = 0}},
    {"adamw_betas", {.beta1 = 0.7, .beta2 = 0.9, .eps = 1e-3, .max_grad_norm = 0}},
    {"adamw_decay", {.weight_decay = 0.5, .max_grad_norm = 0}},
    {"adamw_clipped", {.weight_decay = 0.1, .max_grad_norm = 20}},
    {"sgd", {.kind = kSgdKind, .max_grad_norm = 0}},
    {"sgd_momentum", {.kind = kSgdKind, .momentum = 0.8, .max_grad_norm = 0}},
    {"sgd_decay", {.kind = kSgdKind, .momentum = 0.5, .weight_decay = 0.3, .max_grad_norm = 0}},
    {"sgd_clipped", {.kind = kSgdKind, .weight_decay = 0.3, .max_grad_norm = 1}},
};

void expect_formulas(const Target& target, const OptimizerOptions& options) {
  for (const double scale : {1., 1024.}) {
    SCOPED_TRACE(scale);
    SmallSet set(target);
    TorchReference reference(set, options);
    const auto frozen = set.values(3);
    const auto optimizer = set.optimizer(options);
    for (int number = 0; number < kUpdates; ++number) {
      SCOPED_TRACE(number);
      const double rate = kRate * (number + 1);
      set.set_gradients(*optimizer, number, static_cast<float>(scale));
      const StepReport report = optimizer->step(rate, set.pool, scale);
      const double norm = reference.step(number, rate);
      EXPECT_FALSE(report.skipped);
      EXPECT_NEAR(report.grad_norm, norm, 1e-5 * norm);
      reference.expect(set, 2e-5);
    }
    EXPECT_EQ(set.values(3), frozen);
    EXPECT_EQ(optimizer->steps(), kUpdates);
  }
}

void expect_skipped_steps(const Target& target, const OptimizerOptions& options) {
  SmallSet set(target), clean(target);
  const auto optimizer = set.optimizer(options);
  const auto straight = clean.optimizer(options);
  for (const float bad : {std::numeric_limits<float>::infinity(), NAN}) {
    set.set_gradients(*optimizer, 0);
    std::vector<float> spoilt = SmallSet::gradient(set.parameters.list()[1], 0);
    spoilt[5] = bad;
    optimizer->write_gradient(set.weight(1), spoilt.data());
    EXPECT_TRUE(optimizer->gradient_is_finite(set.weight(0)));
    EXPECT_FALSE(optimizer->gradient_is_finite(set.weight(1)));
    const auto before = set.all();
    const int64_t steps = optimizer->steps();
    EXPECT_TRUE(optimizer->step(kRate, set.pool).skipped);
    EXPECT_EQ(set.all(), before);
    EXPECT_EQ(optimizer->steps(), steps);
    for (size_t slot = 0; slot < 3; ++slot) {
      std::vector<float> left(set.values(slot).size(), 1.f);
      optimizer->read_gradient(set.weight(slot), left.data());
      EXPECT_EQ(left, std::vector<float>(left.size())) << slot;
    }
    // Nothing is left in the moments either: later steps are those of a run without it.
    for (int number = 0; number < 2; ++number) {
      set.set_gradients(*optimizer, number);
      clean.set_gradients(*straight, number);
      optimizer->step(kRate, set.pool);
      straight->step(kRate, clean.pool);
    }
    EXPECT_EQ(set.all(), clean.all());
  }
}

void update(SmallSet& set, Optimizer& optimizer, int first, int end) {
  for (int number = first; number < end; ++number) {
    set.set_gradients(optimizer, number);
    optimizer.step(kRate, set.pool);
  }
}

void expect_restored(const Target& target, const OptimizerOptions& options) {
  SmallSet whole(target), part(target);
  const auto straight = whole.optimizer(options);
  update(whole, *straight, 0, kUpdates);
  const auto first = part.optimizer(options);
  update(part, *first, 0, 3);
  first->fetch_moments();
  const auto second = part.optimizer(options);
  second->fetch_moments();
  for (const nn::Parameter& parameter : part.parameters.list()) {
    const Weight& weight = parameter.weight;
    const auto bytes = static_cast<size_t>(part.parameters.elements(weight)) * sizeof(float);
    if (const float* m = first->first_moment(weight)) {
      std::memcpy(second->first_moment(weight), m, bytes);
    }
    if (const float* v = first->second_moment(weight)) {
      std::memcpy(second->second_moment(weight), v, bytes);
    }
  }
  second->send_moments();
  second->set_steps(first->steps());
  update(part, *second, 3, kUpdates);
  EXPECT_EQ(part.all(), whole.all());
  EXPECT_EQ(second->steps(), straight->steps());
}

std::string optimizer_name(const testing::TestParamInfo<OptimizerCase>& test) {
  return test.param.name;
}

class Optimizers : public testing::TestWithParam<OptimizerCase> {};

TEST_P(Optimizers, FollowTheFormulas) { expect_formulas(chosen_isa(), GetParam().options); }
TEST_P(Optimizers, SkipAStepThatIsNotFinite) {
  expect_skipped_steps(chosen_isa(), GetParam().options);
}
TEST_P(Optimizers, GoOnFromTheirMomentsBitForBit) {
  expect_restored(chosen_isa(), GetParam().options);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Optimizers, testing::ValuesIn(kOptimizers), optimizer_name);

class GpuOptimizers : public testing::TestWithParam<OptimizerCase> {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
    use_cuda_device(0);
  }
};

TEST_P(GpuOptimizers, FollowTheFormulas) { expect_formulas(Target::cuda(), GetParam().options); }
TEST_P(GpuOptimizers, SkipAStepThatIsNotFinite) {
  expect_skipped_steps(Target::cuda(), GetParam().options);
}
TEST_P(GpuOptimizers, GoOnFromTheirMomentsBitForBit) {
  expect_restored(Target::cuda(), GetParam().options);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GpuOptimizers, testing::ValuesIn(kOptimizers), optimizer_name);

TEST(Optimizer, KeepsTheMomentsThatItsKindNeeds) {
  SmallSet set(chosen_isa());
  const auto adamw = set.optimizer({});
  const auto plain = set.optimizer({.kind = kSgdKind});
  const auto heavy = set.optimizer({.kind = kSgdKind, .momentum = 0.9});
  EXPECT_NE(adamw->first_moment(set.weight(0)), nullptr);
  EXPECT_NE(adamw->second_moment(set.weight(0)), nullptr);
  EXPECT_EQ(adamw->first_moment(set.weight(3)), nullptr) << "of a frozen slot";
  EXPECT_EQ(plain->first_moment(set.weight(0)), nullptr);
  EXPECT_NE(heavy->first_moment(set.weight(0)), nullptr);
  EXPECT_EQ(heavy->second_moment(set.weight(0)), nullptr);
}

TEST(Optimizer, DropsGradientsUnused) {
  SmallSet set(chosen_isa());
  const auto before = set.all();
  const auto optimizer = set.optimizer({.kind = kSgdKind});
  set.set_gradients(*optimizer, 0);
  optimizer->drop_gradients();
  EXPECT_EQ(optimizer->step(1, set.pool).grad_norm, 0);
  EXPECT_EQ(set.all(), before);
}

}  // namespace
}  // namespace hone::optim
