#include "infer/evaluate.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "infer/line_answers.h"

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

/// log(1 + e^x) without overflow.
double softplus(double x) { return std::max(x, 0.) + std::log1p(std::exp(-std::abs(x))); }

double cross_entropy(const std::vector<float>& logits, size_t label) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return std::log(sum) + largest - logits[label];
}

double binary_cross_entropy(const std::vector<float>& logits, const std::vector<bool>& labels) {
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    sum += softplus(logits[i]) - (labels[i] ? logits[i] : 0.);
  return sum / static_cast<double>(logits.size());
}

/// Scores answers against labels and sums the loss.
class Judge {
 public:
  Judge(const models::ModelFolder& folder, const EvaluateOptions& options)
      : Judge(folder.config, folder.path + "/config.json", options) {}
  Judge(const models::EncoderConfig& config, const std::string& file,
        const EvaluateOptions& options)
      : problem_(config.problem),
        labels_(options.task_labels, config.labels, file),
        scorer_(problem_of(config), static_cast<int64_t>(config.labels.size()),
                options.metrics.empty()
                    ? metrics::default_metrics(problem_of(config),
                                               static_cast<int64_t>(config.labels.size()))
                    : options.metrics) {}

  /// The label is read before the batch runs, so that a bad one is told at once.
  void expect(const data::Record& record, const data::RecordStream& stream) {
    if (problem_ == ProblemType::single_label) ids_.push_back(labels_.id(record, stream));
    if (problem_ == ProblemType::multi_label) sets_.push_back(labels_.ids(record, stream));
    if (problem_ == ProblemType::regression) scores_.push_back(data::score_of(record, stream));
  }

  void judge(size_t i, const std::vector<float>& logits) {
    for (const float logit : logits) {
      if (!std::isfinite(logit)) fail(ErrorKind::bad_file, "the model's answer is not finite");
    }
    if (problem_ == ProblemType::regression) {
      const double error = logits[0] - scores_[i];
      loss_ += error * error;
      scorer_.add_score(logits[0], scores_[i]);
    } else if (problem_ == ProblemType::single_label) {
      loss_ += cross_entropy(logits, static_cast<size_t>(ids_[i]));
      const auto best = std::max_element(logits.begin(), logits.end());
      scorer_.add_class(best - logits.begin(), ids_[i]);
    } else {
      loss_ += binary_cross_entropy(logits, sets_[i]);
      std::vector<bool> chosen(logits.size());
      for (size_t k = 0; k < logits.size(); ++k) chosen[k] = logits[k] >= 0;
      scorer_.add_labels(chosen, sets_[i]);
    }
  }

  void next_batch() {
    ids_.clear();
    sets_.clear();
    scores_.clear();
  }

  void report(Evaluation& evaluation) const {
    evaluation.loss = loss_ / static_cast<double>(evaluation.samples);
    evaluation.metrics = scorer_.results();
  }

 private:
  ProblemType problem_;
  data::LabelMap labels_;
  metrics::Scorer scorer_;
  double loss_ = 0;
  std::vector<int64_t> ids_;
  std::vector<std::vector<bool>> sets_;
  std::vector<double> scores_;
};

}  // namespace

Evaluation evaluate(Session& session, data::RecordStream& records, const EvaluateOptions& options) {
  const Stopwatch watch;
  Judge judge(session.folder(), options);
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
      evaluation.tokens += answers[i].tokens;
      evaluation.truncated += answers[i].truncated();
    }
    evaluation.samples += static_cast<int64_t>(answers.size());
    if (options.progress) options.progress(evaluation.samples);
  }
  judge.report(evaluation);
  evaluation.seconds = watch.seconds();
  return evaluation;
}

}  // namespace hone::infer
