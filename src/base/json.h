#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

using Json = nlohmann::json;
/// A document whose fields keep the order in which they were added.
using OrderedJson = nlohmann::ordered_json;

/// Parses hostile text. `file` names it in errors (bad_file). Nesting beyond 128 levels is refused.
Json parse_json(std::string_view text, const std::string& file);

/// Formats `json` for people and programs: indented by 2, with a line feed at the end. Bytes that
/// are no UTF-8 (of a path, say) become U+FFFD.
std::string indented_json(const Json& json);
/// Writes indented_json() to a file that appears complete or not at all.
void write_json(const std::string& path, const Json& json);

/// Typed reads of one object's fields; every complaint names file, field and value.
/// A field that is null counts as absent.
class JsonFields {
 public:
  /// `object` must outlive this; `path` is the prefix of field names in errors ("a.b").
  JsonFields(const Json& object, std::string file, std::string path = "");

  bool has(const char* field) const;
  /// An absent field is an error where there is no fallback.
  int64_t integer(const char* field, int64_t low, int64_t high,
                  std::optional<int64_t> fallback = std::nullopt) const;
  double number(const char* field, std::optional<double> fallback = std::nullopt) const;
  bool boolean(const char* field, std::optional<bool> fallback = std::nullopt) const;
  std::string string(const char* field, std::optional<std::string> fallback = std::nullopt) const;
  /// Gives the raw value; an absent one is an error.
  const Json& at(const char* field) const;
  /// Gives a nested object's fields; an absent one, or a value that is no object, is an error.
  JsonFields object(const char* field) const;

  [[noreturn]] void fail_field(const char* field, std::string_view problem) const;
  const std::string& file() const { return file_; }

 private:
  const Json* find(const char* field) const;
  const Json& object_;
  std::string file_;
  std::string path_;
};

}  // namespace hone
