// Training steps of every golden model, audited: each step touches what it declares and no more.
// What they compute is held to PyTorch by the tests of training.
#include <algorithm>
#include <cstring>

#include "device/cuda.h"
#include "models/batch.h"
#include "models/encoder.h"
#include "models/golden.h"
#include "models/init.h"

namespace hone::models {
namespace {

struct StepCase {
  const char* name;
  TrainingOptions options = {};
  std::optional<nn::LoraOptions> lora = {};
  ExitMethod exits = ExitMethod::none;
};

std::vector<StepCase> step_cases() {
  const nn::LoraOptions lora{.rank = 2, .dropout = 0.1, .targets = {"all-linear"}};
  return {{"fp32"},
          {"bf16", {.dtype = DType::bf16}},
          {"fp16", {.dtype = DType::f16}},
          {"checkpointed", {.dtype = DType::bf16, .checkpoint_segments = 2}},
          {"set_gradients", {.set_gradients = true}},
          {"lora", {}, lora},
          {"pabee", {}, {}, ExitMethod::pabee},
          {"deebert", {.dtype = DType::bf16}, {}, ExitMethod::deebert}};
}

LossKind loss_of(const EncoderConfig& config) {
  if (config.problem == ProblemType::regression) return LossKind::squared_error;
  return config.problem == ProblemType::multi_label ? LossKind::binary_cross_entropy
                                                    : LossKind::cross_entropy;
}

/// A model with a step over a golden's samples, and where its gradients go.
class TrainedGolden {
 public:
  TrainedGolden(const Golden& golden, const StepCase& c, const Target& target)
      : encoder_(config_of(golden, c), DType::f32, target, true, c.lora),
        batch_(encoder_.config()) {
    init_random(encoder_, 3, 0.1f, pool_);
    for (const Sample& sample : golden.samples) {
      batch_.add(sample.ids, sample.types, batch_.sequences());
    }
    const auto labels = encoder_.config().labels.size();
    for (int64_t i = 0; i < batch_.sequences(); ++i) {
      batch_.classes.push_back(static_cast<int32_t>(static_cast<size_t>(i) % labels));
      for (size_t k = 0; k < labels; ++k) batch_.targets.push_back(k % 2 ? 1.f : 0.f);
    }
    const std::vector<bool> all(encoder_.parameters().list().size(), true);
    pass = encoder_.record_training({.kind = loss_of(encoder_.config())}, all, c.options);
    weights_ = encoder_.parameters().arrays_for(c.options.dtype, pass.shadows, true);
    encoder_.parameters().refresh(pool_);
  }

  /// The losses, then all gradients as they lie.
  std::vector<std::byte> run(bool planned) {
    const nn::Parameters& parameters = encoder_.parameters();
    const size_t bytes = parameters.bytes();
    Buffer on_host(bytes);
    std::memset(on_host.data(), 0, bytes);
    CudaBuffer on_gpu(parameters.on_gpu() ? bytes : 0);
    if (parameters.on_gpu()) cuda_stream().fill(on_gpu.data(), 0, bytes);
    auto* base = parameters.on_gpu() ? on_gpu.as<float>() : on_host.as<float>();
    std::vector<void*> gradients;
    for (const nn::Parameter& parameter : parameters.list()) {
      gradients.push_back(base + parameters.offset(parameter.weight));
    }
    Runner runner(pass.plan, weights_, pool_, {.gradients = {gradients}, .planned = planned});
    runner.resize(batch_.extents());
    pass.bind(batch_, runner);
    const int64_t random[] = {5, 6};
    const double scale[] = {static_cast<double>(batch_.sequences()), 1};
    runner.bind(pass.random, random);
    runner.bind(pass.scale, scale);
    const bool classes = loss_of(encoder_.config()) == LossKind::cross_entropy;
    runner.bind(pass.labels,
                classes ? static_cast<const void*>(batch_.classes.data()) : batch_.targets.data());
    runner.run();
    runner.finish();
    if (parameters.on_gpu()) {
      cuda_stream().copy(on_host.data(), on_gpu.data(), bytes);
      cuda_stream().synchronize();
    }
    std::vector<std::byte> sums(on_host.as<std::byte>(), on_host.as<std::byte>() + bytes);
    for (const NamedValue& loss : pass.losses) {
      const auto* value = reinterpret_cast<const std::byte*>(runner.output<double>(loss.value));
      sums.insert(sums.end(), value, value + sizeof(double));
    }
    return sums;
  }

  Pass pass;

 private:
  static EncoderConfig config_of(const Golden& golden, const StepCase& c) {
    EncoderConfig config = golden.config;
    config.exits.method = c.exits;
    config.embedding_dropout = config.head_dropout = 0.1f;
    return config;
  }

  ThreadPool pool_{2};
  Encoder encoder_;
  TextBatch batch_;
  WeightArrays weights_;
};

void expect_honest_steps(const Golden& golden, const Target& target) {
  for (const StepCase& c : step_cases()) {
    SCOPED_TRACE(c.name);
    TrainedGolden trained(golden, c, target);
    const std::vector<Step>& steps = trained.pass.plan->steps();
    const auto is_loss = [](const Step& step) { return step.scope == "loss"; };
    const auto first = std::find_if(steps.begin(), steps.end(), is_loss);
    EXPECT_EQ(first - steps.begin(), static_cast<ptrdiff_t>(trained.pass.forward_steps));
    const std::vector<size_t> final_after = trained.pass.plan->gradients_final_after();
    EXPECT_GT(std::count_if(final_after.begin(), final_after.end(),
                            [&](size_t after) { return after > trained.pass.forward_steps; }),
              1);
    const std::vector<std::byte> planned = trained.run(true);
    EXPECT_EQ(trained.run(false), planned);
    EXPECT_TRUE(std::any_of(planned.begin(), planned.end(),
                            [](std::byte byte) { return byte != std::byte{0}; }));
  }
}

class TrainingSteps : public testing::TestWithParam<std::string> {};

TEST_P(TrainingSteps, TouchWhatTheyDeclare) {
  expect_honest_steps(Golden(GetParam()), chosen_isa());
}

TEST_P(TrainingSteps, TouchWhatTheyDeclareOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  expect_honest_steps(Golden(GetParam()), Target::cuda());
}

INSTANTIATE_TEST_SUITE_P(Folders, TrainingSteps, testing::ValuesIn(golden_folders()), golden_name);

}  // namespace
}  // namespace hone::models
