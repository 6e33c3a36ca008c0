// Twenty steps of tiny ResNets by SGD against PyTorch: losses, gradient norms, final weights and
// running statistics. The goldens are made by tests/parity/resnet_goldens.py.
#include "models/resnet.h"

#include <cmath>

#include "device/cuda.h"
#include "models/resnet_golden.h"
#include "models/save.h"
#include "optim/optimizer.h"
#include "train/stepper.h"

namespace hone::train {
namespace {

using models::ResNetGolden;

/// Trains as the goldens were made; gives each step's loss and gradient norm.
std::vector<std::pair<double, double>> train_resnet(const ResNetGolden& golden,
                                                    models::Model& model,
                                                    const models::TrainingOptions& options = {},
                                                    double loss_scale = 1) {
  ThreadPool pool(2);
  std::vector<bool> trainable;
  for (const nn::Parameter& parameter : model.parameters().list()) {
    trainable.push_back(parameter.kind != nn::ParameterKind::state);
  }
  const Json& json = golden.json;
  const auto optimizer = optim::Optimizer::make(model.parameters(), trainable,
                                                {.kind = optim::OptimizerKind::sgd,
                                                 .momentum = json.at("momentum").get<double>(),
                                                 .weight_decay = json.at("decay").get<double>(),
                                                 .max_grad_norm = 0});
  Stepper stepper(model, {}, *optimizer, pool, options);
  std::vector<std::pair<double, double>> course;
  const auto count = json.at("batch").get<int64_t>();
  for (int64_t step = 0; step < std::ssize(json.at("losses")); ++step) {
    std::vector<int64_t> images;
    for (int64_t i = 0; i < count; ++i) images.push_back((step * 3 + i) % models::kMadeImages);
    StepState state;
    state.step = step;
    state.count = static_cast<double>(count);
    state.loss_scale = loss_scale;
    const double loss = stepper.accumulate(golden.batch(images), state);
    course.emplace_back(loss,
                        optimizer->step(json.at("rate").get<double>(), pool, loss_scale).grad_norm);
  }
  return course;
}

class ResNetTraining : public testing::TestWithParam<const char*> {};

/// Expects the goldens' losses and gradient norms, and their weights and statistics at the end.
void expect_course(const ResNetGolden& golden, const Target& target, double tolerance) {
  const auto model = golden.model(target);
  const auto course = train_resnet(golden, *model);
  for (size_t step = 0; step < course.size(); ++step) {
    ASSERT_NEAR(course[step].first, golden.json.at("losses")[step].get<double>(), tolerance);
    const double norm = golden.json.at("grad_norms")[step];
    ASSERT_NEAR(course[step].second, norm, tolerance * norm) << "step " << step;
  }
  const auto wanted = io::Weights::open(golden.path + "/trained.golden");
  model->parameters().refresh_host();
  for (const nn::Parameter& parameter : model->parameters().list()) {
    const std::string& name = parameter.tensors.front();
    const io::TensorInfo* tensor = models::find_tensor(model->family(), *wanted, name);
    ASSERT_NE(tensor, nullptr) << name;
    std::vector<float> values(static_cast<size_t>(tensor->elements));
    wanted->read(*tensor, 0, tensor->elements, values.data());
    size_t at = 0;
    nn::read_rows(parameter, models::weights_of(*model)(parameter), 0, nn::row_count(parameter),
                  [&](int64_t, int64_t rows, const float* got) {
                    for (int64_t i = 0; i < rows * nn::row_width(parameter); ++i) {
                      EXPECT_NEAR(got[i], values[at++], tolerance) << name;
                    }
                  });
    EXPECT_EQ(at, values.size()) << name;
  }
}

void expect_halves(const ResNetGolden& golden, const Target& target) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const auto model = golden.model(target);
    const auto course =
        train_resnet(golden, *model, {.dtype = dtype}, dtype == DType::f16 ? 1024 : 1);
    // Norms over a handful of pixels make single steps of these tiny models jump.
    double apart = 0, sum = 0;
    for (size_t step = 0; step < course.size(); ++step) {
      const double wanted = golden.json.at("losses")[step];
      apart += std::abs(course[step].first - wanted);
      sum += wanted;
    }
    EXPECT_LT(apart, 0.08 * static_cast<double>(course.size()) + 0.08 * sum) << dtype_name(dtype);
    EXPECT_GT(apart, 1e-4) << dtype_name(dtype) << " gave fp32's losses: did it run?";
  }
}

TEST_P(ResNetTraining, FollowsPyTorchForTwentySteps) {
  const ResNetGolden golden(GetParam());
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const ScopedIsa scoped(isa);
    expect_course(golden, isa, 1e-4);
  }
}

TEST_P(ResNetTraining, HalvesFollow) { expect_halves(ResNetGolden(GetParam()), chosen_isa()); }

TEST_P(ResNetTraining, FollowsPyTorchOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  const ResNetGolden golden(GetParam());
  expect_course(golden, Target::cuda(), 3e-4);
  expect_halves(golden, Target::cuda());
}

INSTANTIATE_TEST_SUITE_P(Folders, ResNetTraining, testing::ValuesIn(models::kResNets),
                         models::resnet_test_name);

TEST(ResNetTraining, FrozenNormsKeepTheirStatistics) {
  const ResNetGolden golden("basic");
  const auto model = golden.model(chosen_isa());
  std::vector<bool> trainable(model->parameters().list().size(), false);
  size_t written = 0;
  const auto steps_with_state = [&] {
    const models::Pass pass = model->record_training({}, trainable);
    size_t count = 0;
    for (const Step& step : pass.plan->steps()) count += !step.state.empty();
    return count;
  };
  for (const nn::Parameter& parameter : model->parameters().list()) {
    const bool head = parameter.tensors.front().starts_with("classifier");
    trainable[static_cast<size_t>(parameter.weight.slot)] = head;
    written += parameter.tensors.front().ends_with("running_mean");
  }
  EXPECT_EQ(steps_with_state(), 0u);
  for (const nn::Parameter& parameter : model->parameters().list()) {
    trainable[static_cast<size_t>(parameter.weight.slot)] =
        parameter.kind != nn::ParameterKind::state;
  }
  EXPECT_EQ(steps_with_state(), written);
}

}  // namespace
}  // namespace hone::train
