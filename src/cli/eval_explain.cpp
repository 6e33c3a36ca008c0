#include "cli/eval_explain.h"

#include "base/error.h"
#include "data/review_trees.h"
#include "io/folder.h"
#include "models/explainer.h"
#include "models/folder.h"

namespace hone::cli {

void declare(Arguments& arguments, ExplainFlags& flags) {
  arguments.flag("--explain", flags.on, "score explanations too, by deleting words");
  arguments.flag("--by_ablation", flags.by_ablation,
                 "of --explain: phrases rank by their ablation");
  arguments.lists("--trees", "FILE", flags.trees, "of --explain: labelled trees to compare with");
}

void check(const ExplainFlags& flags, const std::string& model) {
  if (!flags.on) {
    if (flags.trees.empty() && !flags.by_ablation) return;
    fail(ErrorKind::usage, "{}: is of --explain, which is missing",
         flags.by_ablation ? "--by_ablation" : "--trees");
  }
  if (models::explain_settings(*models::open_model_folder(io::resolve_model(model)).config)) return;
  fail(ErrorKind::usage, "{}: has no head that explains; train one by `hone train --explain`",
       model);
}

infer::Faithfulness measure(const ExplainFlags& flags, const data::Task* task,
                            const std::string& split, data::RecordStream& records,
                            int64_t max_samples, infer::SelfExplainer& explainer) {
  infer::FaithfulnessOptions options;
  if (!flags.trees.empty()) {
    options.trees = data::load_trees(flags.trees);
  } else if (task && task->layout == data::TaskLayout::reviews) {
    options.trees = data::review_trees(split, max_samples);
  }
  options.max_samples = max_samples;
  options.by_ablation = flags.by_ablation;
  return infer::measure_faithfulness(explainer, records, options);
}

}  // namespace hone::cli
