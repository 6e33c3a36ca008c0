// Training in bf16 and fp16 beside fp32: how far values may be apart, shadows, loss scaling.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/cpu/gemm.h"
#include "optim/loss_scaler.h"
#include "optim/schedule.h"
#include "train/family_fixture.h"

namespace hone::train {
namespace {

constexpr double kRate = 1e-3;

struct TrainingCurves {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<bool> skipped;
};

TrainingCurves train(const std::string& name, DType dtype, double loss_scale = 1) {
  Family family(name);
  family.drop(0);
  family.load(chosen_isa());
  ThreadPool pool(2);
  const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(), {});
  Stepper stepper(*family.encoder, family.loss(), *optimizer, pool, {.dtype = dtype});
  TrainingCurves curves;
  for (size_t i = 0; i < family.steps(); ++i) {
    TrainingBatch batch = family.batch(i);
    batch.state.loss_scale = loss_scale;
    curves.losses.push_back(stepper.accumulate(batch.sequences, batch.state));
    const optim::StepReport report = optimizer->step(kRate, pool, loss_scale);
    curves.norms.push_back(report.grad_norm);
    curves.skipped.push_back(report.skipped);
  }
  return curves;
}

/// Loss and all gradients of one batch: the first, but ELECTRA's third, since in its first one a
/// ReLU flips in half precision.
std::vector<double> gradients(const std::string& name, DType dtype, double loss_scale) {
  Family family(name);
  family.drop(0);
  family.load(chosen_isa());
  ThreadPool pool(2);
  const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(), {});
  Stepper stepper(*family.encoder, family.loss(), *optimizer, pool, {.dtype = dtype});
  TrainingBatch batch = family.batch(name == "electra-projected" ? 2 : 0);
  batch.state.loss_scale = loss_scale;
  std::vector<double> out = {stepper.accumulate(batch.sequences, batch.state)};
  for (const nn::Parameter& parameter : family.parameters().list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    const auto* gradient = static_cast<const float*>(optimizer->gradients().arrays[slot]);
    for (int64_t i = 0; i < family.parameters().elements(parameter.weight); ++i) {
      out.push_back(double{gradient[i]} / loss_scale);
    }
  }
  return out;
}

/// The length of the difference, as a share of `wanted`'s.
double apart(const std::vector<double>& got, const std::vector<double>& wanted) {
  double difference = 0, length = 0;
  for (size_t i = 1; i < wanted.size(); ++i) {
    difference += (got[i] - wanted[i]) * (got[i] - wanted[i]);
    length += wanted[i] * wanted[i];
  }
  return std::sqrt(difference / length);
}

class MixedPrecision : public testing::TestWithParam<const char*> {};

TEST_P(MixedPrecision, GivesTheGradientsOfFp32Rounded) {
  const auto exact = gradients(GetParam(), DType::f32, 1);
  const auto coarse = gradients(GetParam(), DType::bf16, 1);
  const auto half = gradients(GetParam(), DType::f16, 1024);
  EXPECT_NEAR(coarse[0], exact[0], 1e-2 * exact[0]);
  EXPECT_NEAR(half[0], exact[0], 1e-3 * exact[0]);
  EXPECT_LT(apart(coarse, exact), 3e-2);
  EXPECT_LT(apart(half, exact), 6e-3);
  EXPECT_GT(apart(half, exact), 1e-5);
}

TEST_P(MixedPrecision, TrainsAsFp32) {
  const TrainingCurves exact = train(GetParam(), DType::f32);
  for (const TrainingCurves& curves :
       {train(GetParam(), DType::bf16), train(GetParam(), DType::f16, 64)}) {
    for (size_t i = 0; i < exact.losses.size(); ++i) {
      EXPECT_NEAR(curves.losses[i], exact.losses[i], 0.2 * std::max(0.5, exact.losses[i])) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, MixedPrecision, testing::ValuesIn(kFamilies), family_test_name);

TEST(HalfPrecision, OverflowsWhereTheLossScaleIsTooLarge) {
  const TrainingCurves curves = train("bert-words", DType::f16, 1e12);
  EXPECT_TRUE(curves.skipped.front());
  EXPECT_FALSE(std::isfinite(curves.norms.front()));
  EXPECT_FALSE(train("bert-words", DType::bf16, 1e12).skipped.front());
}

TEST(HalfPrecision, LosesGradientsWhereTheLossScaleIsTooSmall) {
  const auto exact = gradients("bert-words", DType::f32, 1);
  EXPECT_GT(apart(gradients("bert-words", DType::f16, 1e-6), exact), 0.2);
}

TEST(Shadows, AreTheMastersRoundedAfterEachStep) {
  Family family("bert-words");
  family.load(chosen_isa());
  ThreadPool pool(2);
  std::vector<bool> trainable = family.all();
  const auto optimizer = optim::Optimizer::make(family.parameters(), trainable, {});
  Stepper stepper(*family.encoder, family.loss(), *optimizer, pool, {.dtype = DType::bf16});
  nn::Parameters& parameters = family.parameters();
  for (size_t i = 0; i < 2; ++i) {
    const TrainingBatch batch = family.batch(i);
    stepper.accumulate(batch.sequences, batch.state);
    optimizer->step(kRate, pool);
    int64_t shadows = 0;
    const WeightArrays arrays = parameters.arrays_for(DType::bf16, stepper.pass().shadows, true);
    for (const nn::Parameter& parameter : parameters.list()) {
      const Weight& w = parameter.weight;
      const auto slot = static_cast<size_t>(w.slot);
      const void* master = parameters.pointers()[slot];
      const void* shadow = arrays.shadows[slot];
      if (shadow == master) continue;
      ++shadows;
      std::vector<float> exact(static_cast<size_t>(w.width)), rounded = exact;
      for (int64_t row = 0; row < w.rows; ++row) {
        kernels::unpack_row({DType::f32, parameters.isa(), w.rows, w.width, master}, row,
                            exact.data());
        kernels::unpack_row({DType::bf16, parameters.isa(), w.rows, w.width, shadow}, row,
                            rounded.data());
        for (float& value : exact) value = to_float(to_bf16(value));
        ASSERT_EQ(exact, rounded) << parameter.tensors.front();
      }
    }
    // Five matrices a layer; the head stays in fp32.
    EXPECT_EQ(shadows, 5 * family.config().layers);
  }
}

TEST(Shadows, FollowWeightsThatAreLoadedLater) {
  Family family("bert-words");
  family.drop(0);
  family.load(chosen_isa());
  ThreadPool pool(2);
  const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(), {});
  Stepper stepper(*family.encoder, family.loss(), *optimizer, pool, {.dtype = DType::bf16});
  const TrainingBatch batch = family.batch(0);
  const auto loss = [&] { return stepper.accumulate(batch.sequences, batch.state); };
  const double before = loss();
  for (const nn::Parameter& parameter : family.parameters().list()) {
    if (parameter.kind != nn::ParameterKind::matrix) continue;
    std::memset(family.parameters().data(parameter.weight), 0,
                static_cast<size_t>(family.parameters().elements(parameter.weight)) * 4);
  }
  EXPECT_NE(loss(), before);
}

TEST(LossScaler, GrowsAndBacksOffAsGradScaler) {
  optim::LossScaler scaler;
  EXPECT_EQ(scaler.scale(), 65536);
  scaler.update(true);
  EXPECT_EQ(scaler.scale(), 32768);
  for (int i = 0; i < 1999; ++i) scaler.update(false);
  EXPECT_EQ(scaler.scale(), 32768);
  optim::LossScaler resumed(scaler.scale(), scaler.good_steps());
  resumed.update(false);
  EXPECT_EQ(resumed.scale(), 65536);
  EXPECT_EQ(resumed.good_steps(), 0);
  for (int i = 0; i < 1500; ++i) resumed.update(false);
  resumed.update(true);
  EXPECT_EQ(resumed.scale(), 32768);
  for (int i = 0; i < 1999; ++i) resumed.update(false);
  EXPECT_EQ(resumed.scale(), 32768);
}

}  // namespace
}  // namespace hone::train
