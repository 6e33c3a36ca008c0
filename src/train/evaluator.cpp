#include "train/evaluator.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "models/batch.h"

namespace hone::train {
namespace {

// Of a forward pass: as infer::Session has it.
constexpr int64_t kBatchTokens = 1024;
constexpr int64_t kGpuBatchTokens = 16384;

}  // namespace

Evaluator::Evaluator(models::Encoder& encoder, ThreadPool& pool, std::shared_ptr<Arena> arena)
    : encoder_(encoder),
      pool_(pool),
      forward_(encoder.record({})),
      execution_(forward_.plan, encoder.parameters().arrays_for(DType::f32, forward_.shadows, true),
                 pool, std::move(arena)),
      batch_tokens_(encoder.parameters().on_gpu() ? kGpuBatchTokens : kBatchTokens) {}

int64_t Evaluator::end_of_pass(const data::TokenStore& store, int64_t first) const {
  const std::span<const int32_t> lengths = store.lengths();
  int64_t tokens = 0, end = first;
  for (; end < store.samples(); ++end) {
    tokens += lengths[static_cast<size_t>(end)];
    if (end > first && tokens > batch_tokens_) break;
  }
  return end;
}

Extents Evaluator::largest_pass(const data::TokenStore& store) const {
  Extents most;
  const std::span<const int32_t> lengths = store.lengths();
  for (int64_t first = 0; first < store.samples();) {
    const int64_t end = end_of_pass(store, first);
    most[Axis::sequences] = std::max(most[Axis::sequences], end - first);
    int64_t tokens = 0;
    for (; first < end; ++first) {
      const int64_t length = lengths[static_cast<size_t>(first)];
      tokens += length;
      most.longest = std::max(most.longest, length);
    }
    most[Axis::tokens] = std::max(most[Axis::tokens], tokens);
  }
  most[Axis::reads] = most[Axis::sequences];
  return most;
}

void Evaluator::reserve(const data::TokenStore& store) {
  if (!execution_.gpu()) return;
  for (;;) {
    const Extents most = largest_pass(store);
    try {
      return execution_.resize(most);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory || batch_tokens_ <= most.longest) throw;
      batch_tokens_ /= 2;
    }
  }
}

bool Evaluator::run(const data::TokenStore& store, const Take& take,
                    const std::function<bool(int64_t samples)>& proceed) {
  encoder_.parameters().refresh(pool_);
  models::Batch batch(encoder_.config());
  std::vector<int32_t> ids;
  std::vector<int32_t> types;
  std::vector<char> buffer;
  const auto width = static_cast<size_t>(forward_.output.width);
  const std::span<const int32_t> lengths = store.lengths();
  for (int64_t first = 0; first < store.samples();) {
    batch.clear();
    const int64_t end = end_of_pass(store, first);
    for (int64_t sample = first; sample < end; ++sample) {
      const auto length = static_cast<size_t>(lengths[static_cast<size_t>(sample)]);
      ids.resize(length);
      types.resize(length);
      store.read(sample, ids.data(), types.data(), buffer);
      batch.add(ids, types, sample);
    }
    execution_.resize(batch.extents());
    batch.bind(forward_.inputs, execution_);
    execution_.run();
    const auto* rows = execution_.output<float>(forward_.output);
    for (; first < end; ++first, rows += width) take(first, {rows, width});
    if (proceed && !proceed(first)) return false;
  }
  return true;
}

Evaluation Evaluator::evaluate(const data::TokenStore& store, metrics::Problem problem,
                               const std::vector<std::string>& metrics) {
  const Stopwatch watch;
  metrics::Judge judge(problem, forward_.output.width, metrics);
  std::vector<float> targets(static_cast<size_t>(store.target_width()));
  run(store, [&](int64_t sample, std::span<const float> logits) {
    if (problem == metrics::Problem::single_label) {
      judge.add_class(logits, store.class_of(sample));
      return;
    }
    store.targets_of(sample, targets.data());
    if (problem == metrics::Problem::regression) {
      judge.add_score(logits, targets.front());
    } else {
      std::vector<bool> flags;
      for (const float target : targets) flags.push_back(target > 0);
      judge.add_labels(logits, flags);
    }
  });
  Evaluation result;
  result.samples = store.samples();
  result.tokens = store.tokens();
  result.loss = judge.loss();
  result.metrics = judge.results();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace hone::train
