#include "infer/batch_runner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "profile/recorder.h"

namespace hone::infer {
namespace {

// One batch computes, one waits, and the host has the time of a batch to bring the next.
constexpr size_t kBatchesAhead = 2;

}  // namespace

void BatchAnswers::wait() {
  const profile::Span span("waiting for the device", profile::Stage::forward);
  if (batch_.rows) rows_ = reinterpret_cast<const float*>(batch_.rows->data());
}

Answer BatchAnswers::answer(size_t i, float* row) const {
  Answer answer;
  answer.tokens = sizes_[i].units;
  answer.full_tokens = sizes_[i].full;
  answer.width = sizes_[i].width;
  answer.height = sizes_[i].height;
  std::span<const float> values;
  if (!batch_.rows) {
    values = batch_.exits[i].logits;
    answer.layers = batch_.exits[i].layers;
  } else {
    values = {rows_ + i * width_, width_};
  }
  if (row) {
    std::ranges::copy(values, row);
  } else {
    answer.values.assign(values.begin(), values.end());
  }
  return answer;
}

BatchRunner::BatchRunner(Session& session, int64_t most_samples, int64_t most_units)
    : session_(session),
      most_samples_(most_samples > 0 ? static_cast<size_t>(most_samples)
                                     : std::numeric_limits<size_t>::max()),
      most_units_(most_units > 0 ? std::min(most_units, session.pass_units())
                                 : session.pass_units()),
      ahead_(session.runs_ahead() ? kBatchesAhead : 0),
      batch_(session.processor().layout()) {}

BatchRunner::~BatchRunner() {
  try {
    for (BatchAnswers& batch : started_) batch.wait();
  } catch (const Error&) {  // a fault of the device; nobody wants these answers
  }
}

bool BatchRunner::fits(const data::EncodedSample& sample) const {
  return sizes_.empty() ||
         (batch_.units + sample.units <= most_units_ && sizes_.size() < most_samples_);
}

void BatchRunner::add(const data::EncodedSample& sample) {
  if (!fits(sample)) flush();
  session_.processor().append(sample.bytes, 0, batch_);
  sizes_.push_back({sample.units, sample.full, sample.width, sample.height});
}

void BatchRunner::flush() {
  if (sizes_.empty()) return;
  BatchAnswers started;
  started.batch_ = session_.start(batch_);
  started.width_ = static_cast<size_t>(session_.output_width());
  started.sizes_ = std::exchange(sizes_, {});
  started_.push_back(std::move(started));
  batch_.clear();
}

BatchAnswers BatchRunner::take() {
  BatchAnswers oldest = std::move(started_.front());
  started_.pop_front();
  return oldest;
}

}  // namespace hone::infer
