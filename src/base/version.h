#pragma once

namespace hone {

/// The version of the project that this code was built from: "1.2.3".
extern const char* const kVersion;

}  // namespace hone
