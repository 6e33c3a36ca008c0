#include "cli/eval_data.h"

#include <fmt/ranges.h>

#include "base/error.h"

namespace hone::cli {

void declare(Arguments& arguments, EvalData& data) {
  arguments.text("--task_name", "TASK", data.task,
                 "cola mnli mrpc qnli qqp rte sst2 stsb wnli\nsst5 trec6 trec50 subj imdb");
  arguments.text("--data", "DIR", data.data, "the task's folder, or one in GLUE's layout");
  arguments.text("--split", "NAME", data.split, "default: validation; of mnli both");
  arguments.text("--validation_file", "FILE", data.validation_file,
                 "own file: a label column, one or two texts");
  arguments.text("--test_file", "FILE", data.test_file, "the same");
}

const data::Task* task_of(const EvalData& from) {
  if (from.task.empty()) return nullptr;
  if (const data::Task* task = data::find_task(from.task)) return task;
  std::vector<std::string> known;
  for (const data::Task& task : data::all_tasks()) known.push_back(task.name);
  fail(ErrorKind::usage, "--task_name: expected one of {}, got {}", fmt::join(known, ", "),
       quote(from.task));
}

std::vector<EvalPart> open_parts(const EvalData& from, const data::Task* task) {
  std::vector<EvalPart> parts;
  const auto add_file = [&](const std::string& file, const char* split) {
    if (file.empty()) return;
    parts.push_back({task ? task->name : file, split, data::open_records(file, {{}, true})});
  };
  add_file(from.validation_file, "validation");
  add_file(from.test_file, "test");
  if (!parts.empty()) return parts;
  if (!task) fail(ErrorKind::usage, "expected --task_name, --validation_file or --test_file");
  if (from.data.empty() && task->layout != data::TaskLayout::reviews) {
    fail(ErrorKind::usage, "--data: missing; the folder that has {}'s files", task->name);
  }
  const std::vector<std::string> splits =
      from.split.empty() ? data::evaluation_splits(*task) : std::vector{from.split};
  for (const std::string& split : splits) {
    parts.push_back({task->name, split, data::open_task(*task, from.data, split)});
  }
  return parts;
}

}  // namespace hone::cli
