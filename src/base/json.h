#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

using Json = nlohmann::json;

/// Parses hostile text. `file` names it in errors (bad_file). Nesting beyond 128 levels is refused.
Json parse_json(std::string_view text, const std::string& file);

/// A file of `json` for people and programs: indented by 2, complete or not at all. Bytes that are
/// no UTF-8 (of a path, say) become U+FFFD.
void write_json(const std::string& path, const Json& json);

/// Typed reads of one object's fields; every complaint names file, field and value.
/// A field that is null counts as absent.
class JsonFields {
 public:
  /// `object` must outlive this; `path` is the prefix of field names in errors ("a.b").
  JsonFields(const Json& object, std::string file, std::string path = "");

  bool has(const char* field) const;
  /// Without a fallback, an absent field is an error.
  int64_t integer(const char* field, int64_t low, int64_t high,
                  std::optional<int64_t> fallback = std::nullopt) const;
  double number(const char* field, std::optional<double> fallback = std::nullopt) const;
  bool boolean(const char* field, std::optional<bool> fallback = std::nullopt) const;
  std::string string(const char* field, std::optional<std::string> fallback = std::nullopt) const;
  /// The raw value; error if absent.
  const Json& at(const char* field) const;
  /// A nested object's fields; error if absent or not an object.
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
