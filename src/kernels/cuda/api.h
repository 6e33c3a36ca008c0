#pragma once

#include <vector>

#include "kernels/cuda/activation.h"
#include "kernels/cuda/add.h"
#include "kernels/cuda/add_relu.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/chart.h"
#include "kernels/cuda/concept_attention.h"
#include "kernels/cuda/concepts.h"
#include "kernels/cuda/convert.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/embedding.h"
#include "kernels/cuda/fp8.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/head.h"
#include "kernels/cuda/l2_normalize.h"
#include "kernels/cuda/layer_norm.h"
#include "kernels/cuda/linear_gelu.h"
#include "kernels/cuda/linear_small.h"
#include "kernels/cuda/loss.h"
#include "kernels/cuda/lstm.h"
#include "kernels/cuda/optimizer.h"
#include "kernels/cuda/padded_shortcut.h"
#include "kernels/cuda/patches.h"
#include "kernels/cuda/phrases.h"
#include "kernels/cuda/pixels.h"
#include "kernels/cuda/pooling.h"
#include "kernels/cuda/pooling2d.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/row_sums.h"
#include "kernels/cuda/scale.h"
#include "kernels/cuda/span_rows.h"

namespace hone::kernels::cuda {

constexpr uint32_t kKernelApiVersion = 13;

/// The table of the plugin's kernels is all that the rest of hone sees of them. A change raises the
/// version.
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
  decltype(&cuda::binary_logits) binary_logits;
  decltype(&cuda::loss) loss;
  decltype(&cuda::optimizer_workspace) optimizer_workspace;
  decltype(&cuda::adamw) adamw;
  decltype(&cuda::adamw_8bit) adamw_8bit;
  decltype(&cuda::sgd) sgd;

  decltype(&cuda::add) add;
  decltype(&cuda::scale) scale;
  decltype(&cuda::batch_norm) batch_norm;
  decltype(&cuda::batch_norm_backward) batch_norm_backward;
  decltype(&cuda::batch_norm_workspace) batch_norm_workspace;
  decltype(&cuda::add_relu) add_relu;
  decltype(&cuda::relu_backward) relu_backward;
  decltype(&cuda::convolution_fits) convolution_fits;
  decltype(&cuda::convolution) convolution;
  decltype(&cuda::convolution_gradient_fits) convolution_gradient_fits;
  decltype(&cuda::convolution_gradient) convolution_gradient;
  decltype(&cuda::convolution_weight_gradient_fits) convolution_weight_gradient_fits;
  decltype(&cuda::convolution_weight_gradient_workspace) convolution_weight_gradient_workspace;
  decltype(&cuda::convolution_weight_gradient) convolution_weight_gradient;
  decltype(&cuda::patches) patches;
  decltype(&cuda::sum_patches) sum_patches;
  decltype(&cuda::max_pool) max_pool;
  decltype(&cuda::max_pool_backward) max_pool_backward;
  decltype(&cuda::average_pool) average_pool;
  decltype(&cuda::average_pool_backward) average_pool_backward;
  decltype(&cuda::global_average) global_average;
  decltype(&cuda::global_average_backward) global_average_backward;
  decltype(&cuda::padded_shortcut) padded_shortcut;
  decltype(&cuda::padded_shortcut_backward) padded_shortcut_backward;
  decltype(&cuda::pixels) pixels;
  decltype(&cuda::lstm) lstm;
  decltype(&cuda::lstm_backward) lstm_backward;
  decltype(&cuda::pool_sequences) pool_sequences;
  decltype(&cuda::l2_normalize) l2_normalize;
  decltype(&cuda::linear_gelu_fits) linear_gelu_fits;
  decltype(&cuda::linear_gelu) linear_gelu;
  decltype(&cuda::linear_gelu_backward_fits) linear_gelu_backward_fits;
  decltype(&cuda::linear_gelu_backward) linear_gelu_backward;

  decltype(&cuda::takes_linear_small) takes_linear_small;
  decltype(&cuda::linear_small) linear_small;

  decltype(&cuda::phrase_rows) phrase_rows;
  decltype(&cuda::phrase_rows_backward) phrase_rows_backward;
  decltype(&cuda::phrase_means) phrase_means;
  decltype(&cuda::phrase_means_backward) phrase_means_backward;
  decltype(&cuda::concept_attention) concept_attention;
  decltype(&cuda::concept_attention_backward) concept_attention_backward;
  decltype(&cuda::concept_contexts) concept_contexts;
  decltype(&cuda::search_concepts_workspace) search_concepts_workspace;
  decltype(&cuda::search_concepts) search_concepts;
  decltype(&cuda::concept_vectors) concept_vectors;
  decltype(&cuda::span_rows) span_rows;
  decltype(&cuda::span_rows_backward) span_rows_backward;
  decltype(&cuda::tree_loss) tree_loss;
  decltype(&cuda::parse_phrases) parse_phrases;

  decltype(&cuda::quantize_fp8) quantize_fp8;
  decltype(&cuda::fp8_products) fp8_products;
};

/// Returns the table of the open plugin. Where there is none, it fails with kind unsupported and
/// says why.
const KernelApi& kernel_api();

/// A range of a flat array of parameters that are trained alike.
struct OptimizerRange {
  int64_t begin;
  int64_t end;
  bool decay;
  float lr_scale = 1.0f;
  bool zero = true;
  int64_t row_width = 0;       ///< a multiple of 4; read where `touched` is given
  uint8_t* touched = nullptr;  ///< a byte a row of the range, in device memory; see OptimizerPiece
  int64_t shift = 0;           ///< the rest is OptimizerPiece's
  int64_t gradient_shift = 0;
  bool quantized = false;
};
/// Cuts ranges into the pieces that adamw() and sgd() take.
std::vector<OptimizerPiece> optimizer_pieces(const std::vector<OptimizerRange>& ranges);

}  // namespace hone::kernels::cuda
