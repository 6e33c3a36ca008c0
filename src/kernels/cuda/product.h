#pragma once

#include "kernels/cuda/launch.h"

/// cuBLASLt computes the matrix products of a linear layer y = x W^T + bias: x [m, k], W [n, k]
/// row-major as PyTorch has it, y [m, n].
namespace hone::kernels::cuda {

enum class ProductKind : uint8_t {
  forward,          ///< c [m, n] = a [m, k] * b [n, k]^T + bias
  input_gradient,   ///< dx: c [m, k] = a [m, n] * b [n, k]; a is dy, b is W
  weight_gradient,  ///< dW: c [n, k] = a [m, n]^T * b [m, k]; a is dy, b is x
};

/// An algorithm is chosen for each shape.
struct ProductShape {
  ProductKind kind = ProductKind::forward;
  DType dtype = DType::f32;  ///< dtype of a and b; f8 is for forward alone, see fp8.h
  DType out = DType::f32;    ///< dtype of c and bias: dtype or f32; bf16 where dtype is f8
  bool add = false;          ///< c += instead of =
  bool bias = false;         ///< whether there is one; forward alone
  bool tf32 = false;         ///< fp32 operands may be rounded to tf32
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;  ///< elements from row to row
};

struct ProductArrays {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;  ///< [n]
  void* c = nullptr;
  const float* a_scales = nullptr;  ///< [m], scales of f8
  const float* b_scales = nullptr;  ///< [n], scales of f8
};

/// An algorithm of cuBLASLt as it is kept in a tuning file: opaque words, worth something to the
/// same version of the library on the same kind of device.
struct ProductAlgorithm {
  uint64_t words[8];
  uint64_t workspace_bytes;
  float microseconds;  ///< the measured time; 0: the library's own first choice
};

struct TunedProduct {
  ProductShape shape;
  ProductAlgorithm algorithm;
};

/// Chooses an algorithm for a shape, once: the one given by product_restore() or product_tune(), or
/// the library's first choice with at most `workspace_limit` bytes. It comes before product().
Status product_prepare(const ProductShape& shape, size_t workspace_limit, size_t* workspace_bytes);
/// Times the library's candidates on these arrays and keeps the fastest. Weights come from memory
/// in a step, so the caches are swept between two runs. Waits for the device, allocates, and leaves
/// anything in c. A choice by time is not repeatable: keep it in a tuning file.
Status product_tune(const ProductShape& shape, const ProductArrays& arrays, void* workspace,
                    size_t workspace_limit, Stream stream);
/// Starts a product. The workspace is aligned to 256 bytes, as prepared. Products of two streams
/// may not share it, and two threads may not call this at once.
Status product(const ProductShape& shape, const ProductArrays& arrays, void* workspace,
               size_t workspace_bytes, Stream stream);

/// Takes an algorithm from a tuning file; cuBLASLt checks it.
Status product_restore(const TunedProduct& tuned);
/// Gives the index-th product prepared or tuned so far; "end" behind the last.
Status product_tuned(int64_t index, TunedProduct* tuned);
/// Gives cublasLtGetVersion(), and where the library was found.
Status product_library(uint64_t* version, const char** path);

}  // namespace hone::kernels::cuda
