#pragma once

#include <string>

#include "report/report.h"

namespace hone::report {

/// A folder with what a run, a profile or a study wrote, under the name that it has in a
/// comparison.
struct Source {
  std::string name;
  std::string folder;
};

/// Adds curves of log.jsonl, all runs in one picture for each value, and the results of each.
void add_runs(const std::vector<Source>& runs, Report& report);
/// Adds stages, ops and memory of profile.json.
void add_profile(const Source& source, Report& report);
/// Adds tables and bars of records.jsonl.
void add_records(const Source& source, Report& report);

}  // namespace hone::report
