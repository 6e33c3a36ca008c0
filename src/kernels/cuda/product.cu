#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "kernels/cuda/common.cuh"
#include "kernels/cuda/cublaslt.cuh"
#include "kernels/cuda/fp8.h"

namespace hone::kernels::cuda {
namespace {

auto key_of(int device, const ProductShape& s) {
  return std::make_tuple(device, s.kind, s.dtype, s.out, s.add, s.bias, s.tf32, s.m, s.n, s.k,
                         s.lda, s.ldb, s.ldc);
}
using Key = decltype(key_of(0, ProductShape{}));

std::mutex table_mutex;
std::map<Key, PreparedProduct>& table() {
  static std::map<Key, PreparedProduct> products;
  return products;
}

cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::f8) return CUDA_R_8F_E4M3;
  return dtype == DType::f32 ? CUDA_R_32F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_16F;
}

int64_t element_bytes(DType dtype) { return dtype == DType::f32 ? 4 : dtype == DType::f8 ? 1 : 2; }

/// Describes a matrix: row-major [rows, columns] is column-major [columns, rows].
cublasStatus_t layout(cublasLtMatrixLayout_t* to, DType dtype, int64_t rows, int64_t columns,
                      int64_t stride) {
  return cublaslt().layout_create(to, cuda_type(dtype), static_cast<uint64_t>(columns),
                                  static_cast<uint64_t>(rows), stride);
}

/// Creates descriptor and layouts. With c' = first' * second' in column-major terms:
///   forward          y'  [n, m] = W  (transposed) * x'
///   input_gradient   dx' [k, m] = W'              * dy'
///   weight_gradient  dW' [k, n] = x'              * dy (transposed)
Status describe(PreparedProduct& p) {
  const CublasLt& lt = cublaslt();
  const ProductShape& s = p.shape;
  const auto compute =
      s.dtype == DType::f32 && s.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  cublasStatus_t status = lt.desc_create(&p.desc, compute, CUDA_R_32F);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = lt.desc_set(p.desc, attribute, &value, sizeof value);
    }
  };
  const auto make = [&](cublasLtMatrixLayout_t* to, DType dtype, int64_t rows, int64_t columns,
                        int64_t stride) {
    if (status == CUBLAS_STATUS_SUCCESS) status = layout(to, dtype, rows, columns, stride);
  };
  const cublasOperation_t plain = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
  if (s.kind == ProductKind::forward) {
    set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
    make(&p.first, s.dtype, s.n, s.k, s.ldb);
    make(&p.second, s.dtype, s.m, s.k, s.lda);
    make(&p.result, s.out, s.m, s.n, s.ldc);
    if (s.bias) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
#if CUBLAS_VERSION >= 120900
    if (s.dtype == DType::f8) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
      // Sums of products stay in the tensor cores' registers of fewer bits: 4.52 instead of 4.83 ms
      // for 16,384 tokens of RoBERTa-base on an H200, and 6,000 labels of MiniLM on SST-2 as near
      // to fp32's as with sums moved to fp32 on the way (99.90 and 99.88%).
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
      // cuBLASLt names algorithms only where there are scales; it does not read them.
      const void* const somewhere = &p;
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, somewhere);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, somewhere);
    }
#endif
  } else if (s.kind == ProductKind::input_gradient) {
    set(CUBLASLT_MATMUL_DESC_TRANSA, plain);
    make(&p.first, s.dtype, s.n, s.k, s.ldb);
    make(&p.second, s.dtype, s.m, s.n, s.lda);
    make(&p.result, s.out, s.m, s.k, s.ldc);
  } else {
    set(CUBLASLT_MATMUL_DESC_TRANSB, transposed);
    make(&p.first, s.dtype, s.m, s.k, s.ldb);
    make(&p.second, s.dtype, s.m, s.n, s.lda);
    make(&p.result, s.out, s.n, s.k, s.ldc);
  }
  return cublas_status(status);
}

/// Gives what all rows are aligned to, at most 16 bytes: algorithms that need more are left out.
uint32_t row_alignment(const ProductShape& s) {
  const int64_t in = element_bytes(s.dtype), out = element_bytes(s.out);
  uint32_t alignment = 16;
  for (const int64_t bytes : {s.lda * in, s.ldb * in, s.ldc * out}) {
    while (bytes % alignment != 0) alignment /= 2;
  }
  return alignment;
}

Status check(const ProductShape& s) {
  const auto floating = [](DType d) {
    return d == DType::f32 || d == DType::bf16 || d == DType::f16;
  };
  if (s.dtype == DType::f8) {
    if (s.kind != ProductKind::forward || s.out != DType::bf16) return "a product of fp8 to this";
    return fp8_products();
  }
  if (!floating(s.dtype) || (s.out != s.dtype && s.out != DType::f32)) {
    return "a product of dtypes that CUDA kernels do not take";
  }
  if (s.bias && s.kind != ProductKind::forward) return "a bias in a gradient's product";
  return nullptr;
}

bool empty(const ProductShape& s) { return s.m == 0 || s.n == 0 || s.k == 0; }

/// Leaves c at 0 or at what it was, where there is nothing to sum.
Status empty_product(const ProductShape& s, void* c, cudaStream_t stream) {
  if (s.bias && s.m > 0) return "a product along an axis of 0 elements with a bias";
  const int64_t rows = s.kind == ProductKind::weight_gradient ? s.n : s.m;
  const int64_t columns = s.kind == ProductKind::forward ? s.n : s.k;
  if (s.add || rows == 0 || columns == 0) return nullptr;
  const auto bytes = static_cast<size_t>(element_bytes(s.out));
  const cudaError_t error =
      cudaMemset2DAsync(c, static_cast<size_t>(s.ldc) * bytes, 0,
                        static_cast<size_t>(columns) * bytes, static_cast<size_t>(rows), stream);
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace

PreparedProduct* prepared_product(const ProductShape& shape, Status* status) {
  *status = cublaslt().missing ? cublaslt().missing : check(shape);
  if (*status) return nullptr;
  int device = 0;
  cudaGetDevice(&device);
  const std::lock_guard lock(table_mutex);
  const auto [at, made] = table().try_emplace(key_of(device, shape));
  if (made) {
    at->second.shape = shape;
    if ((*status = describe(at->second))) {
      table().erase(at);
      return nullptr;
    }
  }
  return &at->second;
}

int product_candidates(const PreparedProduct& p, size_t workspace_limit, int wanted,
                       cublasLtMatmulHeuristicResult_t* results, Status* status) {
  const CublasLt& lt = cublaslt();
  cublasLtMatmulPreference_t preference = nullptr;
  cublasStatus_t code = lt.preference_create(&preference);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    if (code == CUBLAS_STATUS_SUCCESS) {
      code = lt.preference_set(preference, attribute, &value, sizeof value);
    }
  };
  const uint32_t alignment = row_alignment(p.shape);
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{workspace_limit});
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
  int found = 0;
  if (code == CUBLAS_STATUS_SUCCESS) {
    code = lt.heuristic(cublaslt_handle(), p.desc, p.first, p.second, p.result, p.result,
                        preference, wanted, results, &found);
  }
  if (preference) lt.preference_destroy(preference);
  *status = cublas_status(code);
  return *status ? 0 : found;
}

Status run_product(const PreparedProduct& p, const cublasLtMatmulAlgo_t& algorithm,
                   const ProductArrays& arrays, void* workspace, size_t workspace_bytes,
                   Stream stream) {
  const CublasLt& lt = cublaslt();
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const void* pointer) {
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = lt.desc_set(p.desc, attribute, &pointer, sizeof pointer);
    }
  };
  if (p.shape.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, arrays.bias);
  if (p.shape.dtype == DType::f8) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, arrays.b_scales);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, arrays.a_scales);
  }
  if (status != CUBLAS_STATUS_SUCCESS) return cublas_status(status);
  const float one = 1.0f, keep = p.shape.add ? 1.0f : 0.0f;
  return cublas_status(lt.matmul(cublaslt_handle(), p.desc, &one, arrays.b, p.first, arrays.a,
                                 p.second, &keep, arrays.c, p.result, arrays.c, p.result,
                                 &algorithm, workspace, workspace_bytes, stream_of(stream)));
}

Status product_prepare(const ProductShape& shape, size_t workspace_limit, size_t* workspace_bytes) {
  *workspace_bytes = 0;
  if (empty(shape) || is_plain_product(shape)) return nullptr;
  Status status = nullptr;
  PreparedProduct* p = prepared_product(shape, &status);
  if (!p) return status;
  if (!p->chosen || p->workspace_bytes > workspace_limit) {
    cublasLtMatmulHeuristicResult_t result;
    const int found = product_candidates(*p, workspace_limit, 1, &result, &status);
    if (status) return status;
    if (found == 0) return "cuBLASLt has no algorithm for a product";
    p->algorithm = result.algo;
    p->workspace_bytes = result.workspaceSize;
    p->microseconds = 0;
    p->chosen = true;
  }
  *workspace_bytes = p->workspace_bytes;
  return nullptr;
}

Status product(const ProductShape& shape, const ProductArrays& arrays, void* workspace,
               size_t workspace_bytes, Stream stream) {
  if (empty(shape)) return empty_product(shape, arrays.c, stream_of(stream));
  if (is_plain_product(shape)) return plain_product(shape, arrays, stream);
  Status status = nullptr;
  const PreparedProduct* p = prepared_product(shape, &status);
  if (!p) return status;
  if (!p->chosen) return "a product that was not prepared";
  if (p->workspace_bytes > workspace_bytes) return "a product's workspace is too small";
  return run_product(*p, p->algorithm, arrays, workspace, workspace_bytes, stream);
}

Status product_restore(const TunedProduct& tuned) {
  Status status = nullptr;
  PreparedProduct* p = prepared_product(tuned.shape, &status);
  if (!p) return status;
  cublasLtMatmulAlgo_t algorithm;
  static_assert(sizeof algorithm == sizeof tuned.algorithm.words);
  std::copy_n(tuned.algorithm.words, 8, reinterpret_cast<uint64_t*>(&algorithm));
  cublasLtMatmulHeuristicResult_t result;
  const cublasStatus_t checked = cublaslt().check(cublaslt_handle(), p->desc, p->first, p->second,
                                                  p->result, p->result, &algorithm, &result);
  if (checked != CUBLAS_STATUS_SUCCESS) return "cuBLASLt refuses a tuned algorithm";
  p->algorithm = algorithm;
  p->workspace_bytes = result.workspaceSize;
  p->microseconds = tuned.algorithm.microseconds;
  p->chosen = true;
  return nullptr;
}

Status product_tuned(int64_t index, TunedProduct* tuned) {
  const std::lock_guard lock(table_mutex);
  for (const auto& [key, p] : table()) {
    if (!p.chosen || index-- > 0) continue;
    tuned->shape = p.shape;
    std::copy_n(reinterpret_cast<const uint64_t*>(&p.algorithm), 8, tuned->algorithm.words);
    tuned->algorithm.workspace_bytes = p.workspace_bytes;
    tuned->algorithm.microseconds = p.microseconds;
    return nullptr;
  }
  return "end";
}

Status product_library(uint64_t* version, const char** path) {
  if (cublaslt().missing) return cublaslt().missing;
  *version = cublaslt().version();
  *path = cublaslt().path;
  return nullptr;
}

}  // namespace hone::kernels::cuda
