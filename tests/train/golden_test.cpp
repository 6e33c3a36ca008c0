// Twenty steps of each family against PyTorch: losses, gradient norms and final weights. The
// goldens are made by tests/parity/training_goldens.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/gemm.h"
#include "nn/packed_rows.h"
#include "optim/schedule.h"
#include "train/family_fixture.h"

namespace hone::train {
namespace {

/// The rows of a parameter as a checkpoint has them.
std::vector<float> unpacked(const nn::Parameters& parameters, const nn::Parameter& parameter) {
  const Weight& w = parameter.weight;
  const void* data = parameters.pointers()[static_cast<size_t>(w.slot)];
  std::vector<float> values(static_cast<size_t>(w.rows * w.width));
  if (parameter.kind != nn::ParameterKind::matrix) {
    std::copy_n(static_cast<const float*>(data), values.size(), values.begin());
    return values;
  }
  for (int64_t row = 0; row < w.rows; ++row) {
    kernels::unpack_row({w.dtype, parameters.isa(), w.rows, w.width, data}, row,
                        values.data() + row * w.width);
  }
  return values;
}

void expect_weights(const models::Encoder& encoder, const io::Weights& wanted) {
  for (const nn::Parameter& parameter : encoder.parameters().list()) {
    const std::vector<float> got = unpacked(encoder.parameters(), parameter);
    size_t at = 0;
    for (const std::string& name : parameter.tensors) {
      const io::TensorInfo* tensor = models::find_tensor(encoder.family(), wanted, name);
      ASSERT_NE(tensor, nullptr) << name;
      std::vector<float> values(static_cast<size_t>(tensor->elements));
      wanted.read(*tensor, 0, tensor->elements, values.data());
      for (const float value : values) ASSERT_NEAR(got[at++], value, 1e-4) << name;
    }
    ASSERT_EQ(at, got.size());
  }
}

class Training : public testing::TestWithParam<const char*> {};

TEST_P(Training, FollowsPyTorchForTwentySteps) {
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    ThreadPool pool(2);
    Family family(GetParam());
    family.drop(0);
    family.load(isa);
    const Json& golden = family.history;
    const auto optimizer = optim::Optimizer::make(family.parameters(), family.all(),
                                                  {.eps = golden.at("epsilon"),
                                                   .weight_decay = golden.at("decay"),
                                                   .max_grad_norm = golden.at("clip")});
    const optim::Schedule schedule{optim::ScheduleKind::linear, golden.at("warmup"),
                                   golden.at("steps")};
    Stepper stepper(*family.encoder, family.loss(), *optimizer, pool);
    for (size_t number = 0; number < family.steps(); ++number) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " step " + std::to_string(number));
      const TrainingBatch batch = family.batch(number);
      const double loss = stepper.accumulate(batch.sequences, batch.state);
      const double wanted = family.step(number).at("loss");
      ASSERT_NEAR(loss, wanted, 1e-5 * std::max(1., std::abs(wanted)));
      const double rate = golden.at("rate").get<double>() * schedule.factor(batch.state.step);
      const optim::StepReport report = optimizer->step(rate, pool);
      const double norm = family.step(number).at("grad_norm");
      ASSERT_NEAR(report.grad_norm, norm, 1e-4 * norm);
    }
    expect_weights(*family.encoder, *io::Weights::open(family.golden));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Training, testing::ValuesIn(kFamilies), family_test_name);

}  // namespace
}  // namespace hone::train
