// An open session runs inputs: encoding, forward passes, answers.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "infer/batch_runner.h"
#include "infer/memory_budget.h"
#include "infer/session.h"
#include "plan/backend.h"
#include "profile/recorder.h"

namespace hone::infer {
namespace {

// Texts of at most this many bytes are tokenised together under a budget.
constexpr size_t kBudgetTextBytes = 1 << 16;

/// Holds rows that a pass without a Runner gave.
class OwnedRows : public Fetched {
 public:
  explicit OwnedRows(std::vector<float> rows) : rows_(std::move(rows)) {}
  const std::byte* data() override { return reinterpret_cast<const std::byte*>(rows_.data()); }

 private:
  std::vector<float> rows_;
};

}  // namespace

bool finite(const Answer& answer) {
  return std::ranges::all_of(answer.values, [](float value) { return std::isfinite(value); });
}

const float* Session::forward(const data::Batch& batch) {
  if (streamed_) {
    const auto width = static_cast<size_t>(forward_.output.width);
    rows_.resize(static_cast<size_t>(batch.size()) * width);
    LayerwiseForward::Hooks hooks;
    hooks.finish = [&](int64_t sequence, std::span<const float> row) {
      std::copy(row.begin(), row.end(), rows_.begin() + sequence * static_cast<int64_t>(width));
    };
    layerwise().run(batch, hooks);
    return rows_.data();
  }
  runner_->resize(batch.extents());
  forward_.bind(batch, *runner_);
  runner_->run();
  return runner_->output<float>(forward_.output);
}

StartedBatch Session::start(const data::Batch& batch) {
  const std::unique_lock held = hold_gpu();
  if (profile::Recorder* recorder = profile::active()) {
    recorder->begin_step();
    set_sink(recorder->sink());
  }
  const profile::Span span("forward", profile::Stage::forward);
  if (exits_) return {nullptr, exits_->run(batch)};
  if (streamed_) {
    forward(batch);
    return {std::make_shared<OwnedRows>(std::move(rows_))};
  }
  runner_->resize(batch.extents());
  forward_.bind(batch, *runner_);
  runner_->start();
  return {runner_->fetch({&forward_.output, 1})};
}

bool Session::runs_ahead() const {
  return !exits_ && Backend::of(gpu_ ? DeviceKind::cuda : DeviceKind::cpu).runs_ahead();
}

std::unique_lock<std::mutex> Session::hold_gpu() const {
  static std::mutex mutex;
  return gpu_ ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

const std::vector<data::EncodedSample>& Session::encode(std::span<const Input> inputs) {
  const profile::Span span("encoding", profile::Stage::loading);
  const Stopwatch watch;
  processor_->encode(inputs, pool_, encoded_);
  encode_seconds_ += watch.seconds();
  return encoded_;
}

std::vector<std::string> Session::try_encode(std::span<const Input> inputs) {
  const profile::Span span("encoding", profile::Stage::loading);
  const Stopwatch watch;
  std::vector<std::string> problems = processor_->try_encode(inputs, pool_, encoded_);
  encode_seconds_ += watch.seconds();
  return problems;
}

const std::vector<data::EncodedSample>& Session::encode_cut_left(std::span<const Input> inputs) {
  const profile::Span span("encoding", profile::Stage::loading);
  const Stopwatch watch;
  text_processor().encode_cut_left(inputs, pool_, encoded_);
  encode_seconds_ += watch.seconds();
  return encoded_;
}

const std::vector<data::EncodedSample>& Session::encode_ids(
    std::span<const std::vector<int32_t>> ids, bool cut_left) {
  const data::TextProcessor& processor = text_processor();
  encoded_.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) processor.encode_ids(ids[i], cut_left, encoded_[i]);
  return encoded_;
}

const data::TextProcessor& Session::text_processor() const {
  const auto* processor = dynamic_cast<const data::TextProcessor*>(processor_.get());
  if (!processor) fail(ErrorKind::usage, "{}: reads no text", folder_.path);
  return *processor;
}

int64_t Session::pass_inputs() const {
  if (deadline_ > 0) return 1;
  return streamed_ ? kBudgetSequences : 0;
}

std::vector<Answer> Session::run(std::span<const Input> inputs) {
  if (deadline_ <= 0) return streamed_ ? run_in_lots(inputs) : run_together(inputs);
  std::vector<Answer> answers;
  for (const Input& input : inputs) {
    const Stopwatch watch;
    encode({&input, 1});
    refuse_truncated({&input, 1});
    answers.push_back(answer_alone(encoded_.front(), watch.seconds()));
  }
  return answers;
}

Answer Session::answer_alone(const data::EncodedSample& sample, double spent) {
  const Stopwatch watch;
  const profile::Span span("forward", profile::Stage::forward);
  data::Batch batch(processor_->layout());
  processor_->append(sample.bytes, 0, batch);
  const std::unique_lock held = hold_gpu();
  const double left = std::max(1e-9, deadline_ - spent - watch.seconds());
  ExitAnswer row = std::move(exits_->run(batch, left).front());
  return {.values = std::move(row.logits),
          .tokens = sample.units,
          .full_tokens = sample.full,
          .layers = row.layers,
          .seconds = spent + watch.seconds()};
}

std::vector<Answer> Session::run_in_lots(std::span<const Input> inputs) {
  std::vector<Answer> answers;
  while (!inputs.empty()) {
    size_t count = 0;
    for (size_t bytes = 0; count < inputs.size() && count < kBudgetSequences; ++count) {
      bytes += inputs[count].text.size() + (inputs[count].pair ? inputs[count].pair->size() : 0);
      if (count > 0 && bytes > kBudgetTextBytes) break;
    }
    std::vector<Answer> some = run_together(inputs.first(count));
    std::move(some.begin(), some.end(), std::back_inserter(answers));
    inputs = inputs.subspan(count);
  }
  return answers;
}

std::vector<Answer> Session::run_together(std::span<const Input> inputs) {
  encode(inputs);
  refuse_truncated(inputs);
  return answer(encoded_);
}

std::vector<Answer> Session::answer(std::span<const data::EncodedSample> samples, double spent) {
  std::vector<Answer> answers;
  answers.reserve(samples.size());
  if (deadline_ > 0) {
    for (const data::EncodedSample& sample : samples) {
      answers.push_back(answer_alone(sample, std::exchange(spent, 0)));
    }
    return answers;
  }
  BatchRunner runner(*this);
  const auto collect = [&] {
    BatchAnswers batch = runner.take();
    batch.wait();
    for (size_t i = 0; i < batch.size(); ++i) answers.push_back(batch.answer(i));
  };
  for (const data::EncodedSample& sample : samples) {
    runner.add(sample);
    while (runner.full()) collect();
  }
  runner.flush();
  while (!runner.empty()) collect();
  return answers;
}

/// Fails where one of the inputs that were encoded last was cut.
void Session::refuse_truncated(std::span<const Input> inputs) const {
  for (size_t i = 0; !options_.truncate && i < inputs.size(); ++i) {
    if (!encoded_[i].truncated()) continue;
    fail(ErrorKind::usage, "an input of {} {} is longer than the limit of {}: {}", encoded_[i].full,
         processor_->unit_name(), max_units(), quote(inputs[i].text, 40));
  }
}

}  // namespace hone::infer
