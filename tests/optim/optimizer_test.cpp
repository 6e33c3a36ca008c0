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
constexpr OptimizerKind k8bit = OptimizerKind::adamw_8bit;
const OptimizerCase kOptimizers[] = {
    {"adamw", {.max_grad_norm = 0}},
    {"adamw_betas", {.beta1 = 0.7, .beta2 = 0.9, .eps = 1e-3, .max_grad_norm = 0}},
    {"adamw_decay", {.weight_decay = 0.5, .max_grad_norm = 0}},
    {"adamw_clipped", {.weight_decay = 0.1, .max_grad_norm = 20}},
    // All slots of the set are small: moments are those of adamw.
    {"adamw_8bit_small", {.kind = k8bit, .weight_decay = 0.1, .max_grad_norm = 20}},
    {"sgd", {.kind = kSgdKind, .max_grad_norm = 0}},
    {"sgd_momentum", {.kind = kSgdKind, .momentum = 0.8, .max_grad_norm = 0}},
    {"sgd_nesterov",
     {.kind = kSgdKind,
      .momentum = 0.8,
      .nesterov = true,
      .weight_decay = 0.2,
      .max_grad_norm = 0}},
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

void expect_skipped_steps(const Target& target, const OptimizerOptions& options, int64_t rows = 7) {
  SmallSet set(target, rows), clean(target, rows);
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

void expect_restored(const Target& target, const OptimizerOptions& options, int64_t rows = 7) {
  SmallSet whole(target, rows), part(target, rows);
  const auto straight = whole.optimizer(options);
  update(whole, *straight, 0, kUpdates);
  const auto first = part.optimizer(options);
  update(part, *first, 0, 3);
  first->fetch_state();
  const auto second = part.optimizer(options);
  second->fetch_state();
  const StateLayout& layout = first->layout();
  for (size_t kind = 0; kind < layout.kinds().size(); ++kind) {
    for (const nn::Parameter& parameter : part.parameters.list()) {
      const auto count = static_cast<size_t>(layout.place(kind, parameter.weight).count);
      if (count == 0) continue;
      std::memcpy(second->state(kind, parameter.weight), first->state(kind, parameter.weight),
                  count * dtype_size(layout.kinds()[kind].dtype));
    }
  }
  second->send_state();
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

constexpr int64_t kManyRows = 501;  // 4,509 elements: 8 bits

/// Steps of 8 bits beside those of AdamW, whose moments are exact.
void expect_8bit_near_adamw(const Target& target) {
  SmallSet exact(target, kManyRows), quantized(target, kManyRows);
  const auto adamw = exact.optimizer({.weight_decay = 0.1});
  const auto bits = quantized.optimizer({.kind = k8bit, .weight_decay = 0.1});
  const auto start = quantized.values(1);
  update(exact, *adamw, 0, kUpdates);
  update(quantized, *bits, 0, kUpdates);
  EXPECT_EQ(quantized.values(0), exact.values(0)) << "of a small slot";
  EXPECT_NE(quantized.values(1), exact.values(1));
  double apart = 0, moved = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    apart += std::abs(quantized.values(1)[i] - exact.values(1)[i]);
    moved += std::abs(exact.values(1)[i] - start[i]);
  }
  EXPECT_LT(apart, 0.03 * moved);
  EXPECT_LT(bits->layout().bytes(), adamw->layout().bytes() / 2);
}

TEST(Adamw8bit, FollowsAdamW) { expect_8bit_near_adamw(chosen_isa()); }
TEST(Adamw8bit, SkipsAStepThatIsNotFinite) {
  expect_skipped_steps(chosen_isa(), {.kind = k8bit}, kManyRows);
}
TEST(Adamw8bit, GoesOnFromItsBytesBitForBit) {
  expect_restored(chosen_isa(), {.kind = k8bit}, kManyRows);
}

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

TEST(Adafactor, SkipsAStepThatIsNotFinite) {
  expect_skipped_steps(chosen_isa(), {.kind = OptimizerKind::adafactor});
}
TEST(Adafactor, GoesOnFromItsAveragesBitForBit) {
  expect_restored(chosen_isa(), {.kind = OptimizerKind::adafactor});
}

class GpuAdamw8bit : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
    use_cuda_device(0);
  }
};

TEST_F(GpuAdamw8bit, FollowsAdamW) { expect_8bit_near_adamw(Target::cuda()); }
TEST_F(GpuAdamw8bit, SkipsAStepThatIsNotFinite) {
  expect_skipped_steps(Target::cuda(), {.kind = k8bit}, kManyRows);
}
TEST_F(GpuAdamw8bit, GoesOnFromItsBytesBitForBit) {
  expect_restored(Target::cuda(), {.kind = k8bit}, kManyRows);
}
/// A step of both devices from the same gradients gives almost the same; later ones part where
/// a moment lies between two codes.
TEST_F(GpuAdamw8bit, AgreesWithTheProcessor) {
  SmallSet host(chosen_isa(), kManyRows), gpu(Target::cuda(), kManyRows);
  const auto on_host = host.optimizer({.kind = k8bit});
  const auto on_gpu = gpu.optimizer({.kind = k8bit});
  update(host, *on_host, 0, kUpdates);
  update(gpu, *on_gpu, 0, kUpdates);
  double apart = 0;
  for (size_t i = 0; i < host.values(1).size(); ++i) {
    apart = std::max<double>(apart, std::abs(host.values(1)[i] - gpu.values(1)[i]));
  }
  EXPECT_LT(apart, 0.1 * kRate);
}

TEST(Optimizer, KeepsTheMomentsThatItsKindNeeds) {
  SmallSet set(chosen_isa());
  const auto adamw = set.optimizer({});
  const auto plain = set.optimizer({.kind = kSgdKind});
  const auto heavy = set.optimizer({.kind = kSgdKind, .momentum = 0.9});
  ASSERT_EQ(adamw->layout().kinds().size(), 2u);
  EXPECT_NE(adamw->state(0, set.weight(0)), nullptr);
  EXPECT_NE(adamw->state(1, set.weight(0)), nullptr);
  EXPECT_EQ(adamw->state(0, set.weight(3)), nullptr) << "of a frozen slot";
  EXPECT_EQ(plain->layout().kinds().size(), 0u);
  ASSERT_EQ(heavy->layout().kinds().size(), 1u);
  EXPECT_NE(heavy->state(0, set.weight(0)), nullptr);
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
