#pragma once

#include "kernels/cpu/window.h"
#include "kernels/cuda/launch.h"

/// A residual block's shortcut without weights, as kernels/cpu/padded_shortcut.h describes it.
namespace hone::kernels::cuda {

struct PaddedShortcut {
  DType dtype = DType::f32;
  Window window;
  int64_t images = 0;
  int64_t out = 0;  ///< channels of y
};

Status padded_shortcut(const PaddedShortcut& args, const void* x, void* y, Stream stream);
/// Sets (=) dx.
Status padded_shortcut_backward(const PaddedShortcut& args, const void* dy, void* dx,
                                Stream stream);

}  // namespace hone::kernels::cuda
