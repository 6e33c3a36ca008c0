#pragma once

#include "cli/answering.h"
#include "data/labelled_sets.h"

namespace hone::cli {

/// Writes the trees of all texts: one JSON object a line, in the order of the input.
int predict_trees(const CommonOptions& common, const AnsweringOptions& options);

/// Scores a parser by files of trees.
int eval_trees(const CommonOptions& common, const std::string& model,
               const data::LabelledData& data, int64_t max_length, int64_t max_samples);

}  // namespace hone::cli
