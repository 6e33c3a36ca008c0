#pragma once

#include "kernels/cuda/activation.h"

/// Rows of fp8 (e4m3) have a scale each: an element is byte * scale, and the largest of a row is
/// 448 times its scale.
namespace hone::kernels::cuda {

/// Products need rows of whole 16 bytes.
constexpr int64_t kFp8Unit = 16;
constexpr int64_t kMaxFp8Width = 8192;

struct QuantizeFp8 {
  DType dtype = DType::f32;                  ///< the dtype of x
  Activation activation = Activation::none;  ///< applied to x first
  int64_t rows = 0, width = 0;
  const void* x = nullptr;  ///< dense, aligned to 16 bytes
  void* bytes = nullptr;    ///< = [rows, width]
  float* scales = nullptr;  ///< = [rows]
};
/// Quantizes activation(x).
Status quantize_fp8(const QuantizeFp8& args, Stream stream);

/// Returns null where product() takes fp8 on the current device, else why not: cuBLASLt scales by
/// rows from version 12.9 on, and on compute capability 9.0 alone.
Status fp8_products();

}  // namespace hone::kernels::cuda
