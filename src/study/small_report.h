#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/small_bench.h"

namespace hone::study {

/// Compares the variants of one model: the first that ran is what the others are held against.
struct SmallReport {
  std::string model = {};
  std::string data = {};
  std::string machine = {};
  int threads = 0;
  std::string summary = {};  ///< says which model of its family it is; see models::ExitCost
  std::vector<SmallResult> results = {};
};

/// Gives the share of the data that has the first variant's label; none where it is not known.
std::optional<double> agreement(const SmallReport& report, const SmallResult& result);

/// Says whether no other variant is as good in latency (p50), peak memory and score, and better in
/// one.
bool on_front(const SmallReport& report, const SmallResult& result);

std::string to_markdown(const SmallReport& report);
std::string to_csv(const SmallReport& report);
Json to_json(const SmallReport& report);
/// Draws score against latency, circles as large as the memory. The line is the front of these two;
/// full circles are on the front where memory counts too.
std::string to_svg(const SmallReport& report);

/// Writes report.md, .csv, .json and .svg, and exit_cost.json of the first variant, into a new
/// folder, which appears complete or not at all.
void write_report(const SmallReport& report, const std::string& folder);

}  // namespace hone::study
