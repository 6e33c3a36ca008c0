#include "train/strategy.h"

#include "base/error.h"
#include "train/data_parallel.h"
#include "train/gradient_exchange.h"
#include "train/virtual_ranks.h"

namespace hone::train {
namespace {

/// One process.
class Alone : public Strategy {
 public:
  explicit Alone(const Parts& parts) : Strategy(parts) {}
  void run(const std::vector<SliceBatches>& slices, size_t batches, const StepState& state,
           const Done& done) override {
    run_slice(slices.front(), batches, state, done);
  }
};

/// A slice a rank; sums go on while the last batch's backward pass does.
class Ranks : public Strategy {
 public:
  explicit Ranks(const Parts& parts)
      : Strategy(parts),
        exchange_(parts.ranks, parts.optimizer, parts.model.parameters(), parts.stepper.plan()) {
    parts.stepper.set_cuts(exchange_.cuts());
    const nn::Parameters& parameters = parts.model.parameters();
    for (const nn::Parameter& parameter : parameters.list()) {
      if (parameter.kind != nn::ParameterKind::state) continue;
      // Plans write it in place, too.
      auto* data =
          const_cast<void*>(parameters.pointers()[static_cast<size_t>(parameter.weight.slot)]);
      states_.emplace_back(static_cast<float*>(data), parameter.weight.width);
    }
  }

  void run(const std::vector<SliceBatches>& slices, size_t batches, const StepState& state,
           const Done& done) override {
    run_slice(slices.front(), batches, state, done, [&](size_t steps) { exchange_.passed(steps); });
    exchange_.finish();
    // Statistics that batches leave, such as a norm's, are those of the first rank's share on all
    // ranks, as torch has them; norms that share their statistics would exchange them here.
    for (const std::span<float> statistics : states_) {
      parts_.ranks.broadcast(statistics.data(), statistics.size_bytes());
    }
  }
  uint64_t bytes() const override { return exchange_.bytes().dense + exchange_.bytes().rows; }

 private:
  GradientExchange exchange_;
  std::vector<std::span<float>> states_;
};

/// A slice a rank on GPUs, by way of the host: gradients are read in the order that all machines
/// share, summed, and written back.
class StagedRanks : public Strategy {
 public:
  explicit StagedRanks(const Parts& parts) : Strategy(parts) {
    for (const nn::Parameter& parameter : parts.model.parameters().list()) {
      if (!parts.optimizer.trainable()[static_cast<size_t>(parameter.weight.slot)]) continue;
      weights_.push_back(parameter.weight);
      count_ += elements(parameter.weight);
    }
    host_ = static_cast<float*>(parts.ranks.window(static_cast<size_t>(count_) * sizeof(float)));
  }

  void run(const std::vector<SliceBatches>& slices, size_t batches, const StepState& state,
           const Done& done) override {
    run_slice(slices.front(), batches, state, done);
    float* at = host_;
    for (const Weight& weight : weights_) {
      parts_.optimizer.read_gradient(weight, at);
      at += elements(weight);
    }
    parts_.ranks.sum({host_, static_cast<size_t>(count_)});
    at = host_;
    for (const Weight& weight : weights_) {
      parts_.optimizer.write_gradient(weight, at);
      at += elements(weight);
    }
    bytes_ += static_cast<uint64_t>(count_) * sizeof(float);
  }
  uint64_t bytes() const override { return bytes_; }

 private:
  static int64_t elements(const Weight& weight) { return weight.rows * weight.width; }

  std::vector<Weight> weights_;
  int64_t count_ = 0;
  float* host_ = nullptr;
  uint64_t bytes_ = 0;
};

/// Refuses models whose batches leave statistics behind, for ways that run slices by themselves.
void need_no_state(const Strategy::Parts& parts, const char* field) {
  for (const nn::Parameter& parameter : parts.model.parameters().list()) {
    if (parameter.kind != nn::ParameterKind::state) continue;
    fail(ErrorKind::unsupported, "{}: the model keeps statistics of batches ({})", field,
         parameter.tensors.front());
  }
}

}  // namespace

bool Strategy::run_slice(const SliceBatches& slice, size_t batches, const StepState& state,
                         const Done& done, const Stepper::Passed& passed) {
  size_t last = batches;
  for (size_t i = 0; i < batches; ++i) {
    if (slice[i].size() > 0) last = i;
  }
  StepState now = state;
  for (size_t i = 0; i < batches; ++i) {
    if (slice[i].size() == 0) {
      done(slice[i], nullptr);
      continue;
    }
    done(slice[i], parts_.stepper.start(slice[i], now, i == last ? passed : Stepper::Passed()));
    now.first = false;
    now.waited = 0;
  }
  if (last == batches) parts_.optimizer.drop_gradients();
  return last < batches;
}

std::unique_ptr<Strategy> Strategy::make(const Parts& parts) {
  const ParallelOptions& options = parts.options.parallel;
  if (options.strategy == StrategyKind::dp) {
    need_no_state(parts, "parallel.strategy");
    return std::make_unique<DataParallel>(parts);
  }
  if (options.virtual_ranks > 0) {
    need_no_state(parts, "parallel.virtual_ranks");
    return std::make_unique<VirtualRanks>(parts);
  }
  if (parts.ranks.size() == 1) return std::make_unique<Alone>(parts);
  if (parts.model.parameters().on_gpu()) return std::make_unique<StagedRanks>(parts);
  return std::make_unique<Ranks>(parts);
}

}  // namespace hone::train
