#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/records.h"
#include "data/tasks.h"

namespace hone::data {

/// Names labelled data: a task's sets, or files of one's own.
struct LabelledData {
  std::string task;
  std::string folder;  ///< folder of the task's files
  std::string split;   ///< empty: those that an evaluation reports
  std::string validation_file;
  std::string test_file;

  bool given() const { return !task.empty() || !test_file.empty() || !validation_file.empty(); }
};

/// One set to be evaluated.
struct LabelledSet {
  std::string task;  ///< the task, or the file
  std::string split;
  std::unique_ptr<RecordStream> records;
};

/// Finds the task; null where none is named.
const Task* task_of(const LabelledData& data);
/// Opens all sets before a model is loaded, so that a wrong path is told at once.
std::vector<LabelledSet> open_sets(const LabelledData& data, const Task* task);

}  // namespace hone::data
