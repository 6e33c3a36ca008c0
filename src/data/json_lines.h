#pragma once

#include <string>
#include <vector>

#include "data/line_records.h"

namespace hone::data {

/// A field of a JSON object, as far as records need it.
struct JsonField {
  enum class Kind { text, scalar, list, null, other };
  std::string name;
  Kind kind = Kind::null;
  std::string value;  ///< the value of text and scalars (numbers as written, true, false)
  std::vector<std::string> items;  ///< the items of a list of texts and scalars
};

/// Reads one JSON object a line.
class JsonRecords : public LineRecords {
 public:
  JsonRecords(LineReader lines, bool need_label)
      : LineRecords(std::move(lines)), need_label_(need_label) {}

 protected:
  bool take(std::string_view line, Record& record) override;

 private:
  const JsonField* find(std::string_view name) const;
  const std::string& text_of(const JsonField& field) const;
  void choose_columns();
  void fill_text(Record& record);
  void fill_label(Record& record) const;
  [[noreturn]] void fail_field(std::string_view name, std::string_view problem) const;

  bool need_label_;
  std::vector<JsonField> fields_;
  std::string valid_;                ///< the line with invalid UTF-8 replaced
  std::vector<std::string> chosen_;  ///< the first one or two string fields of the first record
};

}  // namespace hone::data
