#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/chart.h"

namespace hone::report {

struct Section {
  std::string heading;
  std::string text = {};
  std::string run = {};  ///< the one run that it is about, where there are several
  std::vector<Chart> charts = {};
  std::vector<DataTable> tables = {};
};

/// What is said of a folder: the same content as a page, as tables and as pictures.
struct Report {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts = {};  ///< names and what they are
  std::vector<Section> sections = {};
};

/// Reads what a folder holds: a run (log.jsonl, all_results.json), a profile (profile.json),
/// records of studies (records.jsonl), or folders of those, which are compared. Where there is
/// nothing of the kind, or a file is damaged, it is an error that names it; a last line that was
/// cut off is left out, since its writer may be at work.
Report read_report(const std::string& folder);

/// Gives one page that needs nothing else, and asks nothing of anywhere: what it shows stands there
/// without scripts, and the one that it carries sorts, filters, enlarges and compares. Where
/// `refresh_seconds` is not 0, a browser loads it again after that time.
std::string to_html(const Report& report, int refresh_seconds = 0);

/// Gives a document that LaTeX compiles, with all tables.
std::string to_latex(const Report& report);

struct NamedText {
  std::string name;  ///< a file's name, without a folder
  std::string text;
};
/// Gives a file for each table, and one for the data of each picture.
std::vector<NamedText> to_csv(const Report& report);
/// Gives a file for each picture.
std::vector<NamedText> to_svgs(const Report& report);

}  // namespace hone::report
