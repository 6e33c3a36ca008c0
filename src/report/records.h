#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"

/// Records of studies: what was measured, a run a line of a file.
namespace hone::report {

/// The newest form of records that is read and written.
constexpr int64_t kNewestRecords = 1;

/// Fails where a record is of a newer form; `place` is "FILE: line N".
void check_record_format(const Json& record, const std::string& place);

/// The values of several repeats.
struct Spread {
  double median = 0, low = 0, high = 0;
  size_t count = 0;

  /// Gives "3.1 (2.9 to 3.3)", one number where all are one, nothing where there is none.
  std::string text() const;
};
/// Values that are not finite are left out.
Spread spread_of(std::vector<double> values);

/// The curves of one run: numbers by name ("epoch", "seconds", "loss"), all equally long.
using RunCurves = std::map<std::string, std::vector<double>>;

/// The runs of one case of a study on one machine.
struct CaseRuns {
  Json fields = Json::object();
  std::string machine = {};
  bool published = false;  ///< figures of somebody else, drawn beside ours
  std::map<std::string, std::vector<double>> metrics = {};
  std::vector<RunCurves> curves = {};  ///< one entry a repeat that has some
  std::string status = "ok";  ///< "ok", else the status of a repeat that was not, with its reason

  /// Gives "workers 2, threads 1"; "all" where there is no field.
  std::string label() const;
  /// Gives the label without one field.
  std::string label_without(const std::string& field) const;
  Spread spread(const std::string& metric) const;
  /// Gives a field as a number; NAN where it is none.
  double number(const std::string& field) const;
  /// Gives a field as text; empty where it is not there.
  std::string text(const std::string& field) const;
};

/// One study: its cases in the order of their first record, and names of metrics.
struct StudyRuns {
  std::string name;
  std::vector<CaseRuns> cases = {};
  std::vector<std::string> metrics = {};

  /// Says whether the cases are of more than one machine.
  bool several_machines() const;
  /// Gives a case's label, with its machine where there are several.
  std::string label(const CaseRuns& runs) const;
};

/// Reads files of records, in the order in which studies first occur. A last line that was cut off
/// is left out; anything else that is no record is an error that names file and line.
std::vector<StudyRuns> read_records(const std::vector<std::string>& paths);
/// Adds a record that is in memory; `place` begins complaints about it.
void add_record(const Json& record, const std::string& place, std::vector<StudyRuns>& studies);

/// Says which case of a machine has the least (or the largest) value. None is named where spreads
/// overlap, or where a case has fewer than three repeats.
std::string verdict(const StudyRuns& study, const std::string& metric, bool least);

}  // namespace hone::report
