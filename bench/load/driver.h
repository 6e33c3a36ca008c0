#pragma once

#include <string>
#include <vector>

#include "load/options.h"
#include "load/summary.h"

namespace hone::load {

struct RunResult {
  std::vector<PhaseResult> phases;
  double processor_seconds = 0;  ///< time of the generator
  int connections = 0;           ///< the most that were open
};

/// Sends the requests by turns from the calling thread and waits for their answers. Open loop:
/// each at its moment, whatever became of the ones before; one that finds all connections in use
/// waits, and its wait is part of its latency. Closed loop: each connection sends when it was
/// answered. What the server does is counted; an Error is a mistake of the options or the system.
RunResult run(const Options& options, const std::vector<std::string>& requests);

}  // namespace hone::load
