#pragma once

#include "plan/runner.h"

// Included by one source of a folder's tests: all of their runners then check that steps touch only
// what they declare.
namespace hone {

[[maybe_unused]] inline const bool kAudited = [] {
  Runner::audit_all(true);
  return true;
}();

}  // namespace hone
