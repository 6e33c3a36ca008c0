#include "data/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace hone::data {
namespace {

/// Reads a whole decimal number below `limit`; "1.0" too, since tables write ids so.
std::optional<int64_t> parse_id(std::string_view text, size_t limit) {
  if (const size_t dot = text.find('.'); dot != text.npos) {
    if (text.find_first_not_of('0', dot + 1) != text.npos) return std::nullopt;
    text = text.substr(0, dot);
  }
  uint64_t id = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || stop != text.data() + text.size() || id >= limit) return std::nullopt;
  return static_cast<int64_t>(id);
}

/// Says whether `key` is what `transformers` calls a label nobody named.
bool is_nameless(std::string_view key) {
  if (key.starts_with("label")) key.remove_prefix(5);
  return !key.empty() && key.find_first_not_of("0123456789") == key.npos;
}

std::vector<std::string> keys_of(const std::vector<std::string>& names) {
  std::vector<std::string> keys;
  for (const std::string& name : names) keys.push_back(normal_label(name));
  return keys;
}

/// Gives the index of a key, SIZE_MAX if it is absent.
size_t index_of(const std::vector<std::string>& keys, std::string_view key) {
  const auto it = std::find(keys.begin(), keys.end(), key);
  return it == keys.end() ? SIZE_MAX : static_cast<size_t>(it - keys.begin());
}

}  // namespace

std::string normal_label(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    key.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  if (key == "pos") return "positive";
  if (key == "neg") return "negative";
  return key;
}

LabelMap::LabelMap(std::vector<std::string> task_labels, std::vector<std::string> model_labels,
                   const std::string& config)
    : model_labels_(std::move(model_labels)),
      model_keys_(keys_of(model_labels_)),
      task_keys_(keys_of(task_labels)) {
  const bool named = !std::all_of(model_keys_.begin(), model_keys_.end(), is_nameless);
  if (task_keys_.empty()) {
    by_name_ = named;
    return;
  }
  size_t found = 0;
  for (const std::string& key : task_keys_) found += index_of(model_keys_, key) != SIZE_MAX;
  by_name_ = named && found > 0;
  if (by_name_ ? found < task_keys_.size() : task_keys_.size() != model_labels_.size()) {
    fail(ErrorKind::bad_file, "{}: id2label: expected the labels {}, got {}", config,
         quote(fmt::format("{}", fmt::join(task_labels, ", ")), 400),
         quote(fmt::format("{}", fmt::join(model_labels_, ", ")), 400));
  }
  for (size_t i = 0; i < task_keys_.size(); ++i) {
    to_model_.push_back(static_cast<int64_t>(by_name_ ? index_of(model_keys_, task_keys_[i]) : i));
  }
}

int64_t LabelMap::find(std::string_view label) const {
  const std::string key = normal_label(label);
  if (!task_keys_.empty()) {
    if (const size_t at = index_of(task_keys_, key); at != SIZE_MAX) return to_model_[at];
    const auto id = parse_id(label, task_keys_.size());
    return id ? to_model_[static_cast<size_t>(*id)] : -1;
  }
  if (const size_t at = index_of(model_keys_, key); at != SIZE_MAX) return static_cast<int64_t>(at);
  const auto is_number = [](const std::string& name) {
    return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
  };
  if (!std::all_of(model_keys_.begin(), model_keys_.end(), is_number)) {
    return parse_id(label, model_labels_.size()).value_or(-1);
  }
  // Names may be numbers, perhaps 1 to 5: a number is one of them, not a place among them.
  const auto number = parse_id(label, INT64_MAX);
  const size_t at = number ? index_of(model_keys_, std::to_string(*number)) : SIZE_MAX;
  return at == SIZE_MAX ? -1 : static_cast<int64_t>(at);
}

void LabelMap::unknown(std::string_view label, const std::string& where) const {
  fail(ErrorKind::bad_file, "{}: label: expected one of {}, got {}", where,
       quote(fmt::format("{}", fmt::join(model_labels_, ", ")), 400), quote(label));
}

int64_t LabelMap::id(const Record& record, const RecordStream& stream) const {
  if (!record.label) {
    fail(ErrorKind::bad_file, "{}: label: {}", stream.where(record),
         record.labels ? "a list, expected one value" : "missing");
  }
  const int64_t id = find(*record.label);
  if (id < 0) unknown(*record.label, stream.where(record));
  return id;
}

std::vector<bool> LabelMap::ids(const Record& record, const RecordStream& stream) const {
  std::vector<bool> applies(model_labels_.size(), false);
  if (!record.labels) {
    applies[static_cast<size_t>(id(record, stream))] = true;
    return applies;
  }
  const std::vector<std::string>& items = *record.labels;
  const auto is_flag = [](const std::string& item) { return parse_id(item, 2).has_value(); };
  if (items.size() == applies.size() && std::all_of(items.begin(), items.end(), is_flag)) {
    for (size_t i = 0; i < items.size(); ++i) applies[i] = parse_id(items[i], 2) == 1;
    return applies;
  }
  for (const std::string& item : items) {
    const int64_t id = find(item);
    if (id < 0) unknown(item, stream.where(record));
    applies[static_cast<size_t>(id)] = true;
  }
  return applies;
}

double score_of(const Record& record, const RecordStream& stream) {
  if (!record.label) {
    fail(ErrorKind::bad_file, "{}: label: missing, expected a number", stream.where(record));
  }
  std::string_view text = *record.label;
  if (text.starts_with('+')) text.remove_prefix(1);
  double score = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), score);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(score)) {
    fail(ErrorKind::bad_file, "{}: label: expected a number, got {}", stream.where(record),
         quote(*record.label));
  }
  return score;
}

}  // namespace hone::data
