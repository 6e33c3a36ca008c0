#include "data/corpora.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "trees/leaf.h"

namespace hone::data {
namespace {

/// Reads a tree; gives what is wrong with `line`, empty if it is a tree.
std::string_view read_tree(std::string_view line, Record& record) {
  int64_t depth = 0;
  for (size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (c == ' ') {
      ++at;
    } else if (depth == 0 && record.label) {
      return "text after the tree";
    } else if (c == '(') {
      const bool labelled =
          at + 2 < line.size() && line[at + 1] >= '0' && line[at + 1] <= '4' && line[at + 2] == ' ';
      if (!labelled) return "expected a label from 0 to 4 after '('";
      if (!record.label) record.label = std::string(1, line[at + 1]);
      ++depth;
      at += 3;
    } else if (depth == 0) {
      return "expected '('";
    } else if (c == ')') {
      --depth;
      ++at;
    } else {
      const size_t stop = std::min(line.find_first_of(" ()", at), line.size());
      if (!record.text.empty()) record.text.push_back(' ');
      trees::append_leaf(line.substr(at, stop - at), record.text);
      at = stop;
    }
  }
  if (depth != 0) return "a bracket is never closed";
  return record.text.empty() ? "no words" : "";
}

/// Reads both files in step: a line of one, then the same line of the other.
class SubjRecords : public RecordStream {
 public:
  SubjRecords(LineReader plot, LineReader quote, bool validation)
      : plot_(std::move(plot)), quote_(std::move(quote)), validation_(validation) {}

  bool next(Record& record) override {
    for (;;) {
      subjective_ = !subjective_;
      LineReader& lines = subjective_ ? quote_ : plot_;
      std::string_view line;
      if (!lines.next(line)) {
        if (++ended_in_a_row_ == 2) return false;
        continue;
      }
      ended_in_a_row_ = 0;
      if ((lines.number() % 10 == 0) != validation_) continue;
      clear(record);
      record.text = utf8_of_latin1(line);
      record.label = subjective_ ? "subjective" : "objective";
      record.row = lines.number();
      return true;
    }
  }
  bool waiting() override { return true; }
  std::string where(const Record& record) const override {
    const LineReader& lines = record.label == "subjective" ? quote_ : plot_;
    return fmt::format("{}: line {}", lines.file(), record.row);
  }

 private:
  LineReader plot_;
  LineReader quote_;
  bool validation_;
  bool subjective_ = true;
  int ended_in_a_row_ = 0;
};

}  // namespace

std::string utf8_of_latin1(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string utf8;
  for (const char c : text) append_utf8(static_cast<unsigned char>(c), utf8);
  return utf8;
}

bool TreeRecords::take(std::string_view line, Record& record) {
  if (line.empty()) return false;
  const std::string_view problem = read_tree(line, record);
  if (!problem.empty()) {
    fail(ErrorKind::bad_file, "{}: tree: {}, got {}", here(), problem, quote(line));
  }
  record.row = lines().number();
  return true;
}

bool TrecRecords::take(std::string_view line, Record& record) {
  if (line.empty()) return false;
  const size_t space = line.find(' ');
  const size_t colon = line.substr(0, space).find(':');
  if (space == line.npos || colon == line.npos) {
    fail(ErrorKind::bad_file, "{}: expected 'COARSE:fine text', got {}", here(), quote(line));
  }
  record.label = line.substr(0, fine_ ? space : colon);
  record.text = utf8_of_latin1(line.substr(space + 1));
  record.row = lines().number();
  return true;
}

std::string quote_path_of(const std::string& plot_path) {
  const size_t name = plot_path.rfind('/') + 1;
  return plot_path.substr(0, name) + "quote" + plot_path.substr(name + std::string("plot").size());
}

std::unique_ptr<RecordStream> open_subj(const std::string& plot_path, bool validation) {
  const std::string quote_path = quote_path_of(plot_path);
  return std::make_unique<SubjRecords>(LineReader(open_bytes(plot_path), plot_path),
                                       LineReader(open_bytes(quote_path), quote_path), validation);
}

}  // namespace hone::data
