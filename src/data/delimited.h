#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/line_records.h"

namespace hone::data {

/// Says which fields of a row are read.
struct Columns {
  size_t text = 0;
  std::optional<size_t> pair;
  std::optional<size_t> label;
  bool header = true;  ///< the first row names columns; otherwise it is data
};

struct TableRule {
  char delimiter = ',';
  bool quoted = true;  ///< RFC 4180 quotes; otherwise quotes are literal
  /// Chooses the columns by the first row. `where` begins its complaints.
  std::function<Columns(const std::vector<std::string>& first_row, const std::string& where)>
      columns;
  bool need_label = false;
  bool skip_short_rows = false;
};

/// Records of CSV and TSV files.
class DelimitedRecords : public LineRecords {
 public:
  DelimitedRecords(LineReader lines, TableRule rule);

 protected:
  bool take(std::string_view line, Record& record) override;
  void finish() override;

 private:
  bool split(std::string_view line);
  bool split_quoted(std::string_view line);
  void split_plain(std::string_view line);
  std::string& new_field();
  bool fill(Record& record);
  std::string name_of(size_t column) const;

  TableRule rule_;
  std::optional<Columns> columns_;
  std::vector<std::string> header_;
  size_t width_ = 0;
  std::vector<std::string> fields_;  ///< the first count_ are the row's; storage is used again
  size_t count_ = 0;
  size_t record_bytes_ = 0;
  bool open_quote_ = false;
  int64_t row_ = 0;  ///< the line on which the row began
};

/// Chooses columns by the rule of RecordOptions for own files.
Columns own_columns(const std::vector<std::string>& header, const std::string& where,
                    bool need_label);

/// Says whether a column's name stands for no text.
bool is_label_column(std::string_view name);
bool is_index_column(std::string_view name);

}  // namespace hone::data
