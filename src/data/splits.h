#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/labels.h"
#include "data/records.h"
#include "data/tasks.h"

namespace hone::data {

/// A set of samples that can be opened more than once: a task's split or an own file.
struct Split {
  std::string name;                ///< for messages: "sst2 train", or the file
  std::vector<std::string> files;  ///< that it reads; none where it is built in
  std::function<std::unique_ptr<RecordStream>()> open;
};

/// `folder` as in open_task; of no meaning for the built-in reviews. Missing files are an error
/// here, not when the split is opened.
Split task_split(const Task& task, const std::string& folder, const std::string& name);
/// An own file, as RecordOptions reads it. Not standard input: it is read more than once.
Split file_split(const std::string& path, bool need_label);

enum class LabelKind {
  none,     ///< the samples have no labels: only to be predicted
  classes,  ///< one of the labels
  flags,    ///< any number of the labels
  score,    ///< a number
};

/// What a model is to answer.
struct LabelSet {
  LabelKind kind = LabelKind::classes;
  std::vector<std::string> names;  ///< in id order; none for scores

  int64_t size() const { return static_cast<int64_t>(names.size()); }
};

LabelSet task_labels(const Task& task);

/// Of a training file, by run_glue's rules: the labels that occur, sorted (as numbers where all
/// are whole numbers, otherwise as text); numbers of which one has a decimal point or an exponent
/// are scores. Lists of labels give flags; lists of 0 and 1, all of one length, flags named
/// LABEL_0, LABEL_1, ... An empty file, a missing label, and a single class are errors.
LabelSet discover_labels(const Split& training);

/// Fails where training could teach nothing: no sample, one sample, or a class without any.
/// `counts`: samples by class or by flag, as TokenStore::label_counts(); ignored for scores.
void require_trainable(const std::string& name, const LabelSet& labels, int64_t samples,
                       const std::vector<int64_t>& counts);

}  // namespace hone::data
