#pragma once

#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace hone::comm {

/// Named values that must be the same on all ranks.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// Compares the fields of all ranks; a collective. Where they differ, all ranks fail with one error
/// that names the first field that does, two values and the ranks and hosts that have them.
void agree(Communicator& ranks, const Fields& fields);

}  // namespace hone::comm
