#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/window.h"

/// Backward of a convolution to its input. Forward is gemm() over the window's patches, the
/// weight's gradient gemm_weight_gradient() over them; a weight is [out, kernel, kernel, in],
/// packed as [out, kernel * kernel * in].
namespace hone::kernels {

/// dx[images, height, width, channels] = dy[images, out_height, out_width, n] spread by W, + add.
struct ConvolutionGradientArgs {
  Window window;
  int64_t images = 0;
  const void* dy = nullptr;         ///< lies in the dtype of the weight
  const PackedMatrix* w = nullptr;  ///< the weight that the forward pass reads: f32, bf16 or f64
  const void* add = nullptr;        ///< the gradient so far, shaped as dx, or null
  void* dx = nullptr;               ///< lies in the dtype of the weight
};

/// Gives the bytes of scratch (aligned to 64) on a pool of `threads`; more images never need less.
size_t convolution_gradient_workspace(const ConvolutionGradientArgs& args, int threads);

/// Computes dx (=). Pixels that fall alike into the window's strides are one product, whose rows
/// are patches of dy: the bits of an image of dx depend on that image of dy (and add) and on the
/// weight alone. Allocates nothing.
void convolution_gradient(const ConvolutionGradientArgs& args, void* workspace, ThreadPool& pool);

}  // namespace hone::kernels
