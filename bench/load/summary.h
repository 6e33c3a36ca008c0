#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "load/options.h"

namespace hone::load {

/// What became of a phase's requests.
struct PhaseResult {
  int64_t sent = 0;  ///< requests whose intended moment lies in the phase
  std::map<int, int64_t> statuses;
  std::map<std::string, int64_t> errors;  ///< requests without a whole answer, by reason
  int64_t abandoned = 0;                  ///< closed once they were sent, as asked for
  int64_t retry_after = 0;                ///< refusals (429) that carry the header
  int64_t held = 0;       ///< requests that waited for a connection, all being in use
  int64_t completed = 0;  ///< good answers that came while the phase lasted
  /// Seconds from the intended moment to the last byte of the answer.
  std::vector<double> accepted;
  std::vector<double> refused;
  std::vector<double> lag;  ///< seconds by which the generator itself was late
};

/// The value below which a share of the values lies (nearest rank); 0 where there are none.
double percentile(std::vector<double> values, double share);

/// One phase as JSON: counts, latencies in milliseconds, and whether the generator kept up.
OrderedJson summarize(const PhaseResult& result, const Phase& phase, const Options& options);

}  // namespace hone::load
