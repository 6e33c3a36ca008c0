#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "data/labelled_sets.h"
#include "infer/faithfulness.h"

namespace hone::cli {

/// How hone eval scores explanations.
struct ExplainFlags {
  bool on = false;
  bool by_ablation = false;
  std::vector<std::string> trees;
};

void declare(Arguments& arguments, ExplainFlags& flags);

/// Fails, before anything is loaded, where the model does not explain itself, or a flag is of
/// explanations that were not asked for.
void check(const ExplainFlags& flags, const std::string& model);

/// Measures the explanations of a set's texts.
infer::Faithfulness measure(const ExplainFlags& flags, const data::Task* task,
                            const std::string& split, data::RecordStream& records,
                            int64_t max_samples, infer::SelfExplainer& explainer);

}  // namespace hone::cli
