#pragma once

#include <string>
#include <vector>

namespace hone::prep {

/// Starts this program `count` times with the same arguments, each a rank of one start, and waits
/// for all. When one fails, the others are ended and its exit code is given; when a signal ended
/// it, an Error says so. They end when this process does.
int run_processes(int count, const std::vector<std::string>& arguments);

}  // namespace hone::prep
