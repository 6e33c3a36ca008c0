#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/energy.h"
#include "study/record_file.h"
#include "study/study.h"

namespace hone::study {

struct StudyRun {
  int64_t repeats = 3;
  std::string version;  ///< this program's, for the records
  /// Runs a command and waits for its end.
  std::function<ChildResult(const Words&)> run = {};
  /// Gets a line for people before a run (`done` of `all` are behind it) and behind it.
  std::function<void(int64_t done, int64_t all, const std::string& line)> say = {};
  std::optional<Carbon> carbon = {};  ///< what a joule costs; none: no CO2 is told
};

/// One run of a study: which case, and which of its repeats.
struct Turn {
  size_t which = 0;
  int64_t repeat = 0;
  bool operator==(const Turn&) const = default;
};
/// Gives the order of the runs: all cases once, then again in another order. A case that cannot run
/// has one turn.
std::vector<Turn> turns_of(const std::vector<Case>& cases, int64_t repeats, uint64_t seed);

/// Runs what has no record yet, one run after the other, and writes a record for each. Folders of
/// runs are made in `scratch` and removed.
void run_study(const Study& study, const StudySettings& settings, const StudyRun& how,
               const std::string& scratch, RecordFile& records);

}  // namespace hone::study
