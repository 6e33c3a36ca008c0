#include "serve/work.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "serve/errors.h"

namespace hone::serve {

std::string_view TextStore::keep(std::string_view text, std::string_view prefix) {
  const size_t bytes = prefix.size() + text.size();
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < bytes) {
    // A block never grows, so that what points into it stays. A short string would lie in the
    // object itself and move with the vector.
    constexpr size_t kLeast = 256;
    blocks_.emplace_back().reserve(std::max({bytes, blocks_.empty() ? expected_ : bytes, kLeast}));
  }
  std::string& block = blocks_.back();
  const size_t begin = block.size();
  block.append(prefix).append(text);
  return std::string_view(block).substr(begin);
}

WorkReader::WorkReader(size_t body_bytes, size_t most) : most_(most) {
  work_.texts = std::make_shared<TextStore>(body_bytes);
}

void WorkReader::check_room() const {
  if (work_.size() >= most_) {
    throw RequestError(
        Failure::batch_size,
        fmt::format("batch size is above the maximum allowed batch size of {}", most_));
  }
}

void WorkReader::check_empty(bool empty, std::string_view path) const {
  if (empty && !empty_allowed_) {
    throw RequestError(Failure::empty, fmt::format("`{}` cannot be empty", path));
  }
}

void WorkReader::add(std::string_view text, std::string_view path) {
  check_room();
  check_empty(text.empty(), path);
  work_.characters += count_code_points(text);
  work_.inputs.push_back({work_.texts->keep(text, prompt_), std::nullopt});
}

void WorkReader::add_pair(std::string_view first, std::string_view second, std::string_view path) {
  check_room();
  check_empty(first.empty() && second.empty(), path);
  work_.characters += count_code_points(first) + count_code_points(second);
  const std::string_view kept = work_.texts->keep(first, prompt_);
  work_.inputs.push_back({kept, work_.texts->keep(second)});
}

void WorkReader::add_ids(std::vector<int32_t> ids, std::string_view path) {
  check_room();
  check_empty(ids.empty(), path);
  work_.characters += static_cast<int64_t>(ids.size());
  work_.ids.push_back(std::move(ids));
}

void WorkReader::add_texts(const JsonValue& value, std::string_view path) {
  if (value.is_string()) {
    work_.single = true;
    return add(read_text(value, path), path);
  }
  if (!value.is_array()) fail_field(path, "a string or a list of strings", value);
  read_list(value, path, [&](const JsonValue& element, const std::string& place) {
    add(read_text(element, place), place);
  });
}

void WorkReader::add_texts_or_ids(const JsonValue& value, std::string_view path) {
  simdjson::dom::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) return add_texts(value, path);
  if (list.begin() != list.end() && (*list.begin()).is_number()) {
    work_.single = true;
    return add_ids(read_ids(value, path), path);
  }
  read_list(value, path, [&](const JsonValue& element, const std::string& place) {
    if (element.is_array()) {
      add_ids(read_ids(element, place), place);
    } else {
      add(read_text(element, place), place);
    }
  });
}

void WorkReader::read_truncation(const RequestFields& fields) {
  if (const auto truncate = fields.boolean_if("truncate")) work_.truncate = truncate;
  const auto direction = fields.text_if("truncation_direction");
  if (!direction) return;
  if (*direction != "left" && *direction != "right" && *direction != "Left" &&
      *direction != "Right") {
    fail_field(fields.path_of("truncation_direction"), "expected left or right");
  }
  work_.truncate_left = *direction == "left" || *direction == "Left";
}

Work WorkReader::take(std::string_view path) {
  if (work_.size() == 0) {
    throw RequestError(Failure::empty, fmt::format("`{}` cannot be empty", path));
  }
  if (!work_.inputs.empty() && !work_.ids.empty()) {
    fail_field(path, "texts and token ids together; send them in two requests");
  }
  return std::move(work_);
}

}  // namespace hone::serve
