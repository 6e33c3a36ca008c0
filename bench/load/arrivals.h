#pragma once

#include <cstdint>
#include <vector>

#include "load/options.h"

namespace hone::load {

/// A request's place in a run.
struct Arrival {
  double at;  ///< its intended moment, seconds from the run's begin
  int phase;  ///< -1: warm-up
  bool abandoned;
};

/// A Poisson process: gaps are exponential, and moments do not depend on what the server does. The
/// same options give the same arrivals on every machine.
std::vector<Arrival> poisson_arrivals(const Options& options);

}  // namespace hone::load
