#include "train/strategy.h"

#include "base/error.h"
#include "device/cuda.h"
#include "ops/shared_norms.h"
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

/// Lists what batches leave behind in the model, such as a norm's running statistics.
std::vector<Weight> states_of(const nn::Parameters& parameters) {
  std::vector<Weight> states;
  for (const nn::Parameter& parameter : parameters.list()) {
    if (parameter.kind == nn::ParameterKind::state) states.push_back(parameter.weight);
  }
  return states;
}

/// A slice a rank; sums go on while the last batch's backward pass does. Norms share their
/// statistics, so that all ranks leave the same ones; a rank without samples takes part in that.
class Ranks : public Strategy {
 public:
  explicit Ranks(const Parts& parts)
      : Strategy(parts),
        exchange_(parts.ranks, parts.optimizer, parts.model.parameters(), parts.stepper.plan()),
        shares_norms_(!states_of(parts.model.parameters()).empty()) {
    parts.stepper.set_cuts(exchange_.cuts());
  }

  void run(const std::vector<SliceBatches>& slices, size_t batches, const StepState& state,
           const Done& done) override {
    const ops::SharedNorms shared([&](std::span<double> sums) { parts_.ranks.sum(sums); });
    run_slice(
        slices.front(), batches, state, done, [&](size_t steps) { exchange_.passed(steps); },
        shares_norms_);
    exchange_.finish();
  }
  uint64_t bytes() const override { return exchange_.bytes().dense + exchange_.bytes().rows; }

 private:
  GradientExchange exchange_;
  bool shares_norms_;
};

/// A slice a rank on GPUs, by way of the host: gradients are read in the order that all machines
/// share, summed, and written back. A norm's statistics are those of each rank's slice; the running
/// ones become the first rank's on all.
class StagedRanks : public Strategy {
 public:
  explicit StagedRanks(const Parts& parts)
      : Strategy(parts), states_(states_of(parts.model.parameters())) {
    for (const nn::Parameter& parameter : parts.model.parameters().list()) {
      if (!parts.optimizer.trainable()[static_cast<size_t>(parameter.weight.slot)]) continue;
      weights_.push_back(parameter.weight);
      count_ += elements(parameter.weight);
    }
    for (const Weight& weight : states_) state_count_ += elements(weight);
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
    if (!states_.empty()) take_first_states();
  }
  uint64_t bytes() const override { return bytes_; }

 private:
  static int64_t elements(const Weight& weight) { return weight.rows * weight.width; }

  void take_first_states() {
    std::vector<float> values(static_cast<size_t>(state_count_));
    copy_states(
        [&](float* device, float* host, size_t bytes) { cuda_stream().copy(host, device, bytes); },
        values);
    parts_.ranks.broadcast(values.data(), values.size() * sizeof(float));
    copy_states(
        [&](float* device, float* host, size_t bytes) { cuda_stream().copy(device, host, bytes); },
        values);
  }

  template <typename Copy>
  void copy_states(const Copy& copy, std::vector<float>& values) {
    // The stepper's plan reads and writes these arrays, whatever the host knows of them.
    const WeightArrays arrays = parts_.model.parameters().arrays_for(
        parts_.options.step.dtype, parts_.stepper.pass().shadows, true);
    float* at = values.data();
    for (const Weight& weight : states_) {
      auto* data =
          static_cast<float*>(const_cast<void*>(arrays.stored[static_cast<size_t>(weight.slot)]));
      copy(data, at, static_cast<size_t>(elements(weight)) * sizeof(float));
      at += elements(weight);
    }
    cuda_stream().synchronize();
  }

  std::vector<Weight> weights_;
  std::vector<Weight> states_;
  int64_t count_ = 0;
  int64_t state_count_ = 0;
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
                         const Done& done, const Stepper::Passed& passed, bool runs_empty) {
  const auto runs = [&](const data::Batch& batch) { return runs_empty || batch.size() > 0; };
  size_t last = batches;
  for (size_t i = 0; i < batches; ++i) {
    if (runs(slice[i])) last = i;
  }
  StepState now = state;
  for (size_t i = 0; i < batches; ++i) {
    if (!runs(slice[i])) {
      done(slice[i], nullptr);
      continue;
    }
    const Stepper::Ticket loss =
        parts_.stepper.start(slice[i], now, i == last ? passed : Stepper::Passed());
    done(slice[i], slice[i].size() > 0 ? loss : nullptr);
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
