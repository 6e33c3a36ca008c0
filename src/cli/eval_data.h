#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "data/records.h"
#include "data/tasks.h"

namespace hone::cli {

/// Labelled data: a task's sets, or files of one's own.
struct EvalData {
  std::string task;
  std::string data;
  std::string test_file;
  std::string validation_file;
  std::string split;

  bool given() const { return !task.empty() || !test_file.empty() || !validation_file.empty(); }
};

/// One set to be evaluated.
struct EvalPart {
  std::string task;  ///< the task, or the file
  std::string split;
  std::unique_ptr<data::RecordStream> records;
};

void declare(Arguments& arguments, EvalData& data);
/// Null where none is named.
const data::Task* task_of(const EvalData& data);
/// All are opened before a model is loaded, so that a wrong path is told at once.
std::vector<EvalPart> open_parts(const EvalData& data, const data::Task* task);

}  // namespace hone::cli
