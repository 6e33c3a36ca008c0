#pragma once

#include <string>
#include <vector>

#include "load/options.h"

namespace hone::load {

/// The requests that a run sends by turns, each with its head, as they go over the wire.
std::vector<std::string> read_requests(const Options& options);

}  // namespace hone::load
