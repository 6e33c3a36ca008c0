#include "data/json_lines.h"

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "data/delimited.h"

namespace hone::data {
namespace {

/// Names are searched one by one: a line of millions of names is refused, not sorted.
constexpr size_t kMostFields = 4096;

/// Collects the fields of one object; deeper values are stepped over. nlohmann's SAX parser keeps
/// its own stack, so nesting costs a bit a level and no recursion.
class FieldHandler : public nlohmann::json_sax<Json> {
 public:
  explicit FieldHandler(std::vector<JsonField>& fields) : fields_(fields) {}

  bool null() override { return put(JsonField::Kind::null, {}); }
  bool boolean(bool value) override {
    return put(JsonField::Kind::scalar, value ? "true" : "false");
  }
  bool number_integer(number_integer_t value) override {
    return put(JsonField::Kind::scalar, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return put(JsonField::Kind::scalar, std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& written) override {
    return put(JsonField::Kind::scalar, written);
  }
  bool string(string_t& value) override { return put(JsonField::Kind::text, std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    for (JsonField& field : fields_) {
      if (field.name == name) {  // the last of two wins, as in Python
        field_ = &field;
        return true;
      }
    }
    if (fields_.size() == kMostFields) return false;
    fields_.push_back({std::move(name), JsonField::Kind::null, {}, {}});
    field_ = &fields_.back();
    return true;
  }
  bool start_object(size_t) override { return open(JsonField::Kind::other); }
  bool start_array(size_t) override { return open(JsonField::Kind::list); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error_at_ = position;
    return false;
  }

  size_t error_at() const { return error_at_; }

 private:
  bool open(JsonField::Kind kind) {
    if (depth_ == 0 && kind != JsonField::Kind::other) return false;
    if (depth_ == 1) *field_ = {std::move(field_->name), kind, {}, {}};
    if (depth_ == 2) field_->kind = JsonField::Kind::other;
    ++depth_;
    return true;
  }
  bool put(JsonField::Kind kind, std::string value) {
    if (depth_ == 0) return false;
    if (depth_ == 1) {
      *field_ = {std::move(field_->name), kind, std::move(value), {}};
    } else if (field_->kind == JsonField::Kind::list) {
      if (kind == JsonField::Kind::null) field_->kind = JsonField::Kind::other;
      field_->items.push_back(std::move(value));
    }
    return true;
  }

  std::vector<JsonField>& fields_;
  JsonField* field_ = nullptr;
  int64_t depth_ = 0;
  size_t error_at_ = 0;
};

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\v\f") == line.npos; }

}  // namespace

bool JsonRecords::take(std::string_view line, Record& record) {
  if (is_blank(line)) return false;
  if (!is_valid_utf8(line)) line = valid_ = replace_invalid_utf8(line);
  fields_.clear();
  FieldHandler handler(fields_);
  if (!Json::sax_parse(line.begin(), line.end(), &handler)) {
    if (fields_.size() == kMostFields) {
      fail(ErrorKind::bad_file, "{}: more than {} fields in a JSON object", here(), kMostFields);
    }
    if (handler.error_at() == 0) {
      fail(ErrorKind::bad_file, "{}: expected a JSON object, got {}", here(), quote(line));
    }
    fail(ErrorKind::bad_file, "{}: not valid JSON at byte {}, got {}", here(), handler.error_at(),
         quote(line));
  }
  record.row = lines().number();
  fill_text(record);
  fill_label(record);
  return true;
}

const JsonField* JsonRecords::find(std::string_view name) const {
  for (const JsonField& field : fields_) {
    if (field.name == name) return field.kind == JsonField::Kind::null ? nullptr : &field;
  }
  return nullptr;
}

void JsonRecords::fail_field(std::string_view name, std::string_view problem) const {
  fail(ErrorKind::bad_file, "{}: field {}: {}", here(), quote(name), problem);
}

const std::string& JsonRecords::text_of(const JsonField& field) const {
  if (field.kind == JsonField::Kind::text) return field.value;
  if (field.kind == JsonField::Kind::scalar) {
    fail_field(field.name, "expected a string, got " + quote(field.value));
  }
  fail_field(field.name, field.kind == JsonField::Kind::list ? "expected a string, got a list"
                                                             : "expected a string, got an object");
}

void JsonRecords::choose_columns() {
  for (const JsonField& field : fields_) {
    if (field.kind != JsonField::Kind::text || is_label_column(field.name) ||
        is_index_column(field.name)) {
      continue;
    }
    chosen_.push_back(field.name);
    if (chosen_.size() == 2) return;
  }
  if (chosen_.empty()) fail_field("text", "missing");
}

void JsonRecords::fill_text(Record& record) {
  const char* const known[][2] = {{"sentence1", "sentence2"}, {"text", "text_pair"}};
  for (const auto& [first, second] : known) {
    const JsonField* text = find(first);
    if (!text) continue;
    record.text = text_of(*text);
    if (const JsonField* pair = find(second)) record.pair = text_of(*pair);
    return;
  }
  if (chosen_.empty()) choose_columns();
  for (size_t i = 0; i < chosen_.size(); ++i) {
    const JsonField* field = find(chosen_[i]);
    if (!field) fail_field(chosen_[i], "missing");
    (i == 0 ? record.text : record.pair.emplace()) = text_of(*field);
  }
}

void JsonRecords::fill_label(Record& record) const {
  const JsonField* field = find("label");
  if (!field) field = find("labels");
  if (!field) {
    if (need_label_) fail_field("label", "missing");
    return;
  }
  switch (field->kind) {
    case JsonField::Kind::text:
    case JsonField::Kind::scalar:
      record.label = field->value;
      return;
    case JsonField::Kind::list:
      record.labels = field->items;
      return;
    default:
      fail_field(field->name, "expected a string, a number or a list of them");
  }
}

}  // namespace hone::data
