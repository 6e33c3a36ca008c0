#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/records.h"

namespace hone::data {

/// Says what kind of file a task's splits are.
enum class TaskLayout {
  glue_tsv,
  sst_trees,
  trec_coarse,
  trec_fine,
  subj,
  reviews,
  cifar,  ///< binary files, or PNG sheets with JSON labels
  idx,    ///< MNIST's format
};

struct TaskSplit {
  std::string name;                ///< "train", "validation", "test", "validation_matched", ...
  std::vector<std::string> files;  ///< names to try, in order
};

/// A named data set: GLUE's, a few others of texts, a few of images, and the built-in reviews,
/// which read no file.
struct Task {
  std::string name;                  ///< "sst2"
  std::vector<std::string> labels;   ///< names in id order; none for regression
  std::vector<std::string> metrics;  ///< names that `evaluate` uses; see metrics/scorer.h
  std::string folder;                ///< folder in GLUE's layout: "SST-2"
  std::vector<TaskSplit> splits;
  TaskLayout layout = TaskLayout::glue_tsv;
  /// Header names to try, in order; no `pair_columns` for single sentences.
  std::vector<std::string> text_columns, pair_columns, label_columns;

  bool regression() const { return labels.empty(); }
  bool pairs() const { return !pair_columns.empty(); }
  bool images() const { return layout == TaskLayout::cifar || layout == TaskLayout::idx; }
};

/// Finds cola mnli mrpc qnli qqp rte sst2 stsb wnli, sst5 trec6 trec50 subj imdb, cifar10 mnist
/// fashion_mnist, reviews, or gives null. Case, dashes and underscores do not count ("SST-2").
const Task* find_task(std::string_view name);
/// The name of images of one's own, where a task's name is asked for.
inline constexpr const char* kOwnImages = "image";

/// Finds a task as find_task() does; one that is not known is a usage error.
const Task& task_named(const std::string& name);
const std::vector<Task>& all_tasks();

/// Gives the metrics of classes of images.
std::vector<std::string> image_metrics();

/// Lists the splits that an evaluation reports: mnli's are validation_matched and
/// validation_mismatched.
std::vector<std::string> evaluation_splits(const Task& task);

/// Opens the records of one split. `folder` holds the task's folder (DIR/SST-2/dev.tsv,
/// DIR/glue/SST-2/...) or is itself that folder. Test sets of GLUE come without labels.
/// - trec and imdb have no dev set: "validation" reads the test set, as is usual for them.
/// - subj has no splits of its own: every tenth line of both files is "validation", the others are
///   "train"; objective and subjective sentences alternate. There is no "test".
/// - sst5 reads the root labels and leaves of Stanford's trees.
/// - cifar10, mnist and fashion_mnist have no dev set either; their records are images, see
///   data/image_sets.h.
/// - reviews (data/reviews.h) takes any folder, an empty name too.
/// - Rows of qqp with missing fields (three in GLUE's file) are skipped, as `datasets` skips them.
std::unique_ptr<RecordStream> open_task(const Task& task, const std::string& folder,
                                        const std::string& split);

/// Lists the files that open_task reads; none for built-in data.
std::vector<std::string> task_files(const Task& task, const std::string& folder,
                                    const std::string& split);

}  // namespace hone::data
