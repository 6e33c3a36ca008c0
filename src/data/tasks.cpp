#include "data/tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "data/corpora.h"
#include "data/delimited.h"
#include "data/reviews.h"

namespace hone::data {
namespace {

/// Finds a split; "validation" and "test" of mnli are the matched ones.
const TaskSplit& find_split(const Task& task, const std::string& name) {
  for (const std::string& wanted : {name, name + "_matched"}) {
    for (const TaskSplit& split : task.splits) {
      if (split.name == wanted) return split;
    }
  }
  std::vector<std::string> known;
  for (const TaskSplit& split : task.splits) known.push_back(split.name);
  fail(ErrorKind::usage, "{}: split: expected one of {}, got {}", task.name, fmt::join(known, ", "),
       quote(name));
}

std::string find_file(const Task& task, const std::string& folder, const TaskSplit& split) {
  std::vector<std::string> tried;
  for (const std::string& place : {folder + "/" + task.folder, folder + "/" + task.name,
                                   folder + "/glue/" + task.folder, folder}) {
    for (const std::string& file : split.files) {
      tried.push_back(place + "/" + file);
      if (file_exists(tried.back())) return tried.back();
    }
  }
  fail(ErrorKind::bad_file, "{}: no {} set of {}: tried {}", folder, split.name, task.name,
       fmt::join(tried, ", "));
}

std::optional<size_t> find_column(const std::vector<std::string>& header,
                                  const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto it = std::find(header.begin(), header.end(), name);
    if (it != header.end()) return static_cast<size_t>(it - header.begin());
  }
  return std::nullopt;
}

size_t need_column(const std::vector<std::string>& header, const std::vector<std::string>& names,
                   const std::string& where) {
  if (const auto found = find_column(header, names)) return *found;
  fail(ErrorKind::bad_file, "{}: column {}: missing, got {}", where,
       quote(fmt::format("{}", fmt::join(names, "' or '"))),
       quote(fmt::format("{}", fmt::join(header, ", "))));
}

TableRule glue_rule(const Task& task, bool labelled) {
  TableRule rule;
  rule.delimiter = '\t';
  rule.quoted = false;
  rule.need_label = labelled;
  rule.skip_short_rows = task.name == "qqp";
  rule.columns = [&task, labelled](const std::vector<std::string>& header,
                                   const std::string& where) {
    Columns columns;
    // CoLA's train and dev sets have no header: source, label, the author's mark, sentence.
    if (task.name == "cola" && header.size() == 4 && !find_column(header, task.text_columns)) {
      return Columns{3, std::nullopt, 1, false};
    }
    columns.text = need_column(header, task.text_columns, where);
    if (task.pairs()) columns.pair = need_column(header, task.pair_columns, where);
    columns.label = find_column(header, task.label_columns);
    if (labelled) columns.label = need_column(header, task.label_columns, where);
    return columns;
  };
  return rule;
}

}  // namespace

const Task& task_named(const std::string& name) {
  if (const Task* task = find_task(name)) return *task;
  std::vector<std::string> known;
  for (const Task& task : all_tasks()) known.push_back(task.name);
  fail(ErrorKind::usage, "data.task: expected one of {}, got {}", fmt::join(known, ", "),
       quote(name));
}

std::unique_ptr<RecordStream> open_task(const Task& task, const std::string& folder,
                                        const std::string& split_name) {
  const TaskSplit& split = find_split(task, split_name);
  if (task.layout == TaskLayout::reviews) return open_reviews({}, split.name);
  const std::string path = find_file(task, folder, split);
  if (task.layout == TaskLayout::subj) return open_subj(path, split.name == "validation");
  LineReader lines(open_bytes(path), path);
  switch (task.layout) {
    case TaskLayout::sst_trees:
      return std::make_unique<TreeRecords>(std::move(lines));
    case TaskLayout::trec_coarse:
    case TaskLayout::trec_fine:
      return std::make_unique<TrecRecords>(std::move(lines), task.layout == TaskLayout::trec_fine);
    default:
      return std::make_unique<DelimitedRecords>(std::move(lines),
                                                glue_rule(task, !split.name.starts_with("test")));
  }
}

std::vector<std::string> task_files(const Task& task, const std::string& folder,
                                    const std::string& split_name) {
  const TaskSplit& split = find_split(task, split_name);
  if (task.layout == TaskLayout::reviews) return {};
  const std::string path = find_file(task, folder, split);
  if (task.layout == TaskLayout::subj) return {path, quote_path_of(path)};
  return {path};
}

}  // namespace hone::data
