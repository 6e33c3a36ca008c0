#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/line_records.h"

namespace hone::data {

/// Gives `text` as UTF-8 where it is not UTF-8 already: every byte is a Latin-1 character.
std::string utf8_of_latin1(std::string_view text);

/// The Stanford Sentiment Treebank: a tree a line, "(3 (2 It) (4 ...))". The text is the leaves
/// with a space between them (-LRB-, -RRB- and \/ undone), the label that of the root, 0 to 4.
class TreeRecords : public LineRecords {
 public:
  using LineRecords::LineRecords;

 protected:
  bool take(std::string_view line, Record& record) override;
};

/// TREC questions, "COARSE:fine text" in Latin-1; the label is COARSE or COARSE:fine.
class TrecRecords : public LineRecords {
 public:
  TrecRecords(LineReader lines, bool fine) : LineRecords(std::move(lines)), fine_(fine) {}

 protected:
  bool take(std::string_view line, Record& record) override;

 private:
  bool fine_;
};

/// Gives the subjectivity set's file of subjective sentences (quote.*) that belongs to the one of
/// objective sentences (plot.*).
std::string quote_path_of(const std::string& plot_path);
/// Opens the records of both files; see open_task for the split.
std::unique_ptr<RecordStream> open_subj(const std::string& plot_path, bool validation);

}  // namespace hone::data
