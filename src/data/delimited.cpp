#include "data/delimited.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace hone::data {

DelimitedRecords::DelimitedRecords(LineReader lines, TableRule rule)
    : LineRecords(std::move(lines)), rule_(std::move(rule)) {}

std::string& DelimitedRecords::new_field() {
  if (count_ == fields_.size()) fields_.emplace_back();
  std::string& field = fields_[count_++];
  field.clear();
  return field;
}

void DelimitedRecords::split_plain(std::string_view line) {
  for (;;) {
    const size_t stop = line.find(rule_.delimiter);
    new_field().assign(line.substr(0, stop));
    if (stop == line.npos) return;
    line.remove_prefix(stop + 1);
  }
}

/// Splits on from where the last line left off; false where a quote is still open at its end.
bool DelimitedRecords::split_quoted(std::string_view line) {
  std::string* field = open_quote_ ? &fields_[count_ - 1] : &new_field();
  bool at_start = !open_quote_;
  for (size_t at = 0;;) {
    if (open_quote_) {
      const size_t closing = line.find('"', at);
      field->append(line.substr(at, closing - at));
      if (closing == line.npos) {
        field->append(lines().ending());
        return false;
      }
      at = closing + 1;
      open_quote_ = at < line.size() && line[at] == '"';
      if (open_quote_) {
        field->push_back('"');
        ++at;
      }
    } else if (at_start && at < line.size() && line[at] == '"') {
      open_quote_ = true;
      at_start = false;
      ++at;
    } else {  // what follows a closing quote is text, as Python's csv has it
      const size_t stop = line.find(rule_.delimiter, at);
      field->append(line.substr(at, stop - at));
      if (stop == line.npos) return true;
      at = stop + 1;
      field = &new_field();
      at_start = true;
    }
  }
}

bool DelimitedRecords::split(std::string_view line) {
  if (!open_quote_) {
    count_ = 0;
    record_bytes_ = 0;
    row_ = lines().number();
  }
  record_bytes_ += line.size();
  if (record_bytes_ > LineReader::kLongestLine) {
    fail(ErrorKind::bad_file, "{}: line {}: a quoted field runs on for more than {} bytes",
         lines().file(), row_, LineReader::kLongestLine);
  }
  if (rule_.quoted) return split_quoted(line);
  split_plain(line);
  return true;
}

bool DelimitedRecords::take(std::string_view line, Record& record) {
  if (line.empty() && !open_quote_) return false;
  if (!split(line)) return false;
  if (columns_) return fill(record);
  header_.assign(fields_.begin(), fields_.begin() + static_cast<std::ptrdiff_t>(count_));
  width_ = count_;
  columns_ = rule_.columns(header_, fmt::format("{}: line {}", lines().file(), row_));
  if (columns_->header) return false;
  header_.clear();
  return fill(record);
}

std::string DelimitedRecords::name_of(size_t column) const {
  return column < header_.size() ? quote(header_[column]) : std::to_string(column + 1);
}

bool DelimitedRecords::fill(Record& record) {
  if (count_ < width_ && rule_.skip_short_rows) return false;
  if (count_ != width_) {
    fail(ErrorKind::bad_file, "{}: line {}: expected {} fields, got {}", lines().file(), row_,
         width_, count_);
  }
  record.row = row_;
  record.text.swap(fields_[columns_->text]);
  if (columns_->pair) record.pair = fields_[*columns_->pair];
  if (columns_->label && !fields_[*columns_->label].empty()) {
    record.label = fields_[*columns_->label];
  } else if (rule_.need_label) {
    fail(ErrorKind::bad_file, "{}: line {}: column {}: expected a label, got ''", lines().file(),
         row_, columns_->label ? name_of(*columns_->label) : "'label'");
  }
  return true;
}

void DelimitedRecords::finish() {
  if (open_quote_) {
    fail(ErrorKind::bad_file, "{}: line {}: column {}: a quote is never closed", lines().file(),
         row_, name_of(count_ - 1));
  }
  if (!columns_) fail(ErrorKind::bad_file, "{}: empty, expected a header", lines().file());
}

bool is_label_column(std::string_view name) { return name == "label" || name == "labels"; }

bool is_index_column(std::string_view name) {
  return name == "idx" || name == "index" || name == "id";
}

Columns own_columns(const std::vector<std::string>& header, const std::string& where,
                    bool need_label) {
  const auto find = [&](std::string_view name) -> std::optional<size_t> {
    const auto it = std::find(header.begin(), header.end(), name);
    if (it == header.end()) return std::nullopt;
    if (std::find(it + 1, header.end(), name) != header.end()) {
      fail(ErrorKind::bad_file, "{}: column {}: there twice", where, quote(name));
    }
    return static_cast<size_t>(it - header.begin());
  };
  std::vector<size_t> others;
  for (size_t i = 0; i < header.size(); ++i) {
    if (!is_label_column(header[i]) && !is_index_column(header[i])) others.push_back(i);
  }
  Columns columns;
  const auto first_sentence = find("sentence1"), text = find("text");
  if (first_sentence) {
    columns.text = *first_sentence;
    columns.pair = find("sentence2");
  } else if (text) {
    columns.text = *text;
    columns.pair = find("text_pair");
  } else if (!others.empty()) {
    columns.text = others[0];
    if (others.size() > 1) columns.pair = others[1];
  } else {
    fail(ErrorKind::bad_file, "{}: no column of text, got {}", where,
         quote(fmt::format("{}", fmt::join(header, ", "))));
  }
  columns.label = find("label");
  if (!columns.label) columns.label = find("labels");
  if (need_label && !columns.label) {
    fail(ErrorKind::bad_file, "{}: column 'label': missing, got {}", where,
         quote(fmt::format("{}", fmt::join(header, ", "))));
  }
  return columns;
}

}  // namespace hone::data
