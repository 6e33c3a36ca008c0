#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace hone::report {

/// Reads a file of JSON objects, one a line. A last line without its line feed is left out: its
/// writer may be at work, or was stopped there. Any other line that is no object is an error that
/// names the file and the line.
std::vector<Json> read_json_lines(const std::string& path);

}  // namespace hone::report
