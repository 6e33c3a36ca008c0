#include "data/splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "data/entry_store.h"
#include "data/tree_file.h"

namespace hone::data {
namespace {

void check_distinct(const std::string& name, const std::vector<std::string>& names) {
  std::map<std::string, std::string> seen;
  for (const std::string& label : names) {
    const auto [other, added] = seen.emplace(normal_label(label), label);
    if (added) continue;
    fail(ErrorKind::bad_file, "{}: label: {} and {} are read as one label", name,
         quote(other->second), quote(label));
  }
}

/// Collects what the labels of a file have been so far.
class Discovery {
 public:
  void add(const Record& record, const RecordStream& stream) {
    ++rows_;
    if (record.labels) {
      if (!single_.empty()) mixed(record, stream);
      add_list(*record.labels);
    } else {
      if (!record.label || record.label->empty()) {
        fail(ErrorKind::bad_file, "{}: label: missing", stream.where(record));
      }
      if (lists_ > 0) mixed(record, stream);
      single_.insert(*record.label);
    }
  }

  LabelSet result(const std::string& name) const {
    if (rows_ == 0) fail(ErrorKind::bad_file, "{}: no samples", name);
    if (lists_ > 0) return flags(name);
    if (all_numbers()) {
      if (!all_whole()) return {ProblemType::regression, {}};
      return classes(name, by_number());
    }
    return classes(name, {single_.begin(), single_.end()});
  }

 private:
  [[noreturn]] static void mixed(const Record& record, const RecordStream& stream) {
    fail(ErrorKind::bad_file, "{}: label: {}", stream.where(record),
         record.labels ? "a list, where earlier rows have one value"
                       : "one value, where earlier rows have a list");
  }

  void add_list(const std::vector<std::string>& labels) {
    ++lists_;
    for (const std::string& label : labels) {
      in_lists_.insert(label);
      bits_ = bits_ && (label == "0" || label == "1");
    }
    bits_ = bits_ && (lists_ == 1 || labels.size() == width_);
    width_ = labels.size();
  }

  static std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
    return value;
  }
  static bool whole(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && text.size() < 19 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  }
  bool all_numbers() const {
    return std::all_of(single_.begin(), single_.end(), [](auto& text) { return number(text); });
  }
  bool all_whole() const { return std::all_of(single_.begin(), single_.end(), whole); }

  std::vector<std::string> by_number() const {
    std::vector<std::string> names(single_.begin(), single_.end());
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& a, const auto& b) { return std::stoll(a) < std::stoll(b); });
    return names;
  }

  LabelSet classes(const std::string& name, std::vector<std::string> names) const {
    check_classes(name, names, rows_);
    return {ProblemType::single_label, std::move(names)};
  }

  LabelSet flags(const std::string& name) const {
    LabelSet set{ProblemType::multi_label, {in_lists_.begin(), in_lists_.end()}};
    if (bits_ && width_ > 1) {
      set.names.clear();
      for (size_t i = 0; i < width_; ++i) set.names.push_back(fmt::format("LABEL_{}", i));
    }
    check_distinct(name, set.names);
    if (set.names.empty()) fail(ErrorKind::bad_file, "{}: labels: all lists are empty", name);
    return set;
  }

  int64_t rows_ = 0;
  int64_t lists_ = 0;
  size_t width_ = 0;
  bool bits_ = true;  ///< all lists are of 0 and 1, and of one length
  std::set<std::string> single_;
  std::set<std::string> in_lists_;
};

}  // namespace

Split task_split(const Task& task, const std::string& folder, const std::string& name) {
  Split split;
  split.name = task.name + " " + name;
  split.files = task_files(task, folder, name);
  split.open = [&task, folder, name] { return open_task(task, folder, name); };
  return split;
}

Split file_split(const std::string& path, bool need_label) {
  Split split;
  split.name = path;
  if (is_entry_store(path)) {
    split.files = {manifest_of_store(path)};  // it has the hashes of the others
  } else if (file_exists(path)) {
    split.files = {path};
  } else {
    fail(ErrorKind::bad_file, "{}: cannot open: not a regular file, or not there", path);
  }
  split.open = [path, need_label] { return open_records(path, {{}, need_label}); };
  return split;
}

Split tree_split(const std::string& path) {
  Split split = file_split(path, false);
  split.open = [path] { return open_tree_records(path); };
  return split;
}

LabelSet task_labels(const Task& task) {
  if (task.regression()) return {ProblemType::regression, {}};
  return {ProblemType::single_label, task.labels};
}

LabelSet discover_labels(const Split& training) {
  Discovery discovery;
  const auto stream = training.open();
  for (Record record; stream->next(record);) discovery.add(record, *stream);
  return discovery.result(training.name);
}

void check_classes(const std::string& name, const std::vector<std::string>& classes, int64_t rows) {
  if (classes.size() < 2) {
    fail(ErrorKind::bad_file, "{}: label: expected at least two classes, got only {} ({} rows)",
         name, quote(classes.front()), rows);
  }
  check_distinct(name, classes);
}

void require_trainable(const std::string& name, const LabelSet& labels, int64_t samples,
                       const std::vector<int64_t>& counts) {
  if (samples < 2) {
    fail(ErrorKind::bad_file, "{}: {}; training needs at least two", name,
         samples == 0 ? "no samples" : "one sample");
  }
  if (labels.problem == ProblemType::regression) return;
  for (size_t i = 0; i < labels.names.size(); ++i) {
    if (counts.at(i) > 0) continue;
    fail(ErrorKind::bad_file, "{}: label: no sample of class {} among {}", name,
         quote(labels.names[i]), samples);
  }
}

}  // namespace hone::data
