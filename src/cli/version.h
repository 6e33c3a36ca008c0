#pragma once

#include <string>

#include "base/version.h"

namespace hone::cli {

inline std::string version_line() { return std::string("hone ") + kVersion; }

}  // namespace hone::cli
