#pragma once

namespace hone::cli {

inline const char* version_line() { return "hone " HONE_VERSION; }

}  // namespace hone::cli
