#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace hone::cli {

/// A finding of `hone doctor`: what may stand in the way of a fast run, with the evidence.
struct Check {
  enum class Status { ok, advice, error };
  std::string name;
  Status status = Status::ok;
  std::string evidence;
  std::string command = {};  ///< what to type; empty: nothing helps but what the evidence says
  /// The share of a run's time that the command is expected to save; 0 where it is not about time.
  double gain = 0;
};
std::string_view status_name(Check::Status status);

/// Looks at processor, quotas, memory, huge pages, limits, devices and counters. `root` is the
/// folder that stands for "/".
std::vector<Check> check_machine(const std::string& root = "");
/// Writes a file of some megabytes into a folder and looks at its speed and at the space left.
std::vector<Check> check_disk(const std::string& folder);
/// Opens a model as a prediction would, without its weights, and names what is wrong with it.
std::vector<Check> check_model(const std::string& model);
/// Reads a labelled file to its end.
std::vector<Check> check_data(const std::string& file);
/// Names what a profiled run lost time to, what most first. `profile` is what profile.json holds,
/// `file` names it in errors.
std::vector<Check> diagnose(const Json& profile, const std::string& file);

}  // namespace hone::cli
