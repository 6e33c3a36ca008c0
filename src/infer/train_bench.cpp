#include "infer/train_bench.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "infer/bench_models.h"
#include "kernels/cpu/peak.h"
#include "kernels/cuda/peak.h"
#include "models/init.h"
#include "optim/gpu_optimizer.h"
#include "plan/gpu_runner.h"
#include "train/stepper.h"

namespace hone::infer {
namespace {

constexpr std::array<BenchCase, 7> kCases = {
    {{"train-bert-base-b8-len128", kBertBase, 8, 128},
     {"train-bert-base-b32-len128", kBertBase, 32, 128},
     {"train-minilm-b32-len128", kMiniLm, 32, 128},
     {"train-minilm-sst2-b32", kMiniLm, 32, 0},
     {"train-roberta-base-sst2-b32", kRobertaBase, 32, 0},
     {"train-roberta-base-b32-len128", kRobertaBase, 32, 128},
     {"train-roberta-base-b32-len512", kRobertaBase, 32, 512}}};

models::EncoderConfig training_config(const BenchShape& shape) {
  models::EncoderConfig config = bench_config(shape);
  config.embedding_dropout = config.head_dropout = 0.1f;
  config.layer_dropout = {0.1f, 0.1f, 0.1f};
  return config;
}

uint64_t free_device_bytes() {
  uint64_t free_bytes = 0, total = 0;
  cuda_check(cuda_api().memory_info(&free_bytes, &total), "asking for free memory");
  return free_bytes;
}

/// One model, stepped over batches.
class Run {
 public:
  Run(const BenchShape& shape, const TrainBenchOptions& options, ThreadPool& pool)
      : pool_(pool),
        encoder_(training_config(shape), DType::f32,
                 select_device(options.common.device) ? Isa::gpu : chosen_isa(), true) {
    if (gpu()) free_before_ = free_device_bytes();
    models::init_random(encoder_, 1, 0.02f, pool);
    optimizer_.emplace(encoder_.parameters(),
                       std::vector<bool>(encoder_.parameters().list().size(), true),
                       optim::OptimizerOptions{.weight_decay = 0.01});
    stepper_.emplace(encoder_, ops::LossOptions{}, *optimizer_, pool,
                     models::TrainingOptions{options.common.dtype, options.checkpoint_segments});
  }

  const models::EncoderConfig& config() const { return encoder_.config(); }
  train::Stepper& stepper() { return *stepper_; }
  bool gpu() const { return encoder_.parameters().on_gpu(); }
  uint64_t device_bytes() const { return gpu() ? free_before_ - free_device_bytes() : 0; }
  double optimizer_seconds() const {
    return gpu() ? optimizer_->gpu()->seconds() : optimizer_seconds_;
  }

  double step(const models::Batch& batch) {
    const Stopwatch watch;
    start(batch);
    const optim::StepReport report = optimizer_->report(update_);
    const double loss = stepper_->loss(ticket_);
    if (!std::isfinite(loss) || report.skipped) {
      fail(ErrorKind::internal, "bench: step {}: the loss is {}", number_, loss);
    }
    return watch.seconds();
  }

  /// On a GPU, to be followed by step() before long: its report is the last that is kept.
  void start(const models::Batch& batch) {
    train::Labels labels;
    for (int64_t i = 0; i < batch.sequences(); ++i) {
      labels.classes.push_back(static_cast<int32_t>(i % 2));
    }
    const auto count = static_cast<double>(batch.sequences());
    ticket_ = stepper_->start(batch, labels, {.seed = 1, .step = number_++, .count = count});
    const Stopwatch update;
    update_ = optimizer_->start_step(2e-5, pool_);
    optimizer_seconds_ += update.seconds();
  }

 private:
  ThreadPool& pool_;
  models::Encoder encoder_;
  std::optional<optim::Optimizer> optimizer_;
  std::optional<train::Stepper> stepper_;
  int64_t number_ = 0;
  double optimizer_seconds_ = 0;
  train::Stepper::Ticket ticket_;
  optim::Optimizer::Ticket update_;
  uint64_t free_before_ = 0;
};

/// Steps a round, between two waits for a GPU.
constexpr int64_t kGpuRound = 20;
constexpr int kTimedSteps = 3;

}  // namespace

std::vector<std::string> train_bench_names() { return names_of(kCases); }

TrainBenchResult run_train_bench(const std::string& name, const TrainBenchOptions& options) {
  const BenchCase& bench = find_case(kCases, name);
  ThreadPool pool(options.common.threads > 0 ? options.common.threads : usable_cores());
  Run run(bench.shape, options, pool);
  const std::vector<models::Batch> batches =
      make_bench_batches(bench.batch, bench.length, options.common.lengths, run.config());
  for (const models::Batch& batch : batches) run.stepper().execution().resize(batch.extents());
  const int64_t round = run.gpu() ? kGpuRound : 1;
  if (run.gpu()) {
    run.stepper().execution().gpu()->tune(options.common.tune);
    for (const models::Batch& batch : batches) {
      for (int i = 0; i < 3; ++i) run.step(batch);  // the graphs are there then
    }
  }
  run.step(batches.front());

  const double forward = run.stepper().forward_seconds();
  const double backward = run.stepper().backward_seconds();
  const double updates = run.optimizer_seconds();
  run.stepper().execution().time_ops(!run.gpu());
  std::vector<double> steps;
  double flops = 0;
  int64_t sequences = 0;
  const Stopwatch total;
  const std::clock_t cpu = std::clock();
  while (steps.size() < 3 || total.seconds() < options.common.seconds) {
    const models::Batch& batch = batches[steps.size() % batches.size()];
    const Stopwatch watch;
    for (int64_t i = 1; i < round; ++i) run.start(batch);
    run.step(batch);
    steps.push_back(watch.seconds() / static_cast<double>(round));
    flops += run.stepper().flops(batch.extents()) * static_cast<double>(round);
    sequences += batch.sequences() * round;
  }
  const double seconds = total.seconds();
  const double cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  const auto count = static_cast<double>(static_cast<int64_t>(steps.size()) * round);
  TrainBenchResult result;
  result.name = name;
  result.steps = static_cast<int64_t>(steps.size()) * round;
  result.per_second = static_cast<double>(sequences) / seconds;
  result.cpu_ms = cpu_seconds / count * 1e3;
  result.forward_ms = (run.stepper().forward_seconds() - forward) / count * 1e3;
  result.backward_ms = (run.stepper().backward_seconds() - backward) / count * 1e3;
  // Of a GPU's steps only those that are waited for are timed.
  const double updates_timed = run.gpu() ? static_cast<double>(steps.size()) : count;
  result.optimizer_ms = (run.optimizer_seconds() - updates) / updates_timed * 1e3;
  result.gflops = flops / seconds * 1e-9;
  result.device_bytes = run.device_bytes();
  if (run.gpu()) {  // apart, since it takes a graph to pieces
    run.stepper().execution().time_ops(true);
    for (int i = 0; i < kTimedSteps; ++i) run.step(batches.front());
  }
  result.ops = run.stepper().execution().op_times();
  for (OpTime& op : result.ops) {
    const double steps_timed = run.gpu() ? kTimedSteps : count;
    op.seconds *= count / steps_timed;
    op.flops *= count / steps_timed;
  }
  std::sort(steps.begin(), steps.end());
  result.median_ms = at_share(steps, 0.5) * 1e3;
  result.p10_ms = at_share(steps, 0.1) * 1e3;
  result.p90_ms = at_share(steps, 0.9) * 1e3;
  result.activation_bytes = run.stepper().execution().arena_bytes();
  if (run.gpu()) {
    const double peak = kernels::cuda::measured_peak(options.common.dtype);
    if (peak > 0) result.share_of_peak = 1e9 * result.gflops / peak;
    return result;
  }
  result.share_of_peak =
      result.gflops / kernels::measured_peak(chosen_isa(), options.common.dtype, pool);
  return result;
}

}  // namespace hone::infer
