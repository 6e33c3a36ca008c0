#include "base/json.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"

namespace hone {
namespace {

constexpr int kMaxDepth = 128;

bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

std::string shown(const Json& value) {
  return quote(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  if (nests_too_deeply(text)) {
    fail(ErrorKind::bad_file, "{}: JSON nests deeper than {} levels", file, kMaxDepth);
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& e) {
    fail(ErrorKind::bad_file, "{}: not valid JSON at byte {}", file, e.byte);
  } catch (const Json::exception& e) {
    fail(ErrorKind::bad_file, "{}: not valid JSON: {}", file, quote(e.what()));
  }
}

std::string indented_json(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_json(const std::string& path, const Json& json) {
  write_file(path, indented_json(json));
}

JsonFields::JsonFields(const Json& object, std::string file, std::string path)
    : object_(object), file_(std::move(file)), path_(std::move(path)) {
  if (!object_.is_object()) {
    fail(ErrorKind::bad_file, "{}: {}: expected an object, got {}", file_,
         path_.empty() ? "top level" : path_, shown(object_));
  }
}

const Json* JsonFields::find(const char* field) const {
  const auto it = object_.find(field);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

bool JsonFields::has(const char* field) const { return find(field) != nullptr; }

void JsonFields::fail_field(const char* field, std::string_view problem) const {
  const Json* value = find(field);
  const std::string name = path_.empty() ? field : path_ + "." + field;
  if (!value) fail(ErrorKind::bad_file, "{}: {}: {}", file_, name, problem);
  fail(ErrorKind::bad_file, "{}: {}: {}, got {}", file_, name, problem, shown(*value));
}

const Json& JsonFields::at(const char* field) const {
  const Json* value = find(field);
  if (!value) fail_field(field, "missing");
  return *value;
}

JsonFields JsonFields::object(const char* field) const {
  return JsonFields(at(field), file_, path_.empty() ? field : path_ + "." + field);
}

int64_t JsonFields::integer(const char* field, int64_t low, int64_t high,
                            std::optional<int64_t> fallback) const {
  if (fallback && !has(field)) return *fallback;
  const Json& value = at(field);
  const bool whole =
      value.is_number_integer() ||
      (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>() &&
       std::abs(value.get<double>()) < 1e15);
  const bool fits = whole && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
  const int64_t got = fits ? value.get<int64_t>() : 0;
  if (!fits || got < low || got > high) {
    fail_field(field, fmt::format("expected a whole number from {} to {}", low, high));
  }
  return got;
}

double JsonFields::number(const char* field, std::optional<double> fallback) const {
  if (fallback && !has(field)) return *fallback;
  const Json& value = at(field);
  if (!value.is_number()) fail_field(field, "expected a number");
  return value.get<double>();
}

bool JsonFields::boolean(const char* field, std::optional<bool> fallback) const {
  if (fallback && !has(field)) return *fallback;
  const Json& value = at(field);
  if (!value.is_boolean()) fail_field(field, "expected true or false");
  return value.get<bool>();
}

std::string JsonFields::string(const char* field, std::optional<std::string> fallback) const {
  if (fallback && !has(field)) return *fallback;
  const Json& value = at(field);
  if (!value.is_string()) fail_field(field, "expected a string");
  return value.get<std::string>();
}

}  // namespace hone
