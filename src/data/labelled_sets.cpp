#include "data/labelled_sets.h"

#include "base/error.h"

namespace hone::data {

const Task* task_of(const LabelledData& data) {
  return data.task.empty() ? nullptr : &task_named(data.task);
}

std::vector<LabelledSet> open_sets(const LabelledData& data, const Task* task) {
  std::vector<LabelledSet> sets;
  const auto add_file = [&](const std::string& file, const char* split) {
    if (file.empty()) return;
    sets.push_back({task ? task->name : file, split, open_records(file, {{}, true})});
  };
  add_file(data.validation_file, "validation");
  add_file(data.test_file, "test");
  if (!sets.empty()) return sets;
  if (!task) {
    fail(ErrorKind::usage, "expected `data.task`, `data.validation_file` or `data.test_file`");
  }
  if (data.folder.empty() && task->layout != TaskLayout::reviews) {
    fail(ErrorKind::usage, "data.folder: missing; the folder that has {}'s files", task->name);
  }
  const std::vector<std::string> splits =
      data.split.empty() ? evaluation_splits(*task) : std::vector{data.split};
  for (const std::string& split : splits) {
    sets.push_back({task->name, split, open_task(*task, data.folder, split)});
  }
  return sets;
}

}  // namespace hone::data
