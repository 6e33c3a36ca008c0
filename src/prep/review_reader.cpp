#include "prep/review_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "data/delimited.h"
#include "prep/json_string.h"

namespace hone::prep {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr float kNoLabel = std::numeric_limits<float>::quiet_NaN();
static_assert(data::LineReader::kPadding >= simdjson::SIMDJSON_PADDING);

bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t\r\v\f") == line.npos;
}

/// JSON lines, by simdjson. Values of other fields are stepped over, not looked into. Strings are
/// read without simdjson: most have no escapes and need no copy.
class JsonReviews : public ReviewStream {
 public:
  JsonReviews(data::LineReader lines, Fields fields)
      : lines_(std::move(lines)), fields_(std::move(fields)) {}

  bool next(Review& review) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
    } while (is_blank_line(line));
    simdjson::error_code error = take(line, review);
    if (error == simdjson::UTF8_ERROR) {
      valid_ = replace_invalid_utf8(line);
      const size_t size = valid_.size();
      valid_.resize(size + simdjson::SIMDJSON_PADDING);
      error = take(std::string_view(valid_).substr(0, size), review);
    }
    if (error) fail_json(line, error);
    return true;
  }

 private:
  /// Reads a line with simdjson's padding behind it.
  simdjson::error_code take(std::string_view line, Review& review) {
    ondemand::document document;
    ondemand::object object;
    const size_t room = line.size() + simdjson::SIMDJSON_PADDING;
    if (auto error = parser_.iterate(line.data(), line.size(), room).get(document)) return error;
    if (auto error = document.get_object().get(object)) return error;
    review = {{}, kNoLabel};
    bool labelled = fields_.label.empty();
    for (auto field : object) {
      ondemand::raw_json_string raw;
      if (auto error = field.key().get(raw)) return error;
      std::string_view key;
      if (auto error = take_string(raw, line, key_, key)) return error;
      const bool is_text = key == fields_.text;
      if (!is_text && (key != fields_.label || fields_.label.empty())) continue;
      ondemand::value value;
      if (auto error = field.value().get(value)) return error;
      if (is_text) {
        if (auto error = take_text(value, line, review.text)) return error;
      } else {
        if (auto error = take_label(value, line, review.label)) return error;
        labelled = true;
      }
    }
    // At the end there is no location any more.
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
      return simdjson::TRAILING_CONTENT;
    }
    if (!labelled) fail_field(fields_.label, "missing");
    return simdjson::SUCCESS;
  }

  static simdjson::error_code take_string(ondemand::raw_json_string raw, std::string_view line,
                                          std::string& memory, std::string_view& text) {
    bool good = false;
    text = read_json_string(raw.raw(), line.data() + line.size(), memory, good);
    return good ? simdjson::SUCCESS : simdjson::STRING_ERROR;
  }

  simdjson::error_code take_text(ondemand::value& value, std::string_view line,
                                 std::string_view& text) {
    ondemand::json_type type = ondemand::json_type::null;
    if (auto error = value.type().get(type)) return error;
    if (type == ondemand::json_type::null) {
      text = {};
      bool null = false;
      if (value.is_null().get(null) || !null) return simdjson::N_ATOM_ERROR;
      return simdjson::SUCCESS;
    }
    if (type != ondemand::json_type::string) fail_field(fields_.text, "expected a string");
    ondemand::raw_json_string raw;
    if (auto error = value.get_raw_json_string().get(raw)) return error;
    return take_string(raw, line, text_, text);
  }

  simdjson::error_code take_label(ondemand::value& value, std::string_view line, float& label) {
    ondemand::json_type type = ondemand::json_type::null;
    if (auto error = value.type().get(type)) return error;
    if (type == ondemand::json_type::number) {
      double number = 0;
      if (auto error = value.get_double().get(number)) return error;
      label = static_cast<float>(number);
      if (!std::isfinite(label)) fail_field(fields_.label, "too large");
      return simdjson::SUCCESS;
    }
    if (type != ondemand::json_type::string) fail_field(fields_.label, "expected a number");
    ondemand::raw_json_string raw;
    if (auto error = value.get_raw_json_string().get(raw)) return error;
    std::string_view text;
    if (auto error = take_string(raw, line, key_, text)) return error;
    if (!parse_label(text, label)) {
      fail_field(fields_.label, "expected a number, got " + quote(text));
    }
    return simdjson::SUCCESS;
  }

  [[noreturn]] void fail_field(const std::string& field, const std::string& problem) const {
    fail(ErrorKind::bad_file, "{}: line {}: field {}: {}", lines_.file(), lines_.number(),
         quote(field), problem);
  }
  [[noreturn]] void fail_json(std::string_view line, simdjson::error_code error) const {
    if (error == simdjson::INCORRECT_TYPE) {
      fail(ErrorKind::bad_file, "{}: line {}: expected a JSON object, got {}", lines_.file(),
           lines_.number(), quote(line));
    }
    fail(ErrorKind::bad_file, "{}: line {}: not valid JSON ({}), got {}", lines_.file(),
         lines_.number(), simdjson::error_message(error), quote(line));
  }

  data::LineReader lines_;
  Fields fields_;
  ondemand::parser parser_;
  std::string valid_;
  std::string key_;   ///< a name with escapes
  std::string text_;  ///< a text with escapes
};

/// CSV and TSV, with the columns that a header names.
class TableReviews : public ReviewStream {
 public:
  TableReviews(data::LineReader lines, char delimiter, bool quoted, const Fields& fields)
      : label_(fields.label), records_(std::move(lines), rule(delimiter, quoted, fields)) {}

  bool next(Review& review) override {
    if (!records_.next(record_)) return false;
    review = {record_.text, kNoLabel};
    if (record_.label && !parse_label(*record_.label, review.label)) {
      fail(ErrorKind::bad_file, "{}: column {}: expected a number, got {}", records_.where(record_),
           quote(label_), quote(*record_.label));
    }
    return true;
  }

 private:
  static data::TableRule rule(char delimiter, bool quoted, const Fields& fields) {
    data::TableRule rule;
    rule.delimiter = delimiter;
    rule.quoted = quoted;
    rule.need_label = !fields.label.empty();
    rule.columns = [fields](const std::vector<std::string>& header, const std::string& where) {
      data::Columns columns;
      columns.text = column_of(header, fields.text, where);
      if (!fields.label.empty()) columns.label = column_of(header, fields.label, where);
      return columns;
    };
    return rule;
  }
  static size_t column_of(const std::vector<std::string>& header, const std::string& name,
                          const std::string& where) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
      fail(ErrorKind::bad_file, "{}: column {}: missing, got {}", where, quote(name),
           quote(fmt::format("{}", fmt::join(header, ", "))));
    }
    return static_cast<size_t>(found - header.begin());
  }

  std::string label_;
  data::DelimitedRecords records_;
  data::Record record_;
};

}  // namespace

bool parse_label(std::string_view text, float& label) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, label);
  return error == std::errc() && stop == end && std::isfinite(label);
}

std::unique_ptr<ReviewStream> read_reviews(std::unique_ptr<data::ByteSource> source,
                                           const std::string& name, data::Format format,
                                           const Fields& fields, int64_t lines_before) {
  data::LineReader lines(std::move(source), name, ReviewStream::kLongestRecord);
  lines.count_from(lines_before);
  switch (format) {
    case data::Format::jsonl:
      return std::make_unique<JsonReviews>(std::move(lines), fields);
    case data::Format::csv:
      return std::make_unique<TableReviews>(std::move(lines), ',', true, fields);
    case data::Format::tsv:
      return std::make_unique<TableReviews>(std::move(lines), '\t', false, fields);
    case data::Format::lines:
      break;
  }
  fail(ErrorKind::bad_file, "{}: plain lines have no fields; expected .jsonl, .csv or .tsv", name);
}

}  // namespace hone::prep
