#pragma once

#include "kernels/cuda/elementwise.h"

/// Rows of fp8 (e4m3) with a scale each: an element is byte * scale, and the largest of a row is
/// 448 times its scale.
namespace hone::kernels::cuda {

/// Products need whole 16 bytes a row.
constexpr int64_t kFp8Unit = 16;
constexpr int64_t kMaxFp8Width = 8192;

struct QuantizeFp8 {
  DType dtype = DType::f32;                  ///< of x
  Activation activation = Activation::none;  ///< of x first
  int64_t rows = 0, width = 0;
  const void* x = nullptr;  ///< dense, aligned to 16 bytes
  void* bytes = nullptr;    ///< = [rows, width]
  float* scales = nullptr;  ///< = [rows]
};
Status quantize_fp8(const QuantizeFp8& args, Stream stream);

/// Null where product() takes fp8 on the current device, else why not: cuBLASLt scales by rows from
/// version 12.9 on, and on compute capability 9.0 alone.
Status fp8_products();

}  // namespace hone::kernels::cuda
