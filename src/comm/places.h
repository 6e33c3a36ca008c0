#pragma once

#include <string>
#include <vector>

#include "comm/link.h"

namespace hone::comm {

/// Where the ranks of a run are.
struct Places {
  int rank = 0;
  std::vector<std::string> hosts;        ///< names by rank
  std::vector<std::vector<int>> groups;  ///< ranks that share memory, rising; in order of the first
  int group = 0;                         ///< this rank's
  int index = 0;                         ///< this rank's place in its group
  std::vector<int> leaders() const;      ///< the first rank of each group
  const std::vector<int>& neighbours() const { return groups[static_cast<size_t>(group)]; }
  int group_of(int other) const;
};

/// What a rank says of itself: ranks with the same machine share memory.
struct Origin {
  std::string host;     ///< the name in messages
  std::string machine;  ///< equal where processes can open each other's files
};
Origin origin_here();

/// Lets all ranks tell each other where they are; another version of hone anywhere is an error.
/// Ranks that do not come within start_time() are an error.
Places find_places(Link& link, const Origin& origin, double timeout);

/// Ranks have at least a minute to come, however short a silence is allowed later: hosts start
/// programs at different times.
double start_time(double timeout);

/// Gives what each rank has, before there is anything else than the link.
std::vector<std::string> gather_over(Link& link, const std::string& own, double timeout);

}  // namespace hone::comm
