#include "infer/evaluate.h"

#include "base/clock.h"
#include "base/error.h"
#include "infer/line_answers.h"
#include "metrics/logit_scorer.h"

namespace hone::infer {
namespace {

/// Compares answers with the labels of their records.
class LabelScorer {
 public:
  LabelScorer(const models::ModelFolder& folder, const EvaluateOptions& options)
      : problem_(folder.config->problem),
        labels_(options.task_labels, folder.config->labels, folder.path + "/config.json"),
        scorer_(problem_, static_cast<int64_t>(folder.config->labels.size()), options.metrics) {}

  void score(const data::Record& record, const data::RecordStream& stream,
             const std::vector<float>& logits) {
    if (problem_ == ProblemType::single_label) {
      scorer_.add_class(logits, labels_.id(record, stream));
    } else if (problem_ == ProblemType::multi_label) {
      scorer_.add_labels(logits, labels_.ids(record, stream));
    } else {
      scorer_.add_score(logits, data::score_of(record, stream));
    }
  }

  void report(EvaluationResult& evaluation) const {
    evaluation.loss = scorer_.loss();
    evaluation.metrics = scorer_.results();
  }

 private:
  ProblemType problem_;
  data::LabelMap labels_;
  metrics::LogitScorer scorer_;
};

/// The first records of a stream.
class FirstRecords : public data::RecordStream {
 public:
  /// -1: all.
  FirstRecords(data::RecordStream& all, int64_t count) : all_(all), left_(count) {}

  bool next(data::Record& record) override {
    if (left_ == 0 || !all_.next(record)) return false;
    if (left_ > 0) --left_;
    return true;
  }
  bool waiting() override { return left_ == 0 || all_.waiting(); }
  void interrupt() override { all_.interrupt(); }
  void check_ids(const data::Processor& processor) const override { all_.check_ids(processor); }
  std::string where(const data::Record& record) const override { return all_.where(record); }

 private:
  data::RecordStream& all_;
  int64_t left_;
};

}  // namespace

void match_samples(const std::string& model, data::LabelledData& data) {
  const auto name = [](bool images) { return images ? "images" : "texts"; };
  data.images = models::samples_of(model) == data::SampleKind::image;
  const data::Task* task = task_of(data);
  const bool own_images = data.task == data::kOwnImages || !data.validation_folder.empty();
  if (!task && !own_images) return;
  const bool images = task ? task->images() : own_images;
  if (images == data.images) return;
  fail(ErrorKind::usage, "data.task: has {}, and {} reads {}", name(images), model,
       name(data.images));
}

EvaluationResult evaluate(Session& session, data::RecordStream& records,
                          const EvaluateOptions& options) {
  const Stopwatch watch;
  LabelScorer scorer(session.folder(), options);
  FirstRecords wanted(records, options.max_samples);
  EvaluationResult evaluation;
  AnswerHandler handler;
  handler.truncate = options.truncate;
  handler.answer = [&](const data::Record& record, const Answer& answer) {
    scorer.score(record, records, answer.values);
    if (options.answered) options.answered(answer);
    evaluation.layers += static_cast<double>(answer.layers);
    evaluation.late += options.deadline > 0 && answer.seconds > options.deadline;
  };
  handler.progress = [&](const LineCounts& counts) {
    if (options.progress) options.progress(counts.records);
  };
  const LineCounts counts = answer_lines(session, wanted, handler, options.batch_size);
  evaluation.samples = counts.records;
  evaluation.tokens = counts.tokens;
  evaluation.truncated = counts.truncated;
  scorer.report(evaluation);
  evaluation.layers /= static_cast<double>(evaluation.samples);
  evaluation.late /= static_cast<double>(evaluation.samples);
  evaluation.seconds = watch.seconds();
  return evaluation;
}

}  // namespace hone::infer
