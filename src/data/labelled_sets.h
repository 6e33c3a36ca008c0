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
  std::string validation_folder;  ///< a folder of images for each class
  bool images = false;            ///< files are lists of images
  int64_t max_images = -1;        ///< most images of a list or a folder; -1: all

  bool given() const {
    return !task.empty() || !test_file.empty() || !validation_file.empty() ||
           !validation_folder.empty();
  }
};

/// One set to be evaluated.
struct LabelledSet {
  std::string task;  ///< the task, or the file
  std::string split;
  std::unique_ptr<RecordStream> records;
};

/// Finds the task; null where none is named, or images of one's own.
const Task* task_of(const LabelledData& data);
/// Opens all sets before a model is loaded, so that a wrong path is told at once.
std::vector<LabelledSet> open_sets(const LabelledData& data, const Task* task);

}  // namespace hone::data
