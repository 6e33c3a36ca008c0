// Twenty steps of each family against PyTorch: losses, gradient norms and final weights. The
// goldens are made by tests/parity/training_goldens.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "kernels/cpu/gemm.h"
#include "models/folder.h"
#include "models/load.h"
#include "models/store.h"
#include "optim/schedule.h"
#include "train/stepper.h"

namespace hone::train {
namespace {

const std::string kModels = HONE_TEST_DIR "/../models/goldens/";
const std::string kGoldens = HONE_TEST_DIR "/goldens/";

ops::LossOptions loss_of(const models::EncoderConfig& config) {
  switch (config.problem) {
    case models::ProblemType::regression:
      return {.kind = ops::LossKind::squared_error};
    case models::ProblemType::multi_label:
      return {.kind = ops::LossKind::binary_cross_entropy};
    default:
      return {.kind = ops::LossKind::cross_entropy};
  }
}

void add_label(const Json& label, Labels& labels) {
  if (label.is_number_integer()) {
    labels.classes.push_back(label.get<int32_t>());
  } else {
    for (const Json& target : label) labels.targets.push_back(target.get<float>());
  }
}

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
    models::ModelFolder folder = models::open_model_folder(kModels + GetParam());
    folder.config.embedding_dropout = folder.config.head_dropout = 0;
    folder.config.layer_dropout = {};
    models::Encoder encoder(folder.config, DType::f32, isa, true);
    models::load_weights(encoder, *io::Weights::open(folder.path), pool);
    const std::string golden = kGoldens + GetParam();
    const Json json = parse_json(read_file(golden + "/history.json"), "history.json");
    optim::Optimizer optimizer(encoder.parameters(),
                               std::vector<bool>(encoder.parameters().list().size(), true),
                               {.eps = json.at("epsilon"),
                                .weight_decay = json.at("decay"),
                                .max_grad_norm = json.at("clip")});
    const optim::Schedule schedule{optim::ScheduleKind::linear, json.at("warmup"),
                                   json.at("steps")};
    Stepper stepper(encoder, loss_of(folder.config), optimizer, pool);
    int64_t number = 0;
    for (const Json& step : json.at("history")) {
      models::Batch batch(folder.config);
      Labels labels;
      for (const Json& row : step.at("rows")) {
        batch.add(row.at("ids").get<std::vector<int32_t>>());
        add_label(row.at("label"), labels);
      }
      StepState state;
      state.step = number;
      state.count = static_cast<double>(batch.sequences());
      const double loss = stepper.accumulate(batch, labels, state);
      const double wanted = step.at("loss");
      ASSERT_NEAR(loss, wanted, 1e-5 * std::max(1., std::abs(wanted)))
          << isa_name(isa) << " step " << number;
      const double rate = json.at("rate").get<double>() * schedule.factor(number);
      const optim::StepReport report = optimizer.step(rate, pool);
      const double norm = step.at("grad_norm");
      ASSERT_NEAR(report.grad_norm, norm, 1e-4 * norm) << isa_name(isa) << " step " << number;
      ++number;
    }
    expect_weights(encoder, *io::Weights::open(golden));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Training,
                         testing::Values("bert-words", "roberta-regression",
                                         "xlm-roberta-multi-label", "distilbert-learned",
                                         "albert-groups"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace hone::train
