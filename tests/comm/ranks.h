#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace hone::comm {

/// How a forked rank ended.
struct RankEnd {
  int code = -1;        ///< its exit code: 0; 1 where it threw; 128 and the number of a signal
  std::string message;  ///< what the exception said that it threw
  bool told = false;    ///< whether it was the one to tell the user why the run has failed
  double seconds = 0;   ///< time from the start of all until it ended
};

struct RankOptions {
  Options comm = {};
  /// Names the host of each rank; ranks of one name share memory, and those of different ones speak
  /// over sockets in place of MPI. Empty: all are on this host.
  std::vector<std::string> hosts = {};
  double patience = 30;  ///< seconds after which all that are left are killed
  /// Is called in the parent with the processes, while they run.
  std::function<void(const std::vector<int>& processes)> meanwhile = {};
};

/// Runs `body` in `size` forked processes that are the ranks of a run, and waits for them. What
/// a body expects is told by throwing, or by EXPECT, whose failures make its exit code 3. The
/// caller must have no threads that hold locks.
std::vector<RankEnd> run_ranks(int size, const std::function<void(Communicator&)>& body,
                               const RankOptions& options = {});

/// Expects that all ranks ended well.
void expect_all_well(const std::vector<RankEnd>& ends);

}  // namespace hone::comm
