#include "study/train_bench.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "kernels/cpu/peak.h"
#include "kernels/cuda/peak.h"
#include "models/freeze.h"
#include "models/init.h"
#include "models/model.h"
#include "plan/cuda_executor.h"
#include "study/bench_models.h"
#include "train/stepper.h"

namespace hone::study {
namespace {

constexpr std::array<BenchCase, 17> kTrainCases = {
    {{"train-bert-base-b8-len128", kBertBase, 8, 128},
     {"train-bert-base-b32-len128", kBertBase, 32, 128},
     {"train-minilm-b32-len128", kMiniLm, 32, 128},
     {"train-minilm-sst2-b32", kMiniLm, 32, 0},
     {"train-roberta-base-sst2-b32", kRobertaBase, 32, 0},
     {"train-roberta-base-b32-len128", kRobertaBase, 32, 128},
     {"train-roberta-base-b32-len512", kRobertaBase, 32, 512},
     {"train-lstm-b128-len100", kLstm, 128, 100},
     {"train-lstm-sst2-b128", kLstm, 128, 0},
     {"train-resnet18-cifar-b128", kResNet18Cifar, 128, 1},
     {"train-resnet34-cifar-b128", kResNet34Cifar, 128, 1},
     {"train-resnet50-cifar-b128", kResNet50Cifar, 128, 1},
     {"train-resnet18-cifar-b512", kResNet18Cifar, 512, 1},
     {"train-resnet18-32px-b512", kResNet18, 512, 32},
     {"train-resnet18-b256", kResNet18, 256, 1},
     {"train-resnet34-b256", kResNet34, 256, 1},
     {"train-resnet50-b256", kResNet50, 256, 1}}};

/// Encoders are trained as they are fine-tuned, the others as their references are.
optim::OptimizerOptions optimizer_of(const BenchShape& shape) {
  if (shape.is_resnet()) {
    return {.kind = optim::OptimizerKind::sgd,
            .momentum = 0.9,
            .weight_decay = 5e-4,
            .max_grad_norm = 0};
  }
  if (!shape.is_lstm()) return {.weight_decay = 0.01};
  return {.kind = optim::OptimizerKind::sgd, .momentum = 0.9, .max_grad_norm = 0};
}

ops::LossOptions loss_of(const BenchShape& shape) {
  if (!shape.is_lstm()) return {};
  return {.class_weights = {1, 0.2f}, .weights_divide = false};
}

uint64_t free_device_bytes() {
  uint64_t free_bytes = 0, total = 0;
  cuda_check(cuda_api().memory_info(&free_bytes, &total), "asking for free memory");
  return free_bytes;
}

/// One model, stepped over batches.
class Run {
 public:
  Run(const BenchCase& bench, const TrainBenchOptions& options, ThreadPool& pool)
      : pool_(pool),
        processor_(bench_processor(bench)),
        model_(models::make_model(*bench_config(bench.shape, 0.1f),
                                  {.target = Target::of(select_device(options.common.device)),
                                   .processor = processor_.get()})) {
    const BenchShape& shape = bench.shape;
    if (gpu()) free_before_ = free_device_bytes();
    models::init_random(*model_, 1, 0.02f, pool);
    optimizer_ = optim::Optimizer::make(model_->parameters(), models::trainable_slots(*model_, ""),
                                        optimizer_of(shape));
    stepper_.emplace(*model_, loss_of(shape), *optimizer_, pool,
                     models::TrainingOptions{options.common.dtype, options.checkpoint_segments});
  }

  const models::ModelConfig& config() const { return model_->config(); }
  train::Stepper& stepper() { return *stepper_; }
  bool gpu() const { return model_->parameters().on_gpu(); }
  uint64_t device_bytes() const { return gpu() ? free_before_ - free_device_bytes() : 0; }
  double optimizer_seconds() const { return optimizer_->seconds(); }

  double step(const data::Batch& batch) {
    const Stopwatch watch;
    start(batch);
    const optim::StepReport report = optimizer_->report(update_);
    const double loss = stepper_->loss(ticket_);
    if (!std::isfinite(loss) || report.skipped) {
      fail(ErrorKind::internal, "bench: step {}: the loss is {}", number_, loss);
    }
    return watch.seconds();
  }

  /// Starts a step on a GPU, to be followed by step() before long: its report is the last that is
  /// kept.
  void start(const data::Batch& batch) {
    const auto count = static_cast<double>(batch.size());
    ticket_ = stepper_->start(batch, {.seed = 1, .step = number_++, .count = count});
    update_ = optimizer_->start_step(2e-5, pool_);
  }

 private:
  ThreadPool& pool_;
  std::unique_ptr<data::Processor> processor_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<train::Stepper> stepper_;
  int64_t number_ = 0;
  train::Stepper::Ticket ticket_;
  optim::Optimizer::Ticket update_;
  uint64_t free_before_ = 0;
};

/// A round on a GPU is this many steps, between two waits for it.
constexpr int64_t kGpuRound = 20;
constexpr int kTimedSteps = 3;

}  // namespace

std::vector<std::string> train_bench_names() { return names_of(kTrainCases); }

TrainBenchResult run_train_bench(const std::string& name, const TrainBenchOptions& options) {
  const BenchCase& bench = find_case(kTrainCases, name);
  ThreadPool pool(options.common.threads > 0 ? options.common.threads : usable_cores());
  Run run(bench, options, pool);
  std::vector<data::Batch> batches =
      make_bench_batches(bench.batch, bench.length, options.common.lengths, run.config());
  for (data::Batch& batch : batches) {
    for (int64_t i = 0; i < batch.size(); ++i) {
      batch.classes.push_back(static_cast<int32_t>(i % 2));
    }
  }
  for (const data::Batch& batch : batches) run.stepper().runner().resize(batch.extents());
  const int64_t round = run.gpu() ? kGpuRound : 1;
  if (run.gpu()) {
    run.stepper().runner().cuda()->tune(options.common.tune);
    for (const data::Batch& batch : batches) {
      for (int i = 0; i < 3; ++i) run.step(batch);  // the graphs are there then
    }
  }
  run.step(batches.front());

  const double forward = run.stepper().times().forward;
  const double backward = run.stepper().times().backward;
  const double updates = run.optimizer_seconds();
  OpTimes ops(options.by_layer);
  if (!run.gpu()) run.stepper().runner().set_sink(&ops);
  std::vector<double> steps;
  double flops = 0;
  int64_t sequences = 0;
  const Stopwatch total;
  const std::clock_t cpu = std::clock();
  while (steps.size() < 3 || total.seconds() < options.common.seconds) {
    const data::Batch& batch = batches[steps.size() % batches.size()];
    const Stopwatch watch;
    for (int64_t i = 1; i < round; ++i) run.start(batch);
    run.step(batch);
    steps.push_back(watch.seconds() / static_cast<double>(round));
    flops += run.stepper().flops(batch.extents()) * static_cast<double>(round);
    sequences += batch.size() * round;
  }
  const double seconds = total.seconds();
  const double cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  const auto count = static_cast<double>(static_cast<int64_t>(steps.size()) * round);
  TrainBenchResult result;
  result.name = name;
  result.steps = static_cast<int64_t>(steps.size()) * round;
  result.per_second = static_cast<double>(sequences) / seconds;
  result.cpu_ms = cpu_seconds / count * 1e3;
  result.forward_ms = (run.stepper().times().forward - forward) / count * 1e3;
  result.backward_ms = (run.stepper().times().backward - backward) / count * 1e3;
  // Only those of a GPU's steps that are waited for are timed.
  const double updates_timed = run.gpu() ? static_cast<double>(steps.size()) : count;
  result.optimizer_ms = (run.optimizer_seconds() - updates) / updates_timed * 1e3;
  result.gflops = flops / seconds * 1e-9;
  result.device_bytes = run.device_bytes();
  if (run.gpu()) {  // apart, since it takes a graph to pieces
    run.stepper().runner().set_sink(&ops);
    for (int i = 0; i < kTimedSteps; ++i) run.step(batches.front());
  }
  result.ops = ops.list();
  for (OpTime& op : result.ops) {
    const double steps_timed = run.gpu() ? kTimedSteps : count;
    op.seconds *= count / steps_timed;
    op.flops *= count / steps_timed;
    op.bytes *= count / steps_timed;
  }
  std::sort(steps.begin(), steps.end());
  result.median_ms = at_share(steps, 0.5) * 1e3;
  result.p10_ms = at_share(steps, 0.1) * 1e3;
  result.p90_ms = at_share(steps, 0.9) * 1e3;
  result.activation_bytes = run.stepper().runner().arena_bytes();
  if (run.gpu()) {
    const double peak = kernels::cuda::measured_peak(options.common.dtype);
    if (peak > 0) result.share_of_peak = 1e9 * result.gflops / peak;
    return result;
  }
  result.share_of_peak =
      result.gflops / kernels::measured_peak(chosen_isa(), options.common.dtype, pool);
  return result;
}

}  // namespace hone::study
