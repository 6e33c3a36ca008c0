#pragma once

#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/embedding_backward.h"
#include "kernels/cuda/fp8.h"
#include "kernels/cuda/head.h"
#include "kernels/cuda/layer_norm.h"
#include "kernels/cuda/linear_gelu.h"
#include "kernels/cuda/linear_small.h"
#include "kernels/cuda/optimizer.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/rows.h"

namespace hone::kernels::cuda {

constexpr uint32_t kKernelApiVersion = 7;

/// The plugin's kernels: all that the rest of hone sees of them. A change raises the version.
struct KernelApi {
  uint32_t version;

  decltype(&cuda::product_prepare) product_prepare;
  decltype(&cuda::product_tune) product_tune;
  decltype(&cuda::product) product;
  decltype(&cuda::product_restore) product_restore;
  decltype(&cuda::product_tuned) product_tuned;
  decltype(&cuda::product_library) product_library;

  decltype(&cuda::attention) attention;
  decltype(&cuda::attention_kept_words) attention_kept_words;
  decltype(&cuda::attention_backward_workspace) attention_backward_workspace;
  decltype(&cuda::attention_backward) attention_backward;

  decltype(&cuda::layer_norm) layer_norm;
  decltype(&cuda::embed_and_normalize) embed_and_normalize;
  decltype(&cuda::layer_norm_backward) layer_norm_backward;
  decltype(&cuda::row_sums_workspace) row_sums_workspace;
  decltype(&cuda::one_row_sum_workspace) one_row_sum_workspace;
  decltype(&cuda::column_sums) column_sums;
  decltype(&cuda::add_row_sums) add_row_sums;
  decltype(&cuda::embedding_backward_workspace) embedding_backward_workspace;
  decltype(&cuda::embedding_backward) embedding_backward;

  decltype(&cuda::activate) activate;
  decltype(&cuda::activation_backward) activation_backward;
  decltype(&cuda::convert) convert;
  decltype(&cuda::apply_dropout) apply_dropout;
  decltype(&cuda::gather_rows) gather_rows;
  decltype(&cuda::scatter_rows) scatter_rows;

  decltype(&cuda::head) head;
  decltype(&cuda::head_backward) head_backward;
  decltype(&cuda::loss) loss;
  decltype(&cuda::optimizer_workspace) optimizer_workspace;
  decltype(&cuda::adamw) adamw;
  decltype(&cuda::sgd) sgd;

  decltype(&cuda::add) add;
  decltype(&cuda::scale) scale;
  decltype(&cuda::pool_sequences) pool_sequences;
  decltype(&cuda::l2_normalize) l2_normalize;
  decltype(&cuda::linear_gelu_fits) linear_gelu_fits;
  decltype(&cuda::linear_gelu) linear_gelu;
  decltype(&cuda::linear_gelu_backward_fits) linear_gelu_backward_fits;
  decltype(&cuda::linear_gelu_backward) linear_gelu_backward;

  decltype(&cuda::takes_linear_small) takes_linear_small;
  decltype(&cuda::linear_small) linear_small;

  decltype(&cuda::quantize_fp8) quantize_fp8;
  decltype(&cuda::fp8_products) fp8_products;
};

/// The table of the open plugin; an error of kind unsupported that says why where there is none.
const KernelApi& kernel_api();

/// The pieces of a flat array for adamw() and sgd(), from ranges that are trained alike.
struct OptimizerRange {
  int64_t begin;
  int64_t end;
  bool decay;
  float lr_scale = 1.0f;
  bool zero = true;
  int64_t row_width = 0;       ///< with `touched`: a multiple of 4
  uint8_t* touched = nullptr;  ///< in device memory, a byte a row of the range; see OptimizerPiece
};
std::vector<OptimizerPiece> optimizer_pieces(const std::vector<OptimizerRange>& ranges);

}  // namespace hone::kernels::cuda
