#include "infer/evaluate.h"

#include "base/clock.h"
#include "base/error.h"
#include "infer/line_answers.h"
#include "metrics/judge.h"

namespace hone::infer {
namespace {

using models::ProblemType;

metrics::Problem problem_of(const models::EncoderConfig& config) {
  switch (config.problem) {
    case ProblemType::multi_label:
      return metrics::Problem::multi_label;
    case ProblemType::regression:
      return metrics::Problem::regression;
    default:
      return metrics::Problem::single_label;
  }
}

/// Reads the labels of a batch, then compares the answers with them.
class BatchJudge {
 public:
  BatchJudge(const models::ModelFolder& folder, const EvaluateOptions& options)
      : problem_(folder.config.problem),
        labels_(options.task_labels, folder.config.labels, folder.path + "/config.json"),
        judge_(problem_of(folder.config), static_cast<int64_t>(folder.config.labels.size()),
               options.metrics) {}

  /// The label is read before the batch runs, so that a bad one is told at once.
  void expect(const data::Record& record, const data::RecordStream& stream) {
    if (problem_ == ProblemType::single_label) ids_.push_back(labels_.id(record, stream));
    if (problem_ == ProblemType::multi_label) sets_.push_back(labels_.ids(record, stream));
    if (problem_ == ProblemType::regression) scores_.push_back(data::score_of(record, stream));
  }

  void judge(size_t i, const std::vector<float>& logits) {
    if (problem_ == ProblemType::single_label) judge_.add_class(logits, ids_[i]);
    if (problem_ == ProblemType::multi_label) judge_.add_labels(logits, sets_[i]);
    if (problem_ == ProblemType::regression) judge_.add_score(logits, scores_[i]);
  }

  void next_batch() {
    ids_.clear();
    sets_.clear();
    scores_.clear();
  }

  void report(Evaluation& evaluation) const {
    evaluation.loss = judge_.loss();
    evaluation.metrics = judge_.results();
  }

 private:
  ProblemType problem_;
  data::LabelMap labels_;
  metrics::Judge judge_;
  std::vector<int64_t> ids_;
  std::vector<std::vector<bool>> sets_;
  std::vector<double> scores_;
};

}  // namespace

Evaluation evaluate(Session& session, data::RecordStream& records, const EvaluateOptions& options) {
  const Stopwatch watch;
  BatchJudge judge(session.folder(), options);
  Evaluation evaluation;
  std::vector<data::Record> batch(static_cast<size_t>(options.batch_size));
  std::vector<Input> inputs;
  for (bool more = true; more;) {
    inputs.clear();
    judge.next_batch();
    while (inputs.size() < batch.size()) {
      const auto taken = evaluation.samples + static_cast<int64_t>(inputs.size());
      data::Record& record = batch[inputs.size()];
      more = (options.max_samples < 0 || taken < options.max_samples) && records.next(record);
      if (!more) break;
      judge.expect(record, records);
      inputs.push_back({record.text, record.pair});
    }
    const std::vector<Answer> answers = session.run(inputs);
    for (size_t i = 0; i < answers.size(); ++i) {
      if (!options.truncate) {
        refuse_truncated(answers[i], session.max_length(), records.where(batch[i]));
      }
      judge.judge(i, answers[i].values);
      if (options.answered) options.answered(answers[i]);
      evaluation.tokens += answers[i].tokens;
      evaluation.truncated += answers[i].truncated();
      evaluation.layers += static_cast<double>(answers[i].layers);
      evaluation.late += options.deadline > 0 && answers[i].seconds > options.deadline;
    }
    evaluation.samples += static_cast<int64_t>(answers.size());
    if (options.progress) options.progress(evaluation.samples);
  }
  judge.report(evaluation);
  evaluation.layers /= static_cast<double>(evaluation.samples);
  evaluation.late /= static_cast<double>(evaluation.samples);
  evaluation.seconds = watch.seconds();
  return evaluation;
}

}  // namespace hone::infer
