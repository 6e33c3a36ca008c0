#include "train/evaluator.h"

#include "base/clock.h"
#include "models/batch.h"

namespace hone::train {
namespace {

// Of a forward pass: as infer::Session has it.
constexpr int64_t kBatchTokens = 1024;
constexpr int64_t kGpuBatchTokens = 16384;

}  // namespace

Evaluator::Evaluator(models::Encoder& encoder, ThreadPool& pool)
    : encoder_(encoder),
      pool_(pool),
      forward_(encoder.record({})),
      execution_(forward_.plan, encoder.parameters().arrays_for(DType::f32, forward_.shadows, true),
                 pool),
      batch_tokens_(encoder.parameters().on_gpu() ? kGpuBatchTokens : kBatchTokens) {}

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
    int64_t end = first;
    for (; end < store.samples(); ++end) {
      const auto length = static_cast<size_t>(lengths[static_cast<size_t>(end)]);
      if (end > first && batch.tokens() + static_cast<int64_t>(length) > batch_tokens_) break;
      ids.resize(length);
      types.resize(length);
      store.read(end, ids.data(), types.data(), buffer);
      batch.add(ids, types, end);
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
