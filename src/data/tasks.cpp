#include "data/tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "data/corpora.h"
#include "data/delimited.h"
#include "data/image_sets.h"
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

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (const size_t at = text.rfind(from); at != text.npos) text.replace(at, from.size(), to);
  return text;
}

/// Lists what belongs to the first file of a split of images: the files of the images, and behind
/// them the one of their labels where that is a file of its own.
std::vector<std::string> image_files(const Task& task, const std::string& first) {
  if (task.layout == TaskLayout::idx) {
    const size_t name = first.rfind('/') + 1;
    return {first, first.substr(0, name) +
                       replaced(replaced(first.substr(name), "images", "labels"), "idx3", "idx1")};
  }
  std::vector<std::string> files = {first};
  const bool test = first.find("test_batch", first.rfind('/') + 1) != first.npos;
  for (const char* number : {"_2.", "_3.", "_4.", "_5."}) {
    if (!test) files.push_back(replaced(first, "_1.", number));
  }
  if (!first.ends_with(".png")) return files;
  const std::string begin = first.substr(0, first.rfind('/') + 1) + (test ? "test" : "train");
  // The package that has the sheets spells the names of its lists so.
  const std::string published = begin + "_lables.json";
  files.push_back(file_exists(published) ? published : begin + "_labels.json");
  return files;
}

std::unique_ptr<RecordStream> open_images(const Task& task, std::vector<std::string> files) {
  const std::string last = files.back();
  if (task.layout == TaskLayout::idx) {
    return open_idx(open_bytes(files.front()), files.front(), open_bytes(last), last);
  }
  if (!last.ends_with(".json")) return open_cifar(files);
  files.pop_back();
  return open_sheets(files, last);
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
  if (task.images()) return open_images(task, image_files(task, path));
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
  if (task.images()) return image_files(task, path);
  if (task.layout == TaskLayout::subj) return {path, quote_path_of(path)};
  return {path};
}

}  // namespace hone::data
