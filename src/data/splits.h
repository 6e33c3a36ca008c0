#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/problem_type.h"
#include "data/labels.h"
#include "data/records.h"
#include "data/tasks.h"

namespace hone::data {

/// A set of samples that can be opened more than once: a task's split or an own file.
struct Split {
  std::string name;                ///< name in messages: "sst2 train", or the file
  std::vector<std::string> files;  ///< files that it reads; none where it is built in
  std::string contents = {};       ///< what decides the samples beside the files' contents
  std::function<std::unique_ptr<RecordStream>()> open;
};

/// Gives a split of a task. `folder` is that of open_task, of no meaning for the built-in reviews.
/// Missing files are an error here, not when the split is opened.
Split task_split(const Task& task, const std::string& folder, const std::string& name);
/// Gives an own file as a split, as RecordOptions reads it. Standard input is refused: a split is
/// read more than once.
Split file_split(const std::string& path, bool need_label);

/// Says what a model is to answer.
struct LabelSet {
  /// The problem is absent where the samples have no labels and are only to be predicted.
  std::optional<ProblemType> problem = ProblemType::single_label;
  std::vector<std::string> names;  ///< names in id order; none for scores

  int64_t size() const { return static_cast<int64_t>(names.size()); }
};

/// Gives a file of trees as a split: the texts of open_tree_records().
Split tree_split(const std::string& path);

LabelSet task_labels(const Task& task);

/// Finds the labels of a training file by run_glue's rules: the ones that occur, sorted (as numbers
/// where all are whole numbers, otherwise as text); numbers of which one has a decimal point or an
/// exponent are scores. Lists of labels give flags; lists of 0 and 1, all of one length, flags
/// named LABEL_0, LABEL_1, ... An empty file, a missing label, and a single class are errors.
LabelSet discover_labels(const Split& training);

/// Fails where there are not two classes to tell apart, or two are the same to LabelMap, which
/// reads names without case, dashes and spaces.
void check_classes(const std::string& name, const std::vector<std::string>& classes, int64_t rows);

/// Fails where training could teach nothing: no sample, one sample, or a class without any.
/// `counts`: samples by class or by flag, as SampleStore::label_counts(); ignored for scores.
void require_trainable(const std::string& name, const LabelSet& labels, int64_t samples,
                       const std::vector<int64_t>& counts);

}  // namespace hone::data
