#pragma once

#include "base/function_ref.h"

namespace hone {

/// Has the system prefer other threads to the calling one, for good: a priority that was given up
/// takes a right to get back.
void lower_priority();

/// Runs `work` in a thread of low priority and waits for it; what it throws comes through.
void run_at_low_priority(FunctionRef<void()> work);

}  // namespace hone
