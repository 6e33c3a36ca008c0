#include "data/records.h"

#include "base/error.h"
#include "data/delimited.h"
#include "data/entry_records.h"
#include "data/json_lines.h"
#include "data/line_records.h"

namespace hone::data {

Format parse_format(std::string_view name) {
  if (name == "lines" || name == "text" || name == "txt") return Format::lines;
  if (name == "jsonl" || name == "json") return Format::jsonl;
  if (name == "csv") return Format::csv;
  if (name == "tsv") return Format::tsv;
  fail(ErrorKind::usage, "format: expected lines, jsonl, csv or tsv, got {}", quote(name));
}

Format format_of(const std::string& path) {
  std::string_view name = path;
  if (name.ends_with(".xz") || name.ends_with(".gz")) name.remove_suffix(3);
  if (name.ends_with(".jsonl") || name.ends_with(".json") || name.ends_with(".ndjson")) {
    return Format::jsonl;
  }
  if (name.ends_with(".csv")) return Format::csv;
  if (name.ends_with(".tsv")) return Format::tsv;
  return Format::lines;
}

std::unique_ptr<RecordStream> open_records(const std::string& path, const RecordOptions& options) {
  if (is_entry_store(path)) return std::make_unique<EntryRecords>(path, options.need_label);
  RecordOptions chosen = options;
  if (!chosen.format) chosen.format = format_of(path);
  return read_records(open_bytes(path), path == "-" ? "standard input" : path, chosen);
}

std::unique_ptr<RecordStream> read_records(std::unique_ptr<ByteSource> source,
                                           const std::string& name, const RecordOptions& options) {
  const Format format = options.format.value_or(format_of(name));
  const bool need_label = options.need_label;
  LineReader lines(std::move(source), name);
  if (format == Format::jsonl) return std::make_unique<JsonRecords>(std::move(lines), need_label);
  if (format == Format::lines) {
    if (need_label) {
      fail(ErrorKind::bad_file, "{}: plain lines have no labels; expected .csv, .tsv or .jsonl",
           name);
    }
    return std::make_unique<PlainRecords>(std::move(lines));
  }
  TableRule rule;
  rule.delimiter = format == Format::csv ? ',' : '\t';
  rule.quoted = format == Format::csv;
  rule.need_label = need_label;
  rule.columns = [need_label](const std::vector<std::string>& header, const std::string& where) {
    return own_columns(header, where, need_label);
  };
  return std::make_unique<DelimitedRecords>(std::move(lines), std::move(rule));
}

}  // namespace hone::data
