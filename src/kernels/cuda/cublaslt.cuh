#pragma once

#include <cublasLt.h>

#include "kernels/cuda/product.h"

namespace hone::kernels::cuda {

/// The functions of cuBLASLt that hone uses, from a library that is opened on first use:
/// HONE_CUBLASLT, or the system's, or the toolkit's.
struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) check = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  const char* path = "";
  Status missing = nullptr;
};
const CublasLt& cublaslt();

/// Gives the current device's handle; null where there is none.
cublasLtHandle_t cublaslt_handle();

/// Gives null for success, else a text.
Status cublas_status(cublasStatus_t status);

/// A product as cuBLASLt sees it: column-major, so the operands change places. It is made once a
/// shape and kept until the program ends.
struct PreparedProduct {
  ProductShape shape;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  uint64_t workspace_bytes = 0;
  float microseconds = 0;
  bool chosen = false;
};

/// Gives the entry of a shape on the current device, made where it is missing; null with `status`
/// set where that fails.
PreparedProduct* prepared_product(const ProductShape& shape, Status* status);

/// Lists the library's candidates, best guess first; returns how many there are.
int product_candidates(const PreparedProduct& product, size_t workspace_limit, int wanted,
                       cublasLtMatmulHeuristicResult_t* results, Status* status);

Status run_product(const PreparedProduct& product, const cublasLtMatmulAlgo_t& algorithm,
                   const ProductArrays& arrays, void* workspace, size_t workspace_bytes,
                   Stream stream);

/// Says whether a product has a kernel of our own, because cuBLASLt has none.
bool is_plain_product(const ProductShape& shape);
Status plain_product(const ProductShape& shape, const ProductArrays& arrays, Stream stream);

}  // namespace hone::kernels::cuda
