#pragma once

#include "kernels/cpu/window.h"
#include "kernels/cuda/launch.h"

/// Convolutions of bf16 and fp16 by wgmma on compute capability 9.0: the copy engine takes tiles of
/// patches from the images by itself, so that no patch lies in memory. The rest goes by patches.h
/// and products.
namespace hone::kernels::cuda {

struct Convolution {
  DType dtype = DType::f32;
  Window window;
  int64_t images = 0;
  int64_t out = 0;               ///< channels of y
  const void* x = nullptr;       ///< [images * in_pixels, channels] in dtype
  const void* weight = nullptr;  ///< [out, kernel, kernel, channels] in dtype
  const float* bias = nullptr;   ///< [out], or null
  bool relu = false;
  void* y = nullptr;  ///< [images * out_pixels, out] in dtype
};
/// Says whether there is such a kernel for the sizes, on the current device.
bool convolution_fits(const Convolution& args);
/// y = x * weight + bias, then ReLU.
Status convolution(const Convolution& args, Stream stream);

/// Says whether y's gradient leads back to x by the kernel: the stride is 1.
bool convolution_gradient_fits(const Convolution& args);
/// Sets (=) x [images * in_pixels, channels] to the gradient that dy leads back to; of `args`
/// the sizes and the weight are read.
Status convolution_gradient(const Convolution& args, const void* dy, void* dx, Stream stream);

/// Says whether the kernel gives the weight's gradient.
bool convolution_weight_gradient_fits(const Convolution& args);
/// Bytes for the gradient in parts, which are added up in one order.
size_t convolution_weight_gradient_workspace(const Convolution& args);
/// dw [out, kernel, kernel, channels] in fp32 = (add: +=) what dy and x give; of `args` the sizes
/// and x are read.
Status convolution_weight_gradient(const Convolution& args, const void* dy, bool add, float* dw,
                                   void* workspace, Stream stream);

}  // namespace hone::kernels::cuda
