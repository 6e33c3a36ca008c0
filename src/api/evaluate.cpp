#include "hone/evaluate.h"

#include "api/option_names.h"
#include "base/error.h"
#include "data/labelled_sets.h"
#include "infer/evaluate.h"
#include "infer/model_options.h"

namespace hone {
namespace {

Evaluation evaluate_set(infer::Session& session, const data::LabelledSet& set,
                        const infer::EvaluateOptions& how) {
  infer::EvaluationResult found = infer::evaluate(session, *set.records, how);
  if (found.samples == 0) fail(ErrorKind::bad_file, "{}: {}: no samples", set.task, set.split);
  Evaluation evaluation;
  evaluation.task = set.task;
  evaluation.split = set.split;
  evaluation.samples = found.samples;
  evaluation.tokens = found.tokens;
  evaluation.truncated = found.truncated;
  evaluation.loss = found.loss;
  evaluation.metrics = std::move(found.metrics);
  evaluation.seconds = found.seconds;
  evaluation.layers = found.layers;
  return evaluation;
}

}  // namespace

std::vector<Evaluation> evaluate(const std::string& model, const EvaluationData& data,
                                 const ModelOptions& options) {
  // Options of models have the names that the library has.
  const auto name_of = [](std::string_view field) {
    return field.starts_with("data.") ? api::option_of(field) : std::string_view();
  };
  return api::with_option_names(name_of, [&] {
    if (data.file.empty() && data.dir.empty() && data.task_name.empty()) {
      fail(ErrorKind::usage, "file: missing; or give `dir` or `task_name`");
    }
    if (options.use == Use::embed) fail(ErrorKind::usage, "use: expected predict, got embed");
    data::LabelledData labelled;
    labelled.task = data.task_name;
    labelled.folder = data.data;
    labelled.split = data.split;
    labelled.test_file = data.file;
    labelled.validation_folder = data.dir;
    labelled.max_images = data.max_samples;
    infer::match_samples(model, labelled);
    const data::Task* task = data::task_of(labelled);
    const std::vector<data::LabelledSet> sets = data::open_sets(labelled, task);
    ModelOptions predicting = options;
    predicting.use = Use::predict;
    const infer::SessionOptions settings = infer::session_options(model, predicting);
    infer::Session session(model, settings);
    infer::EvaluateOptions how;
    if (task) {
      how.task_labels = task->labels;
      how.metrics = task->metrics;
    }
    if (labelled.images && !task && session.config().problem == ProblemType::single_label) {
      how.metrics = data::image_metrics();
    }
    how.max_samples = data.max_samples;
    how.deadline = settings.deadline;
    std::vector<Evaluation> evaluations;
    for (const data::LabelledSet& set : sets) {
      evaluations.push_back(evaluate_set(session, set, how));
    }
    return evaluations;
  });
}

}  // namespace hone
