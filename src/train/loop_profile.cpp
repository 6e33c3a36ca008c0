// This file has what a loop tells of itself: to a profile, and to the logs about the machine.
#include <algorithm>

#include "device/cpu_info.h"
#include "train/loop.h"
#include "train/processor_peak.h"

namespace hone::train {

void Loop::tell_profile() {
  profile::Recorder* recorder = profile::active();
  if (!recorder) return;
  const Summary& summary = parts_.summary;
  const Options& options = parts_.options;
  recorder->set_peak_flops(peak_flops_);
  recorder->set_memory("weights", summary.memory.weights);
  recorder->set_memory("gradients", summary.memory.gradients);
  recorder->set_memory("optimizer", summary.memory.optimizer);
  recorder->set_memory("activations", summary.memory.activations);
  const StepTimes& times = stepper_.times();
  recorder->split_device({{profile::Stage::forward, times.forward},
                          {profile::Stage::backward, times.backward},
                          {profile::Stage::optimizer, optimizer_->seconds()}});
  const auto batches =
      static_cast<double>(std::max<int64_t>(1, rates_.steps * options.batch.accumulation));
  recorder->set_fact("steps", static_cast<double>(rates_.steps));
  recorder->set_fact("samples_per_batch", static_cast<double>(rates_.samples) / batches);
  recorder->set_fact("tokens_per_batch", static_cast<double>(rates_.tokens) / batches);
  recorder->set_fact("workers", options.batch.workers);
  recorder->set_fact("dtype_bits", options.step.dtype == DType::f32 ? 32 : 16);
  if (options.gpu) return;
  recorder->set_fact("threads", parts_.pool.size());
  if (options.step.dtype != DType::f32) return;
  // Where bf16 has no products of its own it is computed in fp32, and gains nothing.
  const Isa isa = chosen_isa();
  if (isa == Isa::avx512_bf16 || isa == Isa::amx) {
    recorder->set_fact("bf16_times_as_fast", processor_peak(isa, DType::bf16, parts_.pool) /
                                                 processor_peak(isa, DType::f32, parts_.pool));
  }
}

LogEntry Loop::with_usage(LogEntry entry) {
  const profile::UsageSample sample = usage_.read();
  entry.values.emplace_back("seconds", sample.seconds);
  for (const profile::UsageNumber& number : profile::usage_numbers()) {
    if (const auto value = number.of(sample)) entry.values.emplace_back(number.name, *value);
  }
  return entry;
}

}  // namespace hone::train
