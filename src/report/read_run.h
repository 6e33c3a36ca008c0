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

/// Gives a field's name as words; one that ends in "_bytes" is shown in MB.
std::string spoken(std::string name);
std::string capitalized(std::string words);

/// Adds curves of log.jsonl, all runs in one picture for each value, and the results of each.
void add_runs(const std::vector<Source>& runs, Report& report);
/// Adds stages, ops, layers, memory and use of each profile.json, and where there are several, a
/// table of all.
void add_profiles(const std::vector<Source>& profiles, Report& report);
/// Adds tables and bars of records.jsonl.
void add_records(const Source& source, Report& report);

}  // namespace hone::report
