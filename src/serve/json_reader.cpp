#include "serve/json_reader.h"

#include <limits>

#include "base/error.h"
#include "serve/errors.h"

namespace hone::serve {
namespace {

// No route takes more than a few levels.
constexpr size_t kDeepest = 32;
constexpr size_t kSmall = 64 * 1024;

/// Gives the thread's parser, which keeps the buffers of short bodies.
simdjson::dom::parser& thread_parser() {
  thread_local simdjson::dom::parser parser;
  return parser;
}

JsonValue parse(simdjson::dom::parser& parser, std::string_view text) {
  JsonValue root;
  // Allocates for the depth too; the parser grows with its texts.
  simdjson::error_code code = simdjson::SUCCESS;
  if (parser.capacity() < text.size() || parser.max_depth() != kDeepest) {
    code = parser.allocate(std::max<size_t>(text.size(), 1024), kDeepest);
  }
  if (code == simdjson::SUCCESS) code = parser.parse(text.data(), text.size(), true).get(root);
  if (code == simdjson::SUCCESS) return root;
  if (code == simdjson::MEMALLOC) throw RequestError(Failure::backend, "not enough memory");
  if (code == simdjson::DEPTH_ERROR) {
    throw RequestError(Failure::validation,
                       fmt::format("body: JSON of more than {} levels", kDeepest - 1));
  }
  if (code == simdjson::UTF8_ERROR) throw RequestError(Failure::validation, "body: not UTF-8");
  if (code == simdjson::EMPTY) {
    throw RequestError(Failure::validation, "body: empty, expected a JSON object");
  }
  throw RequestError(Failure::validation,
                     fmt::format("body: not JSON: {}", simdjson::error_message(code)));
}

std::string_view kind_name(const JsonValue& value) {
  using simdjson::dom::element_type;
  switch (value.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::BOOL:
      return value.get_bool().value_unsafe() ? "true" : "false";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "";
  }
}

/// A value as a complaint shows it: never a text's content, which may be private.
std::string shown(const JsonValue& value) {
  if (value.is_string()) return "a string";
  if (value.is_int64()) return fmt::format("{}", value.get_int64().value_unsafe());
  if (value.is_uint64()) return fmt::format("{}", value.get_uint64().value_unsafe());
  if (value.is_double()) return fmt::format("{}", value.get_double().value_unsafe());
  return std::string(kind_name(value));
}

}  // namespace

JsonBody::JsonBody(std::string_view text) {
  root_ = parse(text.size() <= kSmall ? thread_parser() : large_, text);
}

void fail_field(std::string_view path, std::string_view expected, const JsonValue& got) {
  throw RequestError(Failure::validation,
                     fmt::format("`{}`: expected {}, got {}", path, expected, shown(got)));
}

void fail_field(std::string_view path, std::string_view problem) {
  throw RequestError(Failure::validation, fmt::format("`{}`: {}", path, problem));
}

RequestFields::RequestFields(const JsonValue& value, std::string path) : path_(std::move(path)) {
  if (value.get_object().get(object_) != simdjson::SUCCESS) {
    if (!path_.empty()) fail_field(path_, "an object", value);
    throw RequestError(Failure::validation, "body: expected a JSON object, got " + shown(value));
  }
}

std::string RequestFields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

std::optional<JsonValue> RequestFields::find(std::string_view name) const {
  JsonValue value;
  if (object_.at_key(name).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

JsonValue RequestFields::at(std::string_view name) const {
  const auto value = find(name);
  if (!value) fail_field(path_of(name), "missing");
  return *value;
}

std::string_view RequestFields::text(std::string_view name) const {
  return read_text(at(name), path_of(name));
}

std::optional<std::string_view> RequestFields::text_if(std::string_view name) const {
  const auto value = find(name);
  return value ? std::optional(read_text(*value, path_of(name))) : std::nullopt;
}

std::optional<bool> RequestFields::boolean_if(std::string_view name) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  bool given = false;
  if (value->get_bool().get(given) != simdjson::SUCCESS) {
    fail_field(path_of(name), "true or false", *value);
  }
  return given;
}

bool RequestFields::boolean(std::string_view name, bool fallback) const {
  return boolean_if(name).value_or(fallback);
}

std::optional<int64_t> RequestFields::integer_if(std::string_view name, int64_t low,
                                                 int64_t high) const {
  const auto value = find(name);
  return value ? std::optional(read_integer(*value, path_of(name), low, high)) : std::nullopt;
}

std::string_view read_text(const JsonValue& value, std::string_view path) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) fail_field(path, "a string", value);
  return text;
}

int64_t read_integer(const JsonValue& value, std::string_view path, int64_t low, int64_t high) {
  int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS || number < low || number > high) {
    fail_field(path, fmt::format("a whole number from {} to {}", low, high), value);
  }
  return number;
}

void read_list(const JsonValue& value, std::string_view path,
               FunctionRef<void(const JsonValue& element, const std::string& path)> take) {
  simdjson::dom::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) fail_field(path, "a list", value);
  size_t i = 0;
  for (const JsonValue element : list) take(element, fmt::format("{}[{}]", path, i++));
}

std::vector<int32_t> read_ids(const JsonValue& value, std::string_view path) {
  simdjson::dom::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) fail_field(path, "a list of ids", value);
  std::vector<int32_t> ids;
  ids.reserve(list.size());
  constexpr int64_t kLast = std::numeric_limits<int32_t>::max();
  for (const JsonValue element : list) {
    int64_t id = -1;
    if (element.get_int64().get(id) != simdjson::SUCCESS || id < 0 || id > kLast) {
      read_integer(element, fmt::format("{}[{}]", path, ids.size()), 0, kLast);  // complains
    }
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

}  // namespace hone::serve
