// Vectors of all tokens, beside the pooled ones.
#include "base/error.h"
#include "infer/session.h"

namespace hone::infer {

void Session::open_token_pass() {
  if (streamed_) {
    fail(ErrorKind::usage, "vectors of all tokens: not there under `memory_budget`");
  }
  tokens_ = model_->record({.output = models::Output::hidden});
  token_runner_ = std::make_unique<Runner>(tokens_.plan, model_->weights_for(tokens_.shadows),
                                           pool_, Runner::Options{.planned = options_.planned});
  if (gpu_) model_->parameters().refresh(pool_);
}

std::vector<Answer> Session::answer_tokens(std::span<const data::EncodedSample> samples) {
  const std::unique_lock held = hold_gpu();
  if (!token_runner_) open_token_pass();
  const auto width = static_cast<size_t>(tokens_.output.width);
  std::vector<Answer> answers;
  data::Batch batch(processor_->layout());
  // One after the other: an answer is as large as a pass of many texts elsewhere.
  for (const data::EncodedSample& sample : samples) {
    batch.clear();
    processor_->append(sample.bytes, 0, batch);
    token_runner_->resize(batch.extents());
    tokens_.bind(batch, *token_runner_);
    token_runner_->start();
    const auto fetched = token_runner_->fetch({&tokens_.output, 1});
    const auto* rows = reinterpret_cast<const float*>(fetched->data());
    Answer& answer = answers.emplace_back();
    answer.tokens = sample.units;
    answer.full_tokens = sample.full;
    answer.values.assign(rows, rows + static_cast<size_t>(sample.units) * width);
  }
  return answers;
}

}  // namespace hone::infer
