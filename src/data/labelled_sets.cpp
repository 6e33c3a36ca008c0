#include "data/labelled_sets.h"

#include "base/error.h"
#include "data/image_list.h"

namespace hone::data {

namespace {

std::unique_ptr<RecordStream> open_list(ImageList list, int64_t most) {
  keep_some(list, most, 0);
  return image_split(std::move(list)).open();
}

}  // namespace

const Task* task_of(const LabelledData& data) {
  return data.task.empty() || data.task == kOwnImages ? nullptr : &task_named(data.task);
}

std::vector<LabelledSet> open_sets(const LabelledData& data, const Task* task) {
  std::vector<LabelledSet> sets;
  const auto add_file = [&](const std::string& file, const char* split) {
    if (file.empty()) return;
    sets.push_back({task ? task->name : file, split,
                    data.images ? open_list(images_listed(file, true), data.max_images)
                                : open_records(file, {{}, true})});
  };
  if (!data.validation_folder.empty()) {
    sets.push_back({data.validation_folder, "validation",
                    open_list(images_by_class(data.validation_folder), data.max_images)});
  }
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
