#pragma once

#include "plan/plan.h"

namespace hone::ops {

/// Makes the plan's fp16 values what they would be in two bytes: each is rounded once written.
/// Speed is no aim: processors without fp16 arithmetic train in it to see its range.
void round_halves(Plan& plan);

}  // namespace hone::ops
