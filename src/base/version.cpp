#include "base/version.h"

namespace hone {

// It is defined for this file alone, so that a new version does not compile everything anew.
const char* const kVersion = HONE_VERSION;

}  // namespace hone
