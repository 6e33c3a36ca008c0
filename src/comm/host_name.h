#pragma once

#include <string>

namespace hone::comm {

/// The name of this host, as messages give it.
std::string host_name();

}  // namespace hone::comm
