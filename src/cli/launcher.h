#pragma once

#include <cstdint>

#include "cli/commands.h"

namespace hone::cli {

/// What the launcher of ranks on this host is asked for.
struct LaunchOptions {
  int64_t ranks = 1;
  int64_t restarts = 0;   ///< how often all ranks are started anew after one was lost
  int64_t min_ranks = 0;  ///< a restart may go on with fewer, but not below these; 0: with as many
};

/// Runs `hone COMMAND WORDS` as so many processes that know each other (comm/world.h), to their
/// end. Rank 0 has the standard output; requests to end are handed on to all. Where one is lost,
/// the others end too. Returns the exit code of the rank that failed first.
int launch_ranks(const LaunchOptions& options, const char* command, const Words& words);

}  // namespace hone::cli
