#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"

namespace hone::serve {

using JsonValue = simdjson::dom::element;

/// A request's body that is being read: hostile text, checked whole (syntax, UTF-8, nesting).
/// What is taken from it lives as long as this; a thread has one at a time.
class JsonBody {
 public:
  /// What is no JSON is a RequestError.
  explicit JsonBody(std::string_view text);
  const JsonValue& root() const { return root_; }

 private:
  simdjson::dom::parser large_;  ///< reads long texts, so that a thread keeps no memory for them
  JsonValue root_;
};

/// The fields of an object. Every complaint is a RequestError (validation) that names the field and
/// says what it expected and what it got. A field that is null counts as absent; unknown fields
/// are ignored.
class RequestFields {
 public:
  /// `path` names the object in complaints: "" or "inputs[0]".
  RequestFields(const JsonValue& value, std::string path = {});

  std::optional<JsonValue> find(std::string_view name) const;
  JsonValue at(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  std::optional<std::string_view> text_if(std::string_view name) const;
  bool boolean(std::string_view name, bool fallback) const;
  std::optional<bool> boolean_if(std::string_view name) const;
  std::optional<int64_t> integer_if(std::string_view name, int64_t low, int64_t high) const;
  std::string path_of(std::string_view name) const;

 private:
  simdjson::dom::object object_;
  std::string path_;
};

/// A value of a known place; complaints name `path`.
std::string_view read_text(const JsonValue& value, std::string_view path);
int64_t read_integer(const JsonValue& value, std::string_view path, int64_t low, int64_t high);
/// Calls take(element, its path) for each of a list's.
void read_list(const JsonValue& value, std::string_view path,
               FunctionRef<void(const JsonValue& element, const std::string& path)> take);
/// Token ids: 0 to 2^31 - 1.
std::vector<int32_t> read_ids(const JsonValue& value, std::string_view path);

/// "`path`: expected ..., got ..." as a RequestError.
[[noreturn]] void fail_field(std::string_view path, std::string_view expected,
                             const JsonValue& got);
[[noreturn]] void fail_field(std::string_view path, std::string_view problem);

}  // namespace hone::serve
