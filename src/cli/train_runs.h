#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/json.h"
#include "cli/arguments.h"
#include "comm/communicator.h"
#include "train/run.h"

namespace hone::cli {

/// What a command line of `hone train` asks for: a run of each seed, each in its stages, and the
/// labels of the test set.
struct TrainRuns {
  /// Gives the observer of the next run or stage.
  std::function<std::unique_ptr<train::Observer>()> observe;
  /// Gets the summary of each seed's run. It may be empty.
  std::function<void(const train::Summary& summary)> done = {};
  /// The ranks that train together; null: one process by itself. Those behind the first neither
  /// label nor write results.
  comm::Communicator* ranks = nullptr;
  bool first_rank() const { return !ranks || ranks->rank() == 0; }
};

/// Runs all. The summaries are one a seed; a run that was interrupted is the last of them.
std::vector<train::Summary> run_training(const CommonOptions& common, train::Options options,
                                         const std::vector<uint64_t>& seeds, const TrainRuns& runs);

/// The values of one result over several seeds.
struct Spread {
  std::vector<double> values;
  double mean() const;
  double deviation() const;
};

using Spreads = std::vector<std::pair<std::string, Spread>>;

/// Gives what several seeds gave, by name.
Spreads spreads_of(const std::vector<train::Summary>& summaries);
Json seeds_json(const std::vector<uint64_t>& seeds, const Spreads& spreads);

}  // namespace hone::cli
