#pragma once

#include "autograd/tape.h"
#include "kernels/cpu/window.h"

namespace hone::ops {

/// y = the largest, or the mean, of what the window covers of images x [rows, window.channels]; y
/// is [rows of `out_rows`, channels]. The maximum leaves the zeros around the images out, the mean
/// counts them, as PyTorch does. Backward sets x's gradient to itself plus its share. A maximum
/// keeps a byte an output for the backward pass, and not x.
Value max_pool(Tape& tape, Value x, const kernels::Window& window, Axis out_rows);
Value average_pool(Tape& tape, Value x, const kernels::Window& window, Axis out_rows);

/// y [images, channels] = the mean over each image's `pixels` rows of x.
Value global_average(Tape& tape, Value x, int64_t pixels, Axis images);

}  // namespace hone::ops
