#pragma once

#include "autograd/tape.h"
#include "kernels/cpu/window.h"

namespace hone::ops {

/// y [rows of `out_rows`, out] = every window.stride-th pixel of the images x, whose channels stand
/// in the middle of zeros: a shortcut without weights (see kernels/cpu/padded_shortcut.h). The
/// window is of one pixel. Backward sets x's gradient to itself plus its share.
Value padded_shortcut(Tape& tape, Value x, const kernels::Window& window, Axis out_rows,
                      int64_t out);

}  // namespace hone::ops
