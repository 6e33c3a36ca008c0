#include "train/budget.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string>

namespace hone::train {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

/// The number behind `key` in a file of the system's; `fallback` where there is none ("max").
uint64_t system_number(const char* path, const std::string& key, uint64_t fallback) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (!key.empty() && word != key) continue;
    if (!key.empty() && !(file >> word)) break;
    uint64_t value = fallback;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  }
  return fallback;
}

Extents extents_of(int64_t sequences, int64_t tokens) {
  Extents extents;
  extents[Axis::tokens] = tokens;
  extents[Axis::sequences] = sequences;
  extents[Axis::reads] = sequences;
  return extents;
}

uint64_t left(uint64_t limit, uint64_t used) { return limit > used ? limit - used : 0; }

}  // namespace

MemoryEstimate::MemoryEstimate(const models::Encoder& encoder, const std::vector<bool>& trainable,
                               const ops::LossOptions& loss, const Options& options,
                               ThreadPool& pool)
    : step_(encoder.record_training(loss, trainable, options.step)),
      execution_(step_.plan, {}, pool) {
  const nn::Parameters& parameters = encoder.parameters();
  fixed_.weights = parameters.bytes() + parameters.shadow_bytes(options.step.dtype, step_.shadows);
  for (const nn::Parameter& parameter : parameters.list()) {
    if (!trainable[static_cast<size_t>(parameter.weight.slot)]) continue;
    fixed_.gradients +=
        static_cast<uint64_t>(parameters.elements(parameter.weight)) * sizeof(float);
  }
  const bool adamw = options.optimizer.kind == optim::OptimizerKind::adamw;
  const uint64_t moments = adamw ? 2 : options.optimizer.momentum > 0 ? 1 : 0;
  fixed_.optimizer = moments * fixed_.gradients;
}

MemoryUse MemoryEstimate::of(int64_t sequences, int64_t tokens) const {
  MemoryUse use = fixed_;
  use.activations = execution_.bytes_for(extents_of(sequences, tokens));
  return use;
}

double MemoryEstimate::flops(int64_t sequences, int64_t tokens) const {
  return step_.plan.flops(extents_of(sequences, tokens));
}

int64_t largest_batch(const data::Sampler& sampler, int64_t epochs) {
  int64_t most = 0;
  std::vector<int64_t> samples;
  // Later epochs are shuffles of the same samples: a few show what a batch can be.
  for (data::BatchCursor cursor(sampler, {});
       cursor.position().epoch < std::min<int64_t>(epochs, 8);) {
    cursor.next(samples);
    most = std::max(most, sampler.tokens(samples));
  }
  return most;
}

uint64_t available_memory() {
  constexpr uint64_t kKilo = 1024;
  uint64_t available = system_number("/proc/meminfo", "MemAvailable:", kNoLimit / kKilo) * kKilo;
  const uint64_t group = system_number("/sys/fs/cgroup/memory.max", "", kNoLimit);
  if (group != kNoLimit) {
    const uint64_t used = system_number("/sys/fs/cgroup/memory.current", "", 0);
    available = std::min(available, left(group, used));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const uint64_t size = system_number("/proc/self/status", "VmSize:", 0) * kKilo;
    available = std::min(available, left(limit.rlim_cur, size));
  }
  return available;
}

}  // namespace hone::train
